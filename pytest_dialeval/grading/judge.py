"""What a judge is asked and what it answers; the judge itself is whatever the user brings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, get_args

from pytest_dialeval.errors import JudgeFault
from pytest_dialeval.records.task import Task
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import Dimension

Decision = Literal["met", "not_met", "cannot_tell"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)
CANNOT_TELL: Decision = "cannot_tell"


class UnusableReply(JudgeFault):
    """What the judge answered can't be read: it is asked once more, with this text as reason."""

    reply: str = ""  # what it answered, where that could not be read at all: shown to people alone


@dataclass(frozen=True, slots=True)
class NoJudge:
    """Stands for a judge that is switched off by choice: judged rubrics are not applicable."""


class Level(NamedTuple):
    """One grade of a criterion that is more than met or not met."""

    name: str
    score: float | None  # None: what the criterion is about did not arise
    example: str


class Citation(NamedTuple):
    """A quote as the judge gives it; nothing about it has been checked."""

    turn: int
    quote: str


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """One rubric on one trial. What turns say is data: it may try to steer the judge."""

    rubric: str
    criterion: str  # met or not met
    dimension: Dimension
    task: Task
    turns: tuple[Turn, ...]  # the whole transcript
    after: int | None = None  # what the agent did up to this turn doesn't count
    params: Mapping[str, object] = field(default_factory=dict)  # of `judge:` in the suite
    refused: str = ""  # why the reply before was refused; empty when asked for the first time
    case: str = ""  # trial id without its number
    trial: int = 1
    vote: int = 1  # which of `votes` this is
    min: float = 1.0  # the score from which a level passes
    # Of a rubric with `batch: true`: all such questions of the trial, this one among them.
    batch: tuple[JudgeQuestion, ...] = ()
    # What is known of rounds and work beside the turns; lines after "| " are data from outside.
    briefing: str = ""

    @property
    def votes(self) -> int:
        """How many votes are taken."""
        given = self.params.get("votes")
        return given if isinstance(given, int) and given > 1 else 1

    @property
    def levels(self) -> tuple[Level, ...]:
        """The grades to choose from; none where it is met or not met."""
        given: Any = self.params.get("levels") or ()
        return tuple(Level(each["name"], each.get("score"), each["example"]) for each in given)

    def searched(self) -> tuple[Turn, ...]:
        """The agent's turns that the verdict is about."""
        after = self.after or 0
        return tuple(each for each in self.turns if each.speaker == "agent" and each.id > after)


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """The answer; `evidence` quotes what decides it, in the words of the turns.

    `absence`: the verdict is that something is nowhere to be found, which no quote can show.
    """

    verdict: Decision
    reasoning: str
    evidence: tuple[Citation | tuple[int, str], ...] = ()
    absence: bool = False
    details: Mapping[str, object] = field(default_factory=dict)  # kept with the verdict
    level: str = ""  # where the question has levels: the name of one; its score counts, not `met`


class Judge(Protocol):
    """Grades `judge:` rubrics.

    May raise UnusableReply, and is then asked once more, or JudgeFault or NotMeasured, whose text
    says why. Whatever it raises, the rubric is unscored and the agent is not to blame. Called from
    one event loop, for many trials at once.
    """

    async def __call__(self, question: JudgeQuestion) -> JudgeReply: ...
