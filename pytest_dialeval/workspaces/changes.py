"""What a folder holds against its start, as git trees; its own repositories are not touched."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.programs.kept import Kept
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.wording import listed, plural
from pytest_dialeval.suites.folder import GIT, Entry, Survey, survey
from pytest_dialeval.workspaces.copying import make_ours
from pytest_dialeval.workspaces.git import Git

SHOWN = 12_000  # bytes of a patch that is shown
_DIFF = ("--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
_PATCH = (*_DIFF, "-r", "-p", "--full-index", "--src-prefix=a/", "--dst-prefix=b/")
_CHUNK = 65_536
_LISTED = 5


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of the folder."""

    tree: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """Between the start and a snapshot; paths as the file system has them."""

    files: tuple[str, ...] = ()
    added: tuple[str, ...] = ()  # of these, those that the start did not have


class Changes:
    """Follows one folder."""

    def __init__(self, git: Git, folder: Path, max_mb: float) -> None:
        self._git = git
        self._folder = folder
        self._max = max_mb * 1e6

    def snapshot(self, goes_on: Callable[[], None]) -> Snapshot:
        """The folder as it is now; HarnessFault where git can't take it in."""
        found = self._survey(goes_on)
        if found is None:
            self._git(self._git_alone, "read-tree", "--empty")
            return Snapshot(self._tree(self._git_alone), "the agent deleted its folder")
        # Git itself knows no file below a folder of that name, however it is written.
        taken = [each for each in found.entries if GIT not in each.path.lower().split("/")]
        notes = _Notes(self._folder, found)
        tracked = self._tracked()
        readable = [each for each in taken if notes.readable(each)]
        # First, so that what no patch would hold takes no room from what it would.
        ignored = self._ignored({each.path for each in readable} - tracked)
        fit = self._fitting([each for each in readable if each.path not in ignored], notes)
        self._forget(tracked - {each.path for each in taken} - _below(tracked, found.unread))
        self._take_in([each.path for each in fit], notes)
        return Snapshot(self._tree(self._folder), notes.text)

    def difference(self, start: Snapshot, now: Snapshot) -> Difference:
        """Which files differ."""
        told = self._git(
            self._git_alone, "diff-tree", *_DIFF, "-r", "-z", "--name-status", start.tree, now.tree
        )
        words = told.split(b"\0")[:-1]
        kinds = dict(zip(map(os.fsdecode, words[1::2]), words[::2], strict=True))
        return Difference(tuple(kinds), tuple(path for path, kind in kinds.items() if kind == b"A"))

    def patch(self, start: Snapshot, now: Snapshot, path: Path) -> None:
        """All that differs, in a file, for `git apply`."""
        words = ("diff-tree", *_PATCH, "--binary", start.tree, now.tree)
        self._git.into(path, self._git_alone, *words)

    def shown(self, start: Snapshot, now: Snapshot, path: Path) -> str:
        """The same to be read: without binary contents, and shortened. `path` is a spare one."""
        self._git.into(path, self._git_alone, "diff-tree", *_PATCH, start.tree, now.tree)
        kept = Kept(SHOWN)
        with path.open("rb") as file:
            while data := file.read(_CHUNK):
                kept.take(data)
        path.unlink()
        return kept.text

    @property
    def _git_alone(self) -> Path:
        """A folder for calls that look at trees alone: the agent's may be gone."""
        return self._git.folder

    def _survey(self, goes_on: Callable[[], None]) -> Survey | None:
        for each in (self._folder.parent, self._folder):
            make_ours(each)  # whatever the agent has made of it
            if not os.path.isdir(each) or os.path.realpath(each) != str(each):
                return None  # gone, or a link stands there
        try:
            return survey(self._folder, goes_on)
        except FileNotFoundError:  # something of the agent's is still at work
            return None
        except OSError as error:
            raise HarnessFault(f"the agent's folder can't be read: {error.strerror}") from None

    def _fitting(self, entries: list[Entry], notes: _Notes) -> list[Entry]:
        """All but the largest, where together they are too large."""
        total = sum(each.size for each in entries)
        for each in sorted(entries, key=lambda each: each.size, reverse=True):
            if total <= self._max:
                break
            total -= each.size
            notes.too_large.append(each.path)
        left_out = set(notes.too_large)
        return [each for each in entries if each.path not in left_out]

    def _tracked(self) -> set[str]:
        return set(_paths(self._git(self._git_alone, "ls-files", "-z")))

    def _ignored(self, new: set[str]) -> set[str]:
        if not new:
            return set()
        words = ("check-ignore", "--no-index", "-z", "--stdin")
        told = self._git(self._folder, *words, told=_joined(new), fine=(0, 1))
        return set(_paths(told))

    def _take_in(self, paths: list[str], notes: _Notes) -> None:
        """All that git can take; what it can't, of names or as it is gone by now, is noted."""
        words = ("update-index", "--add", "--replace", "-z", "--stdin")
        try:
            self._git(self._folder, *words, told=_joined(paths))
        except HarnessFault:
            if len(paths) == 1:
                notes.odd.append(paths[0])
                return
            half = len(paths) // 2
            self._take_in(paths[:half], notes)
            self._take_in(paths[half:], notes)

    def _forget(self, paths: Iterable[str]) -> None:
        words = ("update-index", "--force-remove", "-z", "--stdin")
        self._git(self._folder, *words, told=_joined(paths))

    def _tree(self, folder: Path) -> str:
        return self._git(folder, "write-tree").decode().strip()


class _Notes:
    """What of a folder a patch can't hold."""

    def __init__(self, folder: Path, found: Survey) -> None:
        self._folder = folder
        self.too_large: list[str] = []
        self.odd: list[str] = [*found.unread]
        # Its own repository at the top came with it; one below was made or fetched.
        names = (*found.folders, *(each.path for each in found.entries))
        self._nested = [each[: -len("/.git")] for each in names if each.endswith("/.git")]

    def readable(self, entry: Entry) -> bool:
        """Whether it is a link, or a file that can be read; what is not is noted."""
        path = self._folder / entry.path
        fine = entry.is_link or (stat.S_ISREG(entry.status.st_mode) and os.access(path, os.R_OK))
        if not fine:
            self.odd.append(entry.path)
        return fine

    @property
    def text(self) -> str:
        parts = []
        if self._nested:
            repositories = plural(len(self._nested), "git repository", "git repositories")
            parts.append(f"{repositories} inside, taken as mere files: {_listed(self._nested)}")
        if self.too_large:
            parts.append(f"left out, as the folder became too large: {_listed(self.too_large)}")
        if self.odd:
            parts.append(f"left out, as it is no file that can be read: {_listed(self.odd)}")
        return "; ".join(parts)


def _below(paths: Iterable[str], folders: Iterable[str]) -> set[str]:
    above = tuple(f"{each}/" for each in folders)
    return {each for each in paths if above and each.startswith(above)}


def _joined(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(each) + b"\0" for each in sorted(paths))


def _paths(told: bytes) -> list[str]:
    return [os.fsdecode(each) for each in told.split(b"\0") if each]


def _listed(paths: list[str]) -> str:
    return clean(listed(paths, _LISTED))
