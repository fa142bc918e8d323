"""An agent's whole life in one asyncio task, apart from the conversation that asks it.

One task for all calls, because a client entered in `start` must be left in the same task. A task
of its own, because an agent may swallow its cancellation, raise SystemExit or cancel itself, and
none of these may reach the conversation or the loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import Context, copy_context
from typing import cast

from pytest_dialeval.conversation.agent import Agent, AgentFactory, Brief, Remote, Reply
from pytest_dialeval.conversation.clock import LoopClock, patient
from pytest_dialeval.conversation.current import Line, current_conversation, current_line
from pytest_dialeval.conversation.deadline import Deadline
from pytest_dialeval.conversation.fault import fault_of
from pytest_dialeval.conversation.steps import Charge, Steps
from pytest_dialeval.errors import AgentFault, DialevalError, HarnessFault
from pytest_dialeval.records.transcript import Turn

CLOSE = Deadline(5.0, "it is not closed after 5 s")
HURRY = Deadline(0.2, "it is not closed after 0.2 s")  # where the conversation was cancelled
GRACE = 0.7  # seconds a cancelled call has to clean up
STANDS = 20  # how often a call may be given more time because others kept the loop from it

logger = logging.getLogger(__name__)


class _Call:
    def __init__(self, step: Callable[[], Awaitable[object]]) -> None:
        self.step = step
        self.result: object = None  # a DialevalError for a fault
        self.begun = self.dropped = self.answered = False
        self._waiter: asyncio.Future[None] | None = None

    async def wait(self, seconds: float) -> None:
        """Until it is answered, `wake` is called, or for so long."""
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later(seconds, self.wake)
        try:
            await self._waiter
        finally:
            timer.cancel()

    def answer(self, result: object) -> None:
        self.result, self.answered = result, True
        self.wake()

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class AgentTask:
    """Asks one agent, with a deadline a call; whatever goes wrong comes back as a DialevalError."""

    def __init__(self, factory: AgentFactory, clock: LoopClock) -> None:
        self._factory = factory
        self._clock = clock
        self._agent: Agent | None = None
        self._calls: asyncio.Queue[_Call | None] = asyncio.Queue()
        self._call: _Call | None = None  # the one that has no answer yet
        self._interrupted = False
        self._steps = Steps(self._serve(), clock)
        self._task = asyncio.create_task(
            self._steps, name=f"agent of {_conversation()}", context=_context()
        )
        self._task.add_done_callback(self._ended)

    def charge(self) -> Charge:
        """What the time from now on costs this agent."""
        return Charge(self._clock, self._steps)

    async def start(self, brief: Brief, deadline: Deadline) -> None:
        """Make the agent and tell it what it is for."""

        async def make_and_start() -> None:
            self._agent = self._factory()
            await self._agent.start(brief)

        await self._ask(make_and_start, deadline)

    async def reply(self, turns: tuple[Turn, ...], deadline: Deadline) -> Reply:
        """The agent's answer to the last turn."""
        assert self._agent is not None, "start comes first"
        agent = self._agent
        return cast(Reply, await self._ask(lambda: agent.reply(turns), deadline))

    async def end(self, *, hurry: bool = False) -> None:
        """Close the agent; one that does not stop in time is left, and named in a warning."""
        try:
            await self._interrupt()
            if self._agent is not None and self._call is None and not self._task.done():
                await self._ask(self._agent.close, HURRY if hurry else CLOSE)
        except DialevalError as error:
            logger.warning("closing the agent of %s: %s", _conversation(), error)
        finally:
            self._calls.put_nowait(None)
        await self._over()

    async def _over(self) -> None:
        with suppress(TimeoutError):
            async with self._clock.timeout(GRACE):
                await asyncio.wait([self._task])
        if not self._task.done():
            logger.warning("the agent of %s does not stop; it is left running", _conversation())
        elif not self._task.cancelled():
            self._task.exception()  # read, so that asyncio does not report it as forgotten

    async def _ask(self, step: Callable[[], Awaitable[object]], deadline: Deadline) -> object:
        if deadline.seconds <= 0:
            raise self._overdue(AgentFault(deadline.late), deadline)
        call = self._call = _Call(step)
        self._calls.put_nowait(call)
        charge = self.charge()
        await self._wait(call, deadline, charge)
        if call.answered:
            return _in_time(call.result, deadline, charge)
        if self._task.done():
            raise AgentFault("the agent ended the asyncio task that it runs in")
        fault = _late(deadline, charge)
        if charge.blocked < charge.seconds / 2:  # else it was its own, say a tool's
            fault = self._overdue(fault, deadline)  # while it still knows what it waits for
        await self._interrupt()
        raise fault

    def _overdue(self, late: DialevalError, deadline: Deadline) -> DialevalError:
        """Whose fault lateness is can be the agent's to say; of the loop it then says nothing."""
        agent = self._agent
        remote = isinstance(late, AgentFault) and isinstance(agent, Remote)
        return cast("Remote", agent).overdue(deadline.late) if remote else late

    def _ended(self, task: asyncio.Task[None]) -> None:
        if self._call is not None:  # it will have no answer
            self._call.wake()

    async def _wait(self, call: _Call, deadline: Deadline, charge: Charge) -> None:
        """For its answer, as long as the time that is the agent's own allows."""
        left, stands = deadline.seconds, 0
        # Its task may have ended between two calls: then nobody wakes this one.
        while left > 0 and stands < STANDS and not self._task.done():
            stood = charge.stood
            await call.wait(left)
            if call.answered:
                return
            stands += charge.stood - stood > left / 2
            left = patient(deadline.seconds - charge.seconds)

    async def _interrupt(self) -> None:
        """Cancel the call in progress, and give it a moment to clean up."""
        call = self._call
        if call is None or self._task.done():
            return
        if not call.begun:
            call.dropped, self._call = True, None
            return
        if not self._interrupted:
            self._interrupted = True
            self._task.cancel()
        end, left = self._clock.now + GRACE, GRACE
        while left > 0 and not call.answered and not self._task.done():
            await call.wait(left)
            left = patient(end - self._clock.now)

    async def _serve(self) -> None:
        while (call := await self._calls.get()) is not None:
            if call.dropped:
                continue
            call.begun = True
            result = await self._result(call)
            self._call = None
            call.answer(result)

    async def _result(self, call: _Call) -> object:
        try:
            result = await call.step()
        except GeneratorExit:  # the loop is gone; or the agent's own, which ends it just as well
            raise
        except BaseException as error:
            cancelled = isinstance(error, asyncio.CancelledError)
            if cancelled and self._stopped_from_outside():
                raise
            # Our own cancellation is nothing that the agent raised, and nobody hears of it.
            ours = cancelled and self._interrupted
            result = AgentFault("the call was cancelled") if ours else fault_of(error)
        if self._interrupted:
            await self._resume()
        return result

    def _stopped_from_outside(self) -> bool:
        # An agent that merely raises CancelledError has cancelled no task.
        return not self._interrupted and bool(self._task.cancelling())

    async def _resume(self) -> None:
        """Take back our own cancellation, so that the agent can still be closed."""
        with suppress(asyncio.CancelledError):  # still to come where the agent did not wait
            await asyncio.sleep(0)
        self._task.uncancel()
        self._interrupted = False


def _conversation() -> str:
    return f"conversation {current_conversation.get()}"


def _context() -> Context:
    """That of the conversation, in which from here on the agent speaks."""
    context, line = copy_context(), current_line.get()
    trial = line.trial if line else str(current_conversation.get())
    context.run(current_line.set, Line(trial, agent=True))
    return context


def _in_time(result: object, deadline: Deadline, charge: Charge) -> object:
    if isinstance(result, DialevalError):
        raise result
    # An agent that never yields is back before any timer can fire.
    if charge.blocked and charge.seconds > deadline.seconds:
        raise _late(deadline, charge)
    return result


def _late(deadline: Deadline, charge: Charge) -> DialevalError:
    if charge.seconds < deadline.seconds:
        text = f"the event loop stood still for {charge.stood:.3g} s while the agent was asked"
        return HarnessFault(f"{text}: something in this run blocks it again and again")
    if charge.blocked < deadline.seconds / 10:
        return AgentFault(deadline.late)
    return AgentFault(
        f"{deadline.late}; it blocked the event loop for {charge.blocked:.3g} s: await what it"
        " waits for, or make it a plain function, which gets a thread of its own"
    )
