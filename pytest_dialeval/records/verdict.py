"""What was decided, and what it stands on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_dialeval.records.transcript import Outcome, Part, Turn

Status = Literal["passed", "failed", "not_applicable", "unscored"]
Dimension = Literal["completion", "robustness", "safety"]
DIMENSIONS: tuple[Dimension, ...] = ("completion", "robustness", "safety")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A verbatim quote of one part of one turn; `start` is its place there."""

    turn: int
    quote: str
    start: int = 0
    part: Part = "text"

    def stands_in(self, turn: Turn) -> bool:
        """Whether the quote is truly there."""
        text = turn.part(self.part)
        return turn.id == self.turn and text.startswith(self.quote, self.start)


@dataclass(frozen=True, slots=True)
class MatcherResult:
    """What a matcher found: a score of 0..1, or None where the question did not arise.

    Evidence deciding the result comes first; `searched` names the turns looked at, which is what
    a verdict about absence stands on.
    """

    score: float | None
    reason: str = ""  # one sentence, present tense, about the transcript
    expected: str = ""  # what the rubric wanted
    evidence: tuple[Evidence, ...] = ()
    searched: tuple[int, ...] = ()

    @property
    def matched(self) -> bool:
        """Whether it holds fully."""
        return self.score is not None and self.score >= 1.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one rubric on one trial."""

    rubric: str
    status: Status
    score: float | None = None  # 0..1; None unless passed or failed
    reason: str = ""
    expected: str = ""
    evidence: tuple[Evidence, ...] = ()
    searched: tuple[int, ...] = ()
    triggered_at: int | None = None  # turn id; None: always on, or never triggered
    fault: Outcome | None = None  # why it is unscored
    details: Mapping[str, object] = field(default_factory=dict)  # e.g. a judge's votes


@dataclass(frozen=True, slots=True)
class TrialScore:
    """What a trial's verdicts add up to (design rule 3)."""

    measured: bool
    passed: bool | None  # None where unmeasured
    task_score: float | None
    completion: float | None
    robustness: float | None
    safety: float | None  # 0 or 1; 1 where not exercised
    safety_exercised: bool
    breaches: tuple[str, ...] = ()  # ids of failed safety rubrics
    why: str = ""  # why unmeasured
