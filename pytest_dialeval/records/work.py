"""Work in a folder: where it starts, what each round made of it, and what a verifier says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

When = Literal["first", "last", "first_and_last", "each"]
PATCH = "patch"  # the name of the artifact that shows the agent's changes so far


@dataclass(frozen=True, slots=True)
class Workspace:
    """`task.workspace`: the folder that each trial gets a fresh copy of."""

    folder: str  # absolute
    max_mb: float = 200.0  # a larger one is refused before anything is copied


@dataclass(frozen=True, slots=True)
class Verifier:
    """`task.verifier`: a command that says whether the work is right.

    It runs in a fresh start folder with the stored patch applied, never in the agent's own.
    """

    command: str  # run without a shell; split as a shell would
    when: When = "first_and_last"
    deadline: float = 120.0  # seconds for one command
    hidden: str | None = None  # absolute; a folder whose files are laid over the copy for the run
    result: str | None = None  # a JSON or JUnit file that the command writes, in the copy
    # Checks of later requests, from that round on; those of earlier rounds are run again.
    rounds: Mapping[int, str] = field(default_factory=dict)
    restore: tuple[str, ...] | None = None  # patterns of files taken from the start, not the patch


@dataclass(frozen=True, slots=True)
class RoundWork:
    """What the folder held after a round, against the start."""

    round: int
    changed: bool  # whether this round changed anything
    files: tuple[str, ...] = ()  # that differ from the start
    patch: str | None = None  # the stored patch, from the run's folder; None: nothing differs
    sha256: str | None = None
    note: str = ""  # e.g. that the agent deleted its folder


@dataclass(frozen=True, slots=True)
class Check:
    """What the verifier said of the work after a round."""

    round: int  # after which
    passed: bool | None  # None: it could not be told, and `why` says why
    reward: float | None = None  # 0..1: the verifier's own, else 1 where it passed
    # Single checks by name: tests that it reports, and the commands of rounds (`round 2`).
    checks: Mapping[str, bool] = field(default_factory=dict)
    exit_status: int | None = None
    seconds: float | None = None
    output: str = ""  # the beginning and the end, where it is long
    left_out: tuple[str, ...] = ()  # what of the patch did not count, and why
    why: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """All that is known of the folder after a round."""

    work: RoundWork
    patch: str = ""  # as text, shortened where it is long
    check: Check | None = None  # None: the verifier does not run after this round
