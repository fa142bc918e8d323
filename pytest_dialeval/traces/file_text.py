"""The text of a file that somebody else wrote, or the reason why it holds none."""

from __future__ import annotations

import codecs
from pathlib import Path

from pytest_dialeval.errors import TranscriptError

_PACKED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"PK\x03\x04": ("zip", "unzip"),
    b"BZh": ("bzip2", "bunzip2"),
    b"\xfd7zXZ\x00": ("xz", "unxz"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
}
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


def without_bom(data: bytes, path: Path) -> bytes:
    """The bytes behind a UTF-8 mark; packed files, UTF-16 and Git LFS pointers are refused."""
    for magic, (name, remedy) in _PACKED.items():
        if data.startswith(magic):
            raise TranscriptError(f"{path}: is packed with {name}; unpack it first ({remedy})")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise TranscriptError(f"{path}: is UTF-16 or UTF-32; save it as UTF-8")
    if data.startswith(_LFS_POINTER):
        raise TranscriptError(f"{path}: is a Git LFS pointer, not the data; run `git lfs pull`")
    return data.removeprefix(codecs.BOM_UTF8)


def file_text(data: bytes, path: Path) -> str:
    """The whole file as text."""
    try:
        text = without_bom(data, path).decode("utf-8")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise TranscriptError(
            f"{path}:{line}: byte {exc.start} is not UTF-8; save the file as UTF-8"
        ) from None
    if not text.strip("\0 \t\r\n"):
        raise TranscriptError(f"{path}: is empty; it holds no conversation")
    return text
