"""A folder that a suite names: what lies in it, and why it may not be copied."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from pytest_dialeval.records.wording import listed

# What programs leave behind by merely being run: no part of anybody's work.
LEFT_OUT = frozenset({"__pycache__", ".pytest_cache"})
GIT = ".git"
_ELSEWHERE = re.compile(rb"(?im)^\s*worktree\s*=")
_HASHED_FILES = 2_000  # of more, and of larger ones, sizes and times stand for the contents
_HASHED_BYTES = 20_000_000
_LISTED = 5
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or link, by its path from the folder, with slashes."""

    path: str
    status: os.stat_result
    target: str | None = None  # of a symbolic link

    @property
    def is_link(self) -> bool:
        return self.target is not None

    @property
    def size(self) -> int:
        return 0 if self.is_link else self.status.st_size


@dataclass(frozen=True)
class Survey:
    """Everything in a folder but caches and `.git` files, by path; folders in `folders`."""

    folder: Path
    entries: tuple[Entry, ...]
    folders: tuple[str, ...]
    unread: tuple[str, ...] = ()  # folders below that can't be read

    @property
    def size(self) -> int:
        """Bytes of all files, as long as they say they are."""
        return sum(each.size for each in self.entries)

    def problem(self, max_mb: float | None = None) -> str:
        """Why it may not be copied: a sentence without its subject; empty where it may."""
        if self.unread:
            names = listed(self.unread, _LISTED)
            return f"has folders that can't be read: {names}; change their rights"
        if odd := [f"{each.path} ({_kind(each)})" for each in self.entries if _kind(each)]:
            return f"holds what is no file: {listed(odd, _LISTED)}; remove it"
        if out := [
            f"{each.path} -> {each.target}" for each in self.entries if self.leads_out(each)
        ]:
            return (
                f"has symbolic links that lead out of it: {listed(out, _LISTED)}; a copy would not "
                "be apart: put files in their places, or link within the folder by relative paths"
            )
        if tied := [each.path for each in self.entries if self._is_tied(each)]:
            return (
                f"has a git repository that works on another folder ({listed(tied, _LISTED)}: "
                "worktree): copy the folder without its .git"
            )
        if max_mb is not None and self.size > max_mb * 1e6:
            return (
                f"has {self.size / 1e6:,.1f} MB, more than max_mb: {max_mb:g}; every trial would "
                "copy it: take out what is not needed, or raise max_mb"
            )
        return ""

    def leads_out(self, entry: Entry) -> bool:
        """Whether a link leaves the folder; an absolute one leads to the original, not a copy."""
        if entry.target is None:
            return False
        real = os.path.realpath(self.folder / entry.path)
        return os.path.isabs(entry.target) or not _is_in(real, os.path.realpath(self.folder))

    def _is_tied(self, entry: Entry) -> bool:
        """Whether git commands in a copy would change some other folder."""
        if not f"/{entry.path}".endswith(f"/{GIT}/config") or entry.is_link:
            return False
        return bool(_ELSEWHERE.search((self.folder / entry.path).read_bytes()))

    @cached_property
    def state(self) -> str:
        """Changes with every write into the folder, but for its repositories; reads no file.

        Those change whenever an editor looks at them.
        """
        told = sha256()
        for each in self.entries:
            if GIT in each.path.split("/"):
                continue
            seen = each.status
            now = (seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, each.target)
            told.update(f"{each.path!r} {now}\n".encode("utf-8", "surrogateescape"))
        return told.hexdigest()

    def digest(self) -> str:
        """Of paths and contents; of a huge folder, contents only as far as they are read."""
        told, left = sha256(), _HASHED_BYTES
        for number, each in enumerate(self.entries):
            told.update(f"{each.path!r} {each.size} {each.target!r}\n".encode())
            told.update(b"x" if each.status.st_mode & stat.S_IXUSR else b"-")
            if each.is_link or number >= _HASHED_FILES or each.size > left:
                continue
            left -= each.size
            told.update(sha256((self.folder / each.path).read_bytes()).digest())
        return told.hexdigest()


def survey(folder: Path, goes_on: Callable[[], None] = lambda: None) -> Survey:
    """Walk through it; OSError where it can't be read. `goes_on` may raise to end it early."""
    entries: list[Entry] = []
    folders: list[str] = [""]
    unread: list[str] = []
    for above in folders:  # which grows; a deep tree must not end the walk
        goes_on()
        try:
            entries += _entries(folder, above, folders)
        except OSError:
            if not above:
                raise
            unread.append(above)
    ordered = sorted(entries, key=lambda each: each.path)
    return Survey(folder, tuple(ordered), tuple(folders[1:]), tuple(unread))


def _entries(folder: Path, above: str, folders: list[str]) -> Iterator[Entry]:
    """Files and links of one folder; the folders in it are added to those to come."""
    with os.scandir(folder / above) as found:
        for each in found:
            path = f"{above}/{each.name}" if above else each.name
            is_dir = each.is_dir(follow_symlinks=False)
            # A file of that name leads to a repository elsewhere, which a copy must not reach.
            if each.name in LEFT_OUT or (each.name == GIT and not is_dir):
                continue
            if is_dir:
                folders.append(path)
                continue
            with suppress(FileNotFoundError):  # gone meanwhile
                target = os.readlink(each.path) if each.is_symlink() else None
                yield Entry(path, each.stat(follow_symlinks=False), target)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _kind(entry: Entry) -> str:
    return _KINDS.get(stat.S_IFMT(entry.status.st_mode), "")
