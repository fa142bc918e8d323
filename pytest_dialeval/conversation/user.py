"""The simulated user: a state machine that hears the agent and settles which line is due."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pytest_dialeval.conversation.hearing import holds
from pytest_dialeval.conversation.noise import disturbed
from pytest_dialeval.conversation.wording import Due, TemplateWording, Worded, Wording
from pytest_dialeval.errors import SimulatorFault
from pytest_dialeval.matching.compiling import compile_spec
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.view import View
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.task import (
    END,
    USER_TURN,
    MatcherSpec,
    Persona,
    Probe,
    State,
    Task,
    Transition,
)
from pytest_dialeval.records.transcript import Turn

_Holds = Callable[[Turn], bool]


@dataclass(frozen=True, slots=True)
class Line:
    """What the user says in one turn."""

    text: str
    state: str | None = None  # whose line it is; None for a probe
    probe: str | None = None
    noise: str | None = None
    last: bool = False  # the agent answers it, and the conversation is over


class User(Protocol):
    """Who talks to the agent."""

    @property
    def leaving(self) -> bool:
        """Whether it goes now, without another word."""

    @property
    def unsaid(self) -> tuple[str, ...]:
        """Ids of probes not said so far."""

    # A user of a hook's may do without the next two.

    @property
    def fidelity(self) -> Mapping[str, int]:
        """How its lines came about, in counts named as in fidelity.py."""

    @property
    def deadline(self) -> float | None:
        """Seconds that a line may take; None: limits.turn_timeout."""

    def hear(self, turn: Turn) -> None:
        """The agent's turn: its answer to the last line, or its opening."""

    async def speak(self) -> Line:
        """The next line; SimulatorFault where there is none. Not asked while leaving."""


Simulator = Callable[[Task, Persona, Draw, Mapping[str, Matcher]], User]


class SimulatedUser:
    """Plays a persona's script; its own lines are said, or what another wording makes of them.

    A probe takes a turn of its own: the line that was due follows on the next turn, and the
    answer to the probe moves nothing. All draws are indexed by state and visit, never by turn.
    So a probe that is added shifts lines, and changes none.
    """

    def __init__(
        self,
        task: Task,
        persona: Persona,
        draw: Draw,
        matchers: Mapping[str, Matcher],
        wording: Wording | None = None,
    ) -> None:
        self._view = View((), None, task.language, task.variables, task.prompt)
        self._persona = persona
        self._states = persona.script.states
        self._draw = draw
        self._wording = wording or TemplateWording(draw)
        self._holds = self._compiled(matchers)
        self._due = persona.script.start  # the state whose line comes next
        self._answered: str | None = None  # the state whose line the agent is answering
        self._visits: Counter[str] = Counter()  # lines said, by state
        self._turns = 0
        # Those bound to a turn first: they are the ones that cannot wait.
        self._probes = sorted(persona.probes, key=lambda each: each.at_user_turn or 10**9)

    @property
    def leaving(self) -> bool:
        """Whether it goes now, without another word."""
        return self._probe_due() is None and self._goes(self._due)

    @property
    def unsaid(self) -> tuple[str, ...]:
        """Ids of probes not said so far, in the order written."""
        left = {each.id for each in self._probes}
        return tuple(each.id for each in self._persona.probes if each.id in left)

    @property
    def fidelity(self) -> Mapping[str, int]:
        """How its lines came about; empty where they are the script's own."""
        return self._wording.fidelity

    @property
    def deadline(self) -> float | None:
        """Seconds that a line may take; None: limits.turn_timeout."""
        return self._wording.deadline

    def hear(self, turn: Turn) -> None:
        """Move on, if the turn answers a line of the script."""
        self._wording.heard(turn)
        if self._answered is not None:
            self._due = self._next(self._states[self._answered], turn)
            self._answered = None

    async def speak(self) -> Line:
        """The probe that is due, else the line of the state that is due."""
        probe = self._probe_due()
        self._turns += 1
        if probe is not None:
            self._probes.remove(probe)
            self._wording.said(probe.say)
            return Line(probe.say, probe=probe.id)
        return await self._line(self._state(self._due))

    async def _line(self, state: State) -> Line:
        if not self._wording.can_say(state):
            text = f"the simulated user has nothing to say in state {state.id!r}"
            raise SimulatorFault(f"{text}: give it lines (`say`), or {_remedy(state)}")
        visit = self._visits[state.id]
        self._visits[state.id] += 1
        self._answered = state.id
        worded = await self._wording.words(Due(state, visit, self._turns))
        self._wording.said(worded.text)
        text, noise = disturbed(
            worded.text,
            self._persona.noise,
            self._draw,
            state=state.id,
            visit=visit,
            language=self._view.language,
        )
        return Line(text, state=state.id, noise=noise, last=_is_last(state, worded))

    def _probe_due(self) -> Probe | None:
        turn = self._turns + 1
        entering = self._due if not self._visits[self._due] else None
        for each in self._probes:
            # Where two want one turn, the second takes the next.
            if each.at_user_turn is not None and each.at_user_turn <= turn:
                return each
            if each.at_user_turn is None and entering is not None and each.on_state == entering:
                return each
        return None

    def _goes(self, to: str) -> bool:
        if to not in self._states:  # a state of that name takes precedence
            return to == END
        return self._states[to].end and not self._wording.can_say(self._states[to])

    def _state(self, name: str) -> State:
        if name not in self._states:
            raise SimulatorFault(f"the script goes to state {name!r}, which it does not have")
        return self._states[name]

    def _next(self, state: State, answer: Turn) -> str:
        """The first transition that holds; those without `when` side by side are drawn among."""
        for place, each in enumerate(state.next):
            if each.when is None:
                return self._weighed(state, _neighbours(state.next[place:]))
            if self._holds[state.id, place](answer):
                return each.to
        return state.id

    def _weighed(self, state: State, options: Sequence[Transition]) -> str:
        visit = self._visits[state.id]
        place = self._draw.weighted([each.weight for each in options], f"next:{state.id}", visit)
        return options[place].to

    def _compiled(self, matchers: Mapping[str, Matcher]) -> Mapping[tuple[str, int], _Holds]:
        return {
            (state.id, place): self._condition(each.when, matchers)
            for state in self._states.values()
            for place, each in enumerate(state.next)
            if each.when is not None
        }

    def _condition(self, spec: MatcherSpec, matchers: Mapping[str, Matcher]) -> _Holds:
        if spec.method == USER_TURN:
            least = spec.params["at_least"]
            assert isinstance(least, int), "the suite was checked"
            # Probes do not count, or one more would move the user.
            return lambda _: self._visits.total() >= least
        check = compile_spec(spec, matchers)
        return lambda turn: holds(check, replace(self._view, turns=(turn,)))


def _is_last(state: State, worded: Worded) -> bool:
    """The script decides; only where it has no way on may the user leave of its own accord."""
    return state.end or (worded.done and not state.next)


def _remedy(state: State) -> str:
    """What a state without words lacks beside lines."""
    return "a model for the role user" if state.goal else "a goal, and a model for the role user"


def _neighbours(transitions: Sequence[Transition]) -> Sequence[Transition]:
    found = []
    for each in transitions:
        if each.when is not None:
            break
        found.append(each)
    return found
