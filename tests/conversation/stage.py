"""What the tests of a conversation need around it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_dialeval.conversation.agent import AgentFactory, Brief, Reply
from pytest_dialeval.conversation.converse import converse
from pytest_dialeval.conversation.python_agent import adapt
from pytest_dialeval.conversation.site import Site
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.suite import Limits
from pytest_dialeval.records.task import (
    MatcherSpec,
    Noise,
    Persona,
    Probe,
    Script,
    State,
    Task,
    Transition,
)
from pytest_dialeval.records.transcript import Transcript, Turn
from pytest_dialeval.records.work import Done, RoundWork

MATCHERS = builtin_matchers()


def draw(seed: str = "seed") -> Draw:
    return Draw(seed, "task", "persona", 1)


def says(*words: str) -> MatcherSpec:
    return MatcherSpec("keyword", {"any": list(words)})


def persona(
    *states: State, probes: Sequence[Probe] = (), noise: Noise | None = None, start: str = "start"
) -> Persona:
    script = Script({each.id: each for each in states}, start=start)
    return Persona("persona", script, probes=tuple(probes), noise=noise or Noise())


def patient(*lines: str) -> Persona:
    """Says its lines for ever."""
    return persona(State("start", lines or ("hello",), next=(Transition("start"),)))


def task(**keys: Any) -> Task:
    return Task("task", **keys)


def held(
    agent: object,
    who: Persona | None = None,
    *,
    seed: str = "seed",
    limits: Limits | None = None,
    trace: Any = None,
    header: Mapping[str, object] | None = None,
    matchers: Any = MATCHERS,
    adapted: bool = False,
    **keys: Any,
) -> Transcript:
    """One whole conversation with an agent that a user would write."""
    factory: AgentFactory = agent if adapted else adapt(agent, name="agent")  # type: ignore[assignment]
    return asyncio.run(
        converse(
            task(**keys),
            who or patient(),
            factory,
            draw=draw(seed),
            limits=limits or Limits(),
            trace=trace,
            header=header,
            matchers=matchers,
        )
    )


async def conversing(
    factory: AgentFactory,
    who: Persona | None = None,
    *,
    limits: Limits | None = None,
    case: str = "case",
    trial: int = 1,
    site: Site | None = None,
    **keys: Any,
) -> Transcript:
    """The same inside a loop that has more to do."""
    return await converse(
        task(**keys),
        who or patient(),
        factory,
        draw=draw(),
        limits=limits or Limits(),
        matchers=MATCHERS,
        case=case,
        trial=trial,
        site=site,
    )


class Folder:
    """A site that is a mere folder; nothing is ever found there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def open(self) -> None:
        self.folder.mkdir()

    async def after(self, round_: int, *, last: bool) -> Done:
        return Done(RoundWork(round_, False))

    async def close(self) -> None:
        pass


def said(transcript: Transcript, speaker: str = "user") -> list[str]:
    return [each.text for each in transcript.turns if each.speaker == speaker]


class Notes:
    """A trace writer that only remembers; `full_after` events its disk is full."""

    def __init__(self, full_after: int | None = None) -> None:
        self.events: list[tuple[str, Any]] = []
        self._full_after = full_after

    def _note(self, name: str, value: object) -> None:
        if self._full_after is not None and len(self.events) >= self._full_after:
            raise OSError(28, "No space left on device")
        self.events.append((name, value))

    def start(self, header: Mapping[str, object]) -> None:
        self._note("start", header)

    def turn(self, turn: Turn, *, later: bool = False) -> None:
        self._note("turn", turn)

    def error(self, outcome: str, message: str) -> None:
        self._note("error", (outcome, message))

    def end(
        self,
        outcome: str,
        reason: str = "",
        ended_by: str = "",
        *,
        unsaid_probes: Any = (),
        fidelity: Any = None,
    ) -> None:
        self._note("end", (outcome, reason, ended_by, tuple(unsaid_probes)))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.events]


class Stub:
    """An agent whose three methods are given."""

    def __init__(self, reply: Any, start: Any = None, close: Any = None) -> None:
        self._reply, self._start, self._close = reply, start, close

    async def start(self, brief: Brief) -> None:
        if self._start is not None:
            await self._start()

    async def reply(self, turns: tuple[Turn, ...]) -> Reply:
        return await self._reply()  # type: ignore[no-any-return]

    async def close(self) -> None:
        if self._close is not None:
            await self._close()
