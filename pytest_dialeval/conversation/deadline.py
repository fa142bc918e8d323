"""How long an agent may take: for one answer, and for the whole conversation."""

from __future__ import annotations

from typing import NamedTuple

from pytest_dialeval.conversation.steps import Charge
from pytest_dialeval.records.suite import Limits


class Deadline(NamedTuple):
    """Seconds from now, and what is said when they are over."""

    seconds: float
    late: str


class Deadlines:
    """Counted from when the agent has its place; waiting for one is not its fault."""

    def __init__(self, limits: Limits, charge: Charge) -> None:
        self._limits = limits
        self._charge = charge
        self._more = 0.0
        turn = limits.turn_timeout
        self._turn = Deadline(turn, f"no answer within {turn:g} s (limits.turn_timeout)")

    def extend(self, seconds: float) -> None:
        """Give the conversation more time: it was made to wait."""
        self._more += seconds

    def turn(self) -> Deadline:
        """The deadline of the call that begins now; without a second when all of them are over."""
        left = max(0.0, self._limits.timeout + self._more - self._charge.seconds)
        if self._turn.seconds <= left:
            return self._turn
        late = f"the conversation took longer than {self._limits.timeout:g} s (limits.timeout)"
        return Deadline(left, late)
