"""The folder of one conversation: copied, followed, verified, removed."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.programs.off_loop import off_loop
from pytest_dialeval.programs.run_to_end import unless
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.wording import plural
from pytest_dialeval.records.work import Done, RoundWork, Verifier, Workspace
from pytest_dialeval.workspaces.changes import Changes, Difference, Snapshot
from pytest_dialeval.workspaces.copying import copy_of, looked_through, new_folder, remove
from pytest_dialeval.workspaces.exam import Stored
from pytest_dialeval.workspaces.git import Git, need_git
from pytest_dialeval.workspaces.verifying import Verifying

T = TypeVar("T")
_NAMED = 500  # files of a round's record


@dataclass(frozen=True, slots=True)
class Plan:
    """What a site is made of."""

    workspace: Workspace
    verifier: Verifier | None
    rootdir: Path
    patches: Path  # where patches are stored; made when there is one
    shown_as: str  # how a run names that folder: `traces/<trial>.work`
    clear: Callable[[str], str] = lambda text: text  # takes secrets out of what is stored


@dataclass(frozen=True, slots=True)
class _Ground:
    """Folders and what follows them, once there are any."""

    folder: Path
    own: Path
    git: Git
    changes: Changes
    start: Snapshot
    verifying: Verifying | None


@dataclass(slots=True)
class _Round:
    done: Done
    stored: Stored = field(default_factory=Stored)


class FolderSite:
    """A Site of conversation; blocking work goes on in threads, and ends when it is cancelled."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._places: list[Path] = []
        # A loop that stands still never closes it.
        self._removed = weakref.finalize(self, _remove_all, self._places, os.getpid())
        self._ground: _Ground | None = None
        self._last: Snapshot | None = None  # at the end of the round before
        self._rounds: dict[int, _Round] = {}

    @property
    def folder(self) -> Path:
        """Where the agent works."""
        assert self._ground is not None, "open comes first"
        return self._ground.folder

    async def open(self) -> None:
        """Make the copy; HarnessFault says why there can be none."""
        self._ground = await _beside(self._open, "copying a workspace")

    async def after(self, round_: int, *, last: bool) -> Done:
        """Store the patch, and run the verifier where it is due; once a round each."""
        return await _beside(lambda stop: self._after(round_, last, stop), "a workspace's round")

    async def close(self) -> None:
        """Remove everything but the stored patches; harmless to repeat."""
        await off_loop(lambda _: self._removed(), "removing a workspace")

    # ---- on threads

    def _open(self, stop: threading.Event) -> _Ground:
        need_git()
        plan, goes_on = self._plan, unless(stop)
        source = Path(plan.workspace.folder)
        found = looked_through(source, goes_on, plan.workspace.max_mb)
        # Not side by side: what an agent finds above its folder is none of ours.
        own, place = self._new_place(), self._new_place()
        folder = place / source.name
        copy_of(found, folder, goes_on)
        git = Git(own, stop)
        git.begin(folder)
        changes = Changes(git, folder, plan.workspace.max_mb)
        self._last = start = changes.snapshot(goes_on)
        verifying = None
        if plan.verifier is not None:
            verifying = Verifying(plan.verifier, source, found.state, folder, git, own, plan.clear)
        return _Ground(folder, own, git, changes, start, verifying)

    def _new_place(self) -> Path:
        place = new_folder(self._plan.rootdir)
        self._places.append(place)
        return place

    def _after(self, round_: int, last: bool, stop: threading.Event) -> Done:
        ground = self._ground
        assert ground is not None, "open comes first"
        ground.git.stop = stop
        known = self._rounds.get(round_)
        if known is None:
            known = self._rounds[round_] = self._work(ground, round_, unless(stop))
        if ground.verifying and known.done.check is None and self._due(round_, last):
            check = ground.verifying.check(round_, known.stored, stop)
            known.done = replace(known.done, check=check)
        return known.done

    def _due(self, round_: int, last: bool) -> bool:
        assert self._plan.verifier is not None
        match self._plan.verifier.when:
            case "first":
                return round_ == 1
            case "last":
                return last
            case "first_and_last":
                return last or round_ == 1
        return True

    def _work(self, ground: _Ground, round_: int, goes_on: Callable[[], None]) -> _Round:
        now, before = ground.changes.snapshot(goes_on), self._last
        self._last = now
        changed = before is None or now.tree != before.tree
        difference = ground.changes.difference(ground.start, now)
        if not difference.files:
            return _Round(Done(RoundWork(round_, changed, note=now.note)))
        patch = ground.own / f"round-{round_}.patch"
        ground.changes.patch(ground.start, now, patch)
        work = self._stored(round_, changed, difference, now.note, patch)
        shown = clean(ground.changes.shown(ground.start, now, ground.own / "shown"))
        return _Round(Done(work, shown), Stored(patch, difference.files, difference.added))

    def _stored(
        self, round_: int, changed: bool, difference: Difference, note: str, patch: Path
    ) -> RoundWork:
        """The patch in the run's folder: as it is, but for secrets."""
        data = patch.read_bytes()
        clear = os.fsencode(self._plan.clear(os.fsdecode(data)))
        notes = [note, "secrets in the stored patch were replaced" if clear != data else ""]
        name = f"round-{round_}.patch"
        try:
            self._plan.patches.mkdir(parents=True, exist_ok=True)
            (self._plan.patches / name).write_bytes(clear)
        except OSError as error:
            where = self._plan.patches / name
            raise HarnessFault(f"the patch {where} can't be written: {error.strerror}") from None
        if len(difference.files) > _NAMED:
            more = plural(len(difference.files) - _NAMED, "file")
            notes.append(f"{more} more than are named here")
        return RoundWork(
            round_,
            changed,
            files=tuple(map(clean, difference.files[:_NAMED])),
            patch=f"{self._plan.shown_as}/{name}",
            sha256=sha256(clear).hexdigest(),
            note="; ".join(filter(None, notes)),
        )


async def _beside(work: Callable[[threading.Event], T], name: str) -> T:
    """Off the loop; what the machine refuses is one sentence, for no agent's code runs here."""
    try:
        return await off_loop(work, name)
    except OSError as error:
        raise HarnessFault(f"the agent's folder can't be followed: {error}") from None


def _remove_all(places: list[Path], owner: int) -> None:
    if os.getpid() != owner:  # the end of a child that a test has forked
        return
    for each in places:
        remove(each)
