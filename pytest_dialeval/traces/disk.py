"""What the disk may refuse, said with path and remedy."""

from __future__ import annotations

import errno
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from pytest_dialeval.errors import RunError, TranscriptError
from pytest_dialeval.records.wording import did_you_mean

_LISTED_AT_MOST = 2_000  # of the files of a folder, when a name is guessed
_FULL = "free some space and run again"
_CLOSED = "choose a folder that can be written (--dialeval-runs DIR, or --out DIR of an import)"
_REMEDIES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "raise the limit on file sizes (ulimit -f), or " + _FULL,
    errno.EROFS: _CLOSED,
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.EEXIST: "a part of the path is a file; " + _CLOSED,
    errno.ENOTDIR: "a part of the path is a file; " + _CLOSED,
    errno.EMFILE: "raise `ulimit -n`, or hold fewer conversations at once",
    errno.ENAMETOOLONG: "give shorter names",
}


def disk_fault(error: OSError, path: Path, *, kept: str = "", elsewhere: str = _CLOSED) -> RunError:
    """The error of a write, for a user: path, what failed, what to do, what is kept.

    `elsewhere`: what to do where nothing can be written at that place.
    """
    what = error.strerror or type(error).__name__
    remedy = _REMEDIES.get(error.errno or 0, "see to the disk, then run again")
    remedy = remedy.replace(_CLOSED, elsewhere)
    return RunError(f"{path}: cannot be written: {what}; {remedy}" + (f" ({kept})" if kept else ""))


def write_all(write: Callable[[memoryview], int], data: bytes) -> None:
    """Write without a buffer: a disk that fills up takes a part without a word."""
    rest = memoryview(data)
    while rest:
        rest = rest[write(rest) :]


def nearest(path: Path) -> str:
    """`; did you mean 'chats.json'?` of the files that lie where this one should."""
    try:
        names = [each.name for each in islice(path.parent.iterdir(), _LISTED_AT_MOST)]
    except OSError:
        return ""
    return did_you_mean(path.name, sorted(names))


def read_file(path: Path) -> bytes:
    """The bytes of a recording or trace; TranscriptError where they cannot be had."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        guess = nearest(path) or "; check the path"
        raise TranscriptError(f"{path}: there is no such file{guess}") from None
    except IsADirectoryError:
        raise TranscriptError(f"{path}: is a folder; give a file in it") from None
    except (OSError, ValueError) as exc:
        what = getattr(exc, "strerror", None) or str(exc)
        raise TranscriptError(f"{path}: cannot be read: {what}") from None
