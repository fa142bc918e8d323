"""One check of the work after a round, in a folder that exists for it alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.programs.run_to_end import unless
from pytest_dialeval.records.monotonic import monotonic
from pytest_dialeval.records.work import Check, Verifier
from pytest_dialeval.suites.folder import survey
from pytest_dialeval.workspaces.commands import Commands
from pytest_dialeval.workspaces.copying import looked_through, remove
from pytest_dialeval.workspaces.exam import Stored, lay_out
from pytest_dialeval.workspaces.git import Git

_CHANGED = (
    "task.workspace was changed after this conversation began, so that its start is lost: "
    "run again, and let nothing write there meanwhile; agents have a copy (brief.workspace)"
)


@dataclass(frozen=True, slots=True)
class Verifying:
    """A verifier, and the folders that it must leave alone."""

    verifier: Verifier
    start: Path
    start_state: str  # as it was when the conversation began
    agents: Path
    git: Git
    place: Path  # where folders for checks are made
    clear: Callable[[str], str]  # takes secrets out of a text

    def check(self, round_: int, stored: Stored, stop: threading.Event) -> Check:
        """What it says; whatever keeps it from telling is said in `why`."""
        began = monotonic()
        place = self.place / "check"
        try:
            place.mkdir()
            check = self._checked(place, round_, stored, stop)
        except HarnessFault as error:
            check = Check(round_, None, why=str(error))
        except OSError as error:
            check = Check(round_, None, why=f"its folder can't be made: {error}")
        finally:
            remove(place)
        return replace(check, seconds=round(monotonic() - began, 3))

    def _checked(self, place: Path, round_: int, stored: Stored, stop: threading.Event) -> Check:
        goes_on = unless(stop)
        found = looked_through(self.start, goes_on)
        if found.state != self.start_state:
            raise HarnessFault(_CHANGED)
        # Two folders deep, as the work's folder may have any name.
        tree, home = place / "tree" / self.start.name, place / "home"
        home.mkdir()
        tree.parent.mkdir()
        left_out = lay_out(tree, found, stored, self.verifier, self.git, goes_on)
        before = self._states()
        check = Commands(self.verifier, round_, tree, home, stop, self.clear).check()
        check = replace(check, left_out=left_out)
        if written := _changed(before, self._states()):
            why = f"something wrote into {written} while the verifier ran"
            check = replace(check, passed=None, reward=None, checks={}, why=why)
        return check

    def _states(self) -> dict[str, str]:
        folders = {"the agent's folder": self.agents, "task.workspace": self.start}
        if self.verifier.hidden is not None:
            folders["task.verifier.hidden"] = Path(self.verifier.hidden)
        return {name: _state(each) for name, each in folders.items()}


def _state(folder: Path) -> str:
    try:
        return survey(folder).state
    except OSError:
        return "it is not there"


def _changed(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    return " and ".join(name for name, state in before.items() if now[name] != state)
