"""What one person said of one match."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

Choice = Literal["A", "B", "tie", "both_bad"]  # A is left
CHOICES: tuple[Choice, ...] = get_args(Choice)


@dataclass(frozen=True, slots=True)
class Vote:
    """Never changed once it is stored: another vote `supersedes` it."""

    id: str
    evaluation: str  # digest of what was compared
    task: str
    case: str
    trial: int
    round: int | None  # None: the whole trial
    left: str  # agents, as they stood before the voter
    right: str
    choice: Choice
    voter: str
    time: datetime  # with its zone
    digests: tuple[str, str]  # of the transcripts, left and right
    supersedes: str | None = None

    @property
    def about(self) -> tuple[object, ...]:
        """The voter and the match: one vote counts, whichever agent stood left."""
        agents = frozenset((self.left, self.right))
        return self.voter, self.task, self.case, self.trial, self.round, agents
