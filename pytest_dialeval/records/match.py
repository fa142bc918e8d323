"""One pairwise comparison of two agents on the same round of the same case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_dialeval.records.model import ModelSpec

By = Literal["judge", "score", "human"]
Winner = Literal["A", "B", "tie"]  # A is left
# The worth of a match for its left side.
POINTS: Mapping[Winner, float] = {"A": 1.0, "tie": 0.5, "B": 0.0}


@dataclass(frozen=True, slots=True)
class Match:
    """Who was better; `winner` is None where it could not be decided, and `why` says why."""

    source: str  # name of the suite or decorated function
    task: str
    case: str  # the persona
    trial: int
    round: int | None  # None: the whole trial
    left: str  # agents
    right: str
    by: By
    winner: Winner | None
    same_instruction: bool  # False: the user's words differed between the two
    orders: tuple[Winner, ...] = ()  # a judge's words with left first, then with right first
    both_bad: bool = False  # a tie that praises neither
    why: str = ""

    @property
    def consistent(self) -> bool | None:
        """Whether a judge said the same in both orders; None where it was not asked twice."""
        return self.orders[0] == self.orders[1] if len(self.orders) == 2 else None


@dataclass(frozen=True, slots=True)
class Comparer:
    """What comparing by a model needs, so that it can be done without the suite's file."""

    spec: ModelSpec | None = None
    why_none: str = ""
    language: str = "en"
    users: Mapping[str, str] = field(default_factory=dict)  # persona -> who it is, in words
    max_context_chars: int | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the agents of a suite are compared and rated."""

    by: Literal["judge", "score"] = "score"
    k: float = 32.0
    start: float = 1000.0
    scale: float = 400.0
    both_bad: bool = False  # whether a vote may say that both were bad
    comparer: Comparer | None = None  # where a judge decides and two agents or more run
    formats: Mapping[str, str] = field(default_factory=dict)  # file of recordings -> its format
