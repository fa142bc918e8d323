"""A run's facts, as they stand on disk between the parts of the house."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_dialeval.records.match import Comparison
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.suite import Gates, Scoring
from pytest_dialeval.records.transcript import Outcome, Transcript, Turn
from pytest_dialeval.records.verdict import Verdict


def fails_its_item(rubric: Rubric, decide: str, *, breaches_gated: bool) -> bool:
    """Whether a failed verdict is an F: hard ones are, unless gates decide."""
    if rubric.severity == "soft":
        return False
    if decide == "items":
        return True
    return rubric.dimension == "safety" and not breaches_gated


@dataclass(frozen=True, slots=True)
class Source:
    """What one suite file or one decorated function contributes to a run: its denominator."""

    name: str  # the suite's path from rootdir, or the function's node id
    suite: str  # path of the suite file from rootdir
    sha256: str
    files: Mapping[str, str]  # every file read -> sha256
    task: str
    version: str
    title: str
    seed: str
    scoring: Scoring | None
    gates: Gates
    rubrics: tuple[Rubric, ...]
    agents: Mapping[str, str | None]  # name -> version
    uses: Mapping[str, str]  # name -> what it is, e.g. `scripted`
    # name -> role -> model, of the roles that a model plays for that agent
    models: Mapping[str, Mapping[str, str]] = field(kw_only=True, default_factory=dict)
    trials: tuple[PlannedTrial, ...]
    selected: Mapping[str, tuple[str, ...]]  # trial id -> rubrics whose items are selected
    decide: Literal["items", "gates"] = "items"
    breaches_gated: bool = False  # a gate counts breaches, so that their items need not fail
    notes: tuple[str, ...] = ()
    items: Mapping[str, str] = field(default_factory=dict)  # node id -> trial id
    # trial id -> rubrics with a selected item of their own; a score item selects without asking
    asked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    compare: Comparison = field(default_factory=Comparison)

    def fails(self, rubric: Rubric) -> bool:
        """Whether a failed verdict of that rubric is an F."""
        return fails_its_item(rubric, self.decide, breaches_gated=self.breaches_gated)

    @property
    def fully_selected(self) -> bool:
        """Whether every rubric of every planned trial is among the final items."""
        return all(set(each.rubrics) <= set(self.selected.get(each.id, ())) for each in self.trials)


@dataclass(frozen=True, slots=True)
class Conversation:
    """How one trial's conversation went; its turns stand in the trace."""

    trial: str
    outcome: Outcome
    reason: str = ""
    rounds: int = 0
    turns: int = 0
    seconds: float | None = None
    trace: str | None = None  # file name in traces/, or None for a recording
    recording: str | None = None  # path#index of a recording, path where it is the whole file
    sha256: str | None = None  # of the recording's file
    isolated: bool = True  # False: the agent runs in this process
    attempt: int = 1  # above 1: held again by another plugin's rerun; figures leave it out
    fidelity: Mapping[str, int] = field(default_factory=dict)  # as in the transcript
    # round -> the verifier's reward after it, 0..1; None: it could not be told
    checks: Mapping[str, float | None] = field(default_factory=dict)
    said: str = ""  # digest of the user's lines: whether two agents heard the same


@dataclass(frozen=True, slots=True)
class WorkExcerpt:
    """Of the round that a verdict stands on: what a reader wants to see next."""

    printed: tuple[str, ...] = ()  # the last lines of what the verifier printed
    patch: str | None = None  # from the run's folder; None: there is none
    untouched: bool = False  # whether nothing in the agent's folder differed from the start


@dataclass(frozen=True, slots=True)
class Graded:
    """One verdict with the turns that show it; crosses from the pool to an item."""

    verdict: Verdict
    conversation: Conversation
    excerpt: tuple[Turn, ...] = ()
    work: WorkExcerpt | None = None  # where a verifier's word decided it
    transcript: Transcript | None = None  # whole, for the body of a decorated test alone


@dataclass(frozen=True, slots=True)
class TrialFacts:
    """All that the ledger holds of one trial."""

    conversation: Conversation | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
