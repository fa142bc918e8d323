"""Turn-taking: who speaks next, and when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType

from pytest_dialeval.conversation.agent import Brief
from pytest_dialeval.conversation.agent_task import AgentTask
from pytest_dialeval.conversation.clock import LoopClock
from pytest_dialeval.conversation.deadline import Deadlines
from pytest_dialeval.conversation.fault import message_of, place_of
from pytest_dialeval.conversation.inline_agent import InlineAgent
from pytest_dialeval.conversation.scribe import Ending, Scribe
from pytest_dialeval.conversation.user import Line, User
from pytest_dialeval.conversation.work import Work, observe
from pytest_dialeval.errors import (
    BudgetSpent,
    HarnessFault,
    NotMeasured,
    ProviderFault,
    RunError,
    SimulatorFault,
)
from pytest_dialeval.records.suite import Limits
from pytest_dialeval.records.task import Task

HUNG_UP = Ending("completed", "the agent hung up", "agent")
LEFT = Ending("completed", "the user left", "user")
SAID_ALL = Ending("completed", "the agent answered the user's last line", "user")
# What a user raises that says itself whose fault it is.
_TOLD = (SimulatorFault, HarnessFault, NotMeasured, ProviderFault, BudgetSpent, RunError)


class Talk:
    """An agent and a user in one conversation."""

    def __init__(
        self,
        task: Task,
        scribe: Scribe,
        agent: AgentTask | InlineAgent,
        limits: Limits,
        clock: LoopClock,
        work: Work | None = None,
    ) -> None:
        """`work`: of an agent that works in a folder."""
        self._task = task
        self._scribe = scribe
        self._agent = agent
        self._limits = limits
        self._clock = clock
        self._work = work
        self._user: User | None = None

    @property
    def unsaid(self) -> tuple[str, ...]:
        """Ids of probes that the user had no chance to say."""
        if self._user is None:
            return ()
        with _SIMULATING:
            return self._user.unsaid

    @property
    def fidelity(self) -> Mapping[str, int]:
        """How the user's lines came about, in counts; empty where it does not tell."""
        with _SIMULATING:
            counts = getattr(self._user, "fidelity", None) or {}  # a hook's user may have none
            return {str(name): int(count) for name, count in counts.items()}

    async def hold(self, make_user: Callable[[], User], brief: Brief) -> Ending:
        """Take turns until one of them ends it, or the rounds are used up."""
        with _SIMULATING:
            user = self._user = make_user()
        deadlines = Deadlines(self._limits, self._agent.charge())
        await self._agent.start(brief, deadlines.turn())
        if self._task.opening == "agent" and await self._agent_speaks(user, deadlines):
            return HUNG_UP
        while not _leaving(user):
            if self._scribe.rounds >= self._task.max_rounds:
                return Ending("limit_reached", f"{self._task.max_rounds} rounds", "limit")
            await self._clock.pause.over()
            charge = self._agent.charge()
            line = await self._user_speaks(user)
            # `limits.timeout` is the agent's: a user that thinks does not use it up.
            deadlines.extend(charge.seconds)
            if await self._agent_speaks(user, deadlines, line):
                return HUNG_UP
            if line.last:
                return SAID_ALL
        return LEFT

    async def _user_speaks(self, user: User) -> Line:
        with _SIMULATING:
            own = getattr(user, "deadline", None)
            async with self._clock.timeout(self._limits.turn_timeout if own is None else own):
                line = await user.speak()
            self._scribe.user(line)
        return line

    async def _agent_speaks(
        self, user: User, deadlines: Deadlines, line: Line | None = None
    ) -> bool:
        """Whether it hung up with its words; `line` is what it answers."""
        charge = self._agent.charge()
        reply = await self._agent.reply(tuple(self._scribe.heard), deadlines.turn())
        latency = charge.seconds
        if self._work is None or line is None:
            turn, done = self._scribe.agent(reply, latency), None
        else:
            last = line.last or reply.hang_up or self._scribe.rounds >= self._task.max_rounds
            charge = self._agent.charge()
            turn, done = await self._work.after(reply, latency, last=last)
            deadlines.extend(charge.seconds)  # nor does looking at its work
        with _SIMULATING:
            user.hear(turn)
            if done is not None:
                observe(user, done)
        return reply.hang_up


def _leaving(user: User) -> bool:
    with _SIMULATING:
        return user.leaving


class _Simulating:
    """What goes wrong inside is the simulated user's fault or its model's, never the agent's."""

    def __enter__(self) -> None:
        """Nothing is kept: there is one for all conversations."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None or isinstance(error, (asyncio.CancelledError, GeneratorExit, *_TOLD)):
            return
        text = f"the simulated user raised {type(error).__name__}: {message_of(error)}"
        raise SimulatorFault(f"{text}{place_of(error)}") from error


_SIMULATING = _Simulating()
