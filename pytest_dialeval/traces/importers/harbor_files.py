"""The files of one trial of a Harbor job: found without following links, read within bounds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_dialeval.records.text import clean
from pytest_dialeval.traces.file_text import file_text
from pytest_dialeval.traces.importers.documents import decode_documents, refuse_concatenated

MOST_BYTES = 64 * 2**20  # of a file that is read
MOST_FILES = 5_000  # of a trial; an agent may leave a whole node_modules among its artifacts
LINK = "is a symbolic link, which is not followed"


@dataclass(slots=True, eq=False)
class TrialFiles:
    """Regular files by their name from the trial's folder (posix) with their sizes.

    What cannot be read is noted in `left_out`: name -> why.
    """

    folder: Path
    sizes: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    _read: dict[str, str] = field(default_factory=dict)  # name -> digest of what was read

    @classmethod
    def of(cls, folder: Path) -> TrialFiles:
        """Look at the whole folder, the nearest files first."""
        files = cls(folder)
        for name, entry in _walk(folder, files.left_out):
            if len(files.sizes) == MOST_FILES:
                files.left_out[name] = f"is beyond {MOST_FILES} files; the rest is not looked at"
                break
            try:
                files.sizes[name] = entry.stat(follow_symlinks=False).st_size
            except OSError as exc:
                files.left_out[name] = f"cannot be read: {exc.strerror}"
        return files

    def below(self, prefix: str) -> list[str]:
        """Names that begin so, in order."""
        return sorted(each for each in self.sizes if each.startswith(prefix))

    def read(self, name: str) -> bytes | None:
        """The bytes of a file; None where there is none to read."""
        if name not in self.sizes:
            return None
        try:
            with (self.folder / name).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError as exc:
            self.left_out[name] = f"cannot be read: {exc.strerror}"
            return None
        if len(data) > MOST_BYTES:
            self.left_out[name] = f"is {self.sizes[name]:,} bytes; at most {MOST_BYTES:,} are read"
            self._read[name] = f"{self.sizes[name]} bytes"
            return None
        self._read[name] = sha256(data).hexdigest()
        return data

    def document(self, name: str) -> Any:
        """The JSON value of a file, None where there is none; TranscriptError where it is bad."""
        data = self.read(name)
        if data is None:
            return None
        path = self.folder / name
        documents = decode_documents(file_text(data, path), path)
        refuse_concatenated(documents, path, single=True)
        return documents[0].value

    @property
    def sha256(self) -> str:
        """Changes with every byte that was read, and with the names of trial and files."""
        digest = sha256(self.folder.name.encode("utf-8", "surrogatepass"))
        for name, each in sorted(self._read.items()):
            digest.update(f"\0{name}\0{each}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    @property
    def unread(self) -> dict[str, str]:
        """Every file that gave nothing -> why."""
        idle = {each: "is not read" for each in self.sizes if each not in self._read}
        return {**idle, **self.left_out}


def _walk(folder: Path, left_out: dict[str, str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Regular files, breadth first, so that a bound cuts off what lies deepest."""
    waiting = [""]
    for prefix in waiting:  # grows as it goes
        for entry in _entries(folder, prefix, left_out):
            name = f"{prefix}{entry.name}"
            if entry.is_symlink():
                left_out[name] = LINK
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(f"{name}/")
            elif entry.is_file(follow_symlinks=False):
                yield name, entry
            else:
                left_out[name] = "is no regular file"


def _entries(folder: Path, prefix: str, left_out: dict[str, str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder / prefix) as found:
            return sorted(found, key=lambda each: each.name)
    except OSError as exc:
        left_out[prefix or "."] = f"cannot be read: {exc.strerror}"
        return []


def said(name: str) -> str:
    """A file's name, or what is said of it, on one line: agents choose names of artifacts."""
    return clean(name).replace("\n", " ")
