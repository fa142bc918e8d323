"""The one protocol behind every kind of agent, and the values that pass through it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from pytest_dialeval.errors import DialevalError
from pytest_dialeval.records.suite import TURN_TIMEOUT
from pytest_dialeval.records.task import Opening
from pytest_dialeval.records.transcript import Artifact, ToolCall, Turn, Usage


@dataclass(frozen=True, slots=True)
class Brief:
    """What an agent may know of its conversation; never the persona, its script or its probes."""

    task: str
    prompt: str = ""  # variables are filled in
    variables: Mapping[str, object] = field(default_factory=dict)
    language: str = "en"
    opening: Opening = "user"
    conversation: str = ""  # opaque and never seen before
    seed: str = ""  # for the agent's own draws; equal for all agents that meet this user
    turn_timeout: float = TURN_TIMEOUT  # seconds
    workspace: str | None = None  # the folder to work in, absolute; its own copy


@dataclass(frozen=True, slots=True)
class Reply:
    """What an agent answers; `hang_up` ends the conversation after these words."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    usage: Usage | None = None
    hang_up: bool = False


class Agent(Protocol):
    """One agent in one conversation; its calls come one after another, never at once.

    Any of them may raise NotMeasured: the trial then counts neither for nor against the agent.
    """

    async def start(self, brief: Brief) -> None:
        """Get ready; nothing was said yet."""

    async def reply(self, turns: tuple[Turn, ...]) -> Reply:
        """Answer the last turn, which is the user's; without turns the agent opens."""

    async def close(self) -> None:
        """Let go of everything; called once, also after an error."""


@runtime_checkable
class Remote(Protocol):
    """An agent that waits for others, and so may not be to blame where it is late."""

    def overdue(self, late: str) -> DialevalError:
        """Whose fault it is that there is no answer yet; `late` says which deadline is over."""
        ...


AgentFactory = Callable[[], Agent]


@dataclass(frozen=True, slots=True)
class LimitedFactory:
    """A factory whose agents hold only so many conversations at once."""

    make: AgentFactory
    slots: asyncio.Semaphore

    def __call__(self) -> Agent:
        """An agent for one conversation."""
        return self.make()


def slot(factory: AgentFactory) -> AbstractAsyncContextManager[None]:
    """The right to hold one conversation; waiting for it is no agent's lateness."""
    if isinstance(factory, LimitedFactory):
        return factory.slots
    return nullcontext()
