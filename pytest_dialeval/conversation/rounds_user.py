"""A user that follows up: a request, then what the schedule has for each round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pytest_dialeval.conversation.follow_up_facts import Past, facts
from pytest_dialeval.conversation.follow_up_lines import drawn
from pytest_dialeval.conversation.noise import disturbed
from pytest_dialeval.conversation.user import Line
from pytest_dialeval.errors import SimulatorFault
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.planning.schedule import schedule
from pytest_dialeval.records.follow_up import ANCHOR, REQUEST, Anchor, Behaviour, Rounds
from pytest_dialeval.records.task import Persona, Task
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.work import Done


@dataclass(frozen=True, slots=True)
class FollowUp:
    """The message that is due."""

    number: int  # its round
    behaviour: Behaviour
    request: str
    past: Sequence[Past]  # the rounds before it


class FollowUpWording(Protocol):
    """Finds the words of a follow-up; which one is due is not its business."""

    @property
    def fidelity(self) -> Mapping[str, int]:
        """How its messages came about, in counts; empty where there is nothing to tell."""

    @property
    def deadline(self) -> float | None:
        """Seconds that one message may take; None: as long as the agent may take for a turn."""

    async def words(self, due: FollowUp) -> str:
        """The words before noise; SimulatorFault where there are none."""


class TemplateFollowUps:
    """The lines of the behaviours themselves, drawn by seed, with the facts that are known."""

    fidelity: Mapping[str, int] = {}
    deadline: float | None = None

    def __init__(self, language: str, draw: Draw) -> None:
        self._language = language
        self._draw = draw

    async def words(self, due: FollowUp) -> str:
        """A line of the behaviour."""
        text = self.drawn(due)
        if text is None:
            raise SimulatorFault(
                f"behaviour {due.behaviour.id!r} has no line in {self._language!r}: give it lines "
                "(`say`), or a model for the role user"
            )
        return text

    def drawn(self, due: FollowUp) -> str | None:
        """The same without waiting; None where it has no line."""
        known = facts(due.request, due.past)
        said = [each.instruction for each in due.past]
        return drawn(due.behaviour, self._language, known, self._draw, said)


class RoundsUser:
    """Says the request, then for each round its anchor, or a message of its behaviour.

    Which behaviour comes when is drawn from seed, task and profile alone, so that all agents meet
    the same; the words may speak of what the agent did.
    """

    unsaid: tuple[str, ...] = ()  # it has no probes

    def __init__(
        self,
        task: Task,
        persona: Persona,
        draw: Draw,
        matchers: Mapping[str, Matcher],
        wording: FollowUpWording | None = None,
    ) -> None:
        rounds = task.rounds
        assert rounds is not None, "only a task with rounds has such a user"
        self._rounds: Rounds = rounds
        self._last = task.max_rounds
        self._language = task.language
        self._noise = persona.noise
        self._draw = draw
        self._wording = wording or TemplateFollowUps(task.language, draw)
        self._schedule = schedule(draw.seed, task.id, rounds, task.max_rounds)
        self._past: list[Past] = []
        self._visits: Counter[str] = Counter()

    @property
    def leaving(self) -> bool:
        """Whether all is said."""
        return len(self._past) >= self._last

    @property
    def fidelity(self) -> Mapping[str, int]:
        """How its messages came about; empty where no model words them."""
        return self._wording.fidelity

    @property
    def deadline(self) -> float | None:
        """Seconds that a message may take; None: limits.turn_timeout."""
        return self._wording.deadline

    def hear(self, turn: Turn) -> None:
        """The agent's answer to the last message."""
        if self._past:
            self._past[-1] = replace(self._past[-1], reply=turn)

    def observe(self, done: Done) -> None:
        """What the folder held after a round; of agents that work in one."""
        for place, each in enumerate(self._past):
            if each.number == done.work.round:
                self._past[place] = replace(each, done=done)

    async def speak(self) -> Line:
        """The message of the next round."""
        number = len(self._past) + 1
        line = await self._line(number)
        self._past.append(Past(number, line.state or "", line.text))
        return line

    async def _line(self, number: int) -> Line:
        last = number == self._last
        if number == 1:
            return Line(self._rounds.request, state=REQUEST, last=last)
        due = self._schedule[number]
        if isinstance(due, Anchor):
            return Line(due.instruction, state=ANCHOR, last=last)
        words = await self._wording.words(
            FollowUp(number, due, self._rounds.request, tuple(self._past))
        )
        visit = self._visits[due.id]
        self._visits[due.id] += 1
        text, noise = disturbed(
            words, self._noise, self._draw, state=due.id, visit=visit, language=self._language
        )
        return Line(text, state=due.id, noise=noise, last=last)
