"""The words of a simulated user's line, once the script has settled which line is due."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.task import State
from pytest_dialeval.records.transcript import Turn


@dataclass(frozen=True, slots=True)
class Due:
    """The line that the script asks for."""

    state: State
    visit: int  # lines of this state said before
    turn: int  # number of the user's turn, from 1


@dataclass(frozen=True, slots=True)
class Worded:
    """Its words, before noise."""

    text: str
    done: bool = False  # the user wants nothing more; counts in a state without `next` alone


class Wording(Protocol):
    """Finds the words of lines; where the user goes is not its business."""

    @property
    def fidelity(self) -> Mapping[str, int]:
        """How its lines came about, in counts; empty where there is nothing to tell."""

    @property
    def deadline(self) -> float | None:
        """Seconds that one line may take; None: as long as the agent may take for a turn."""

    def can_say(self, state: State) -> bool:
        """Whether it has words for that state."""

    def heard(self, turn: Turn) -> None:
        """The agent's turn."""

    def said(self, text: str) -> None:
        """A line that was sent, a probe too; as it was before noise."""

    async def words(self, due: Due) -> Worded:
        """The words of a line; the state is one that it can say."""


class TemplateWording:
    """The lines of the script itself, drawn by seed."""

    fidelity: Mapping[str, int] = {}
    deadline: float | None = None

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def can_say(self, state: State) -> bool:
        """Whether it has lines."""
        return bool(state.say)

    def heard(self, turn: Turn) -> None:
        """Lines that are written already answer nothing."""

    def said(self, text: str) -> None:
        """Nothing is remembered: what was drawn is told by the visit."""

    async def words(self, due: Due) -> Worded:
        """A line of the state; the others come first before one is repeated."""
        return Worded(self.drawn(due))

    def drawn(self, due: Due) -> str:
        """The same without waiting."""
        say, name = due.state.say, due.state.id
        order = sorted(range(len(say)), key=lambda each: self._draw.unit(f"say:{name}", each))
        return say[order[due.visit % len(order)]]
