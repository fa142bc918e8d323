"""An agent that is ours to the last line: asked in the task of the conversation itself."""

from __future__ import annotations

from pytest_dialeval.conversation.agent import AgentFactory, Brief, LimitedFactory, Reply
from pytest_dialeval.conversation.chat_agent import ChatAgent, ChatAgents
from pytest_dialeval.conversation.clock import LoopClock
from pytest_dialeval.conversation.deadline import Deadline
from pytest_dialeval.conversation.steps import Charge
from pytest_dialeval.records.transcript import Turn


def ours(factory: AgentFactory) -> ChatAgents | None:
    """What makes agents in which no code of a user's runs; None where the factory makes others."""
    make = factory.make if isinstance(factory, LimitedFactory) else factory
    return make if isinstance(make, ChatAgents) and make.is_ours else None


class InlineAgent:
    """Does what AgentTask does, for an agent in which no code of a user's runs.

    Such a one swallows no cancellation, blocks no loop and raises nothing but what says whose
    fault it is: a task of its own would protect nobody.
    """

    def __init__(self, factory: ChatAgents, clock: LoopClock) -> None:
        self._factory = factory
        self._clock = clock
        self._agent: ChatAgent | None = None

    def charge(self) -> Charge:
        """What the time from now on costs this agent."""
        return Charge(self._clock)

    async def start(self, brief: Brief, deadline: Deadline) -> None:
        """Make the agent and tell it what it is for."""
        self._agent = self._factory()
        await self._agent.start(brief)

    async def reply(self, turns: tuple[Turn, ...], deadline: Deadline) -> Reply:
        """The agent's answer to the last turn."""
        assert self._agent is not None, "start comes first"
        if deadline.seconds <= 0:
            raise self._agent.overdue(deadline.late)
        try:
            async with self._clock.timeout(deadline.seconds):
                return await self._agent.reply(turns)
        except TimeoutError:
            raise self._agent.overdue(deadline.late) from None

    async def end(self, *, hurry: bool = False) -> None:
        """Nothing: without tools it holds nothing that could be closed."""
