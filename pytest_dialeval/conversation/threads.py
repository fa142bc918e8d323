"""Threads of our own for agents that block: daemons, one a conversation, left behind if stuck.

asyncio's shared executor has a handful of threads and joins them at exit, so that one stuck
agent would hold up the whole session.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Generic, TypeVar

from pytest_dialeval.conversation.current import current_conversation
from pytest_dialeval.conversation.fault import fault_of
from pytest_dialeval.errors import DialevalError, HarnessFault
from pytest_dialeval.programs.begun import begun

T = TypeVar("T")

LEFT_MAX = 16  # stuck threads of one agent; more would be a leak without end


class _Result(Generic[T]):
    """What a call gave: a future may not hold the SystemExit or StopIteration of an agent."""

    def __init__(self, function: Callable[[], T]) -> None:
        self.fault: DialevalError | None = None
        try:
            self.value = function()
        except BaseException as error:
            self.fault = fault_of(error)


class AgentThread(threading.Thread):
    """Does the calls of one conversation, one after another, in one thread."""

    def __init__(self, crew: Crew, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.crew = crew
        self.left = False  # nobody waits for its present call any more
        self.busy = False
        self._work: SimpleQueue[Callable[[], object] | None] = SimpleQueue()

    def run(self) -> None:
        """Work until told to finish."""
        while (work := self._work.get()) is not None:
            self.busy = True
            work()
            self.busy = False

    async def call(self, function: Callable[[], T]) -> T:
        """The function's value, or its fault; when cancelled the thread is left with the call."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[_Result[T]] = loop.create_future()
        context = contextvars.copy_context()

        def work() -> None:
            result = context.run(_Result, function)
            with suppress(RuntimeError):  # the loop has closed: nobody waits any more
                loop.call_soon_threadsafe(_deliver, answer, result)

        self._work.put(work)
        try:
            result = await answer
        except asyncio.CancelledError:
            self.left = True
            raise
        if result.fault is not None:
            raise result.fault
        return result.value

    def finish(self, last: Callable[[], object] | None = None) -> None:
        """End after the present call and `last`, whose errors nobody hears."""
        if last is not None:
            self._work.put(lambda: _Result(last))
        self._work.put(None)


class Crew:
    """The threads of one blocking agent."""

    def __init__(self, agent: str) -> None:
        self.agent = agent

    def thread(self) -> AgentThread:
        """A running thread for one conversation; HarnessFault where there can be none."""
        stuck = sum(each.crew is self for each in _left())
        if stuck >= LEFT_MAX:
            text = f"{stuck} calls of agent {self.agent!r} have never returned; no more are started"
            raise HarnessFault(text)
        name = f"agent {self.agent} in {current_conversation.get()}"
        return begun(lambda: AgentThread(self, name))


def left_threads() -> tuple[str, ...]:
    """Agent and conversation of every blocking call that was given up and still runs."""
    return tuple(each.name for each in _left())


def _left() -> list[AgentThread]:
    threads = [each for each in threading.enumerate() if isinstance(each, AgentThread)]
    return [each for each in threads if each.left and each.busy]


def _deliver(answer: asyncio.Future[_Result[T]], result: _Result[T]) -> None:
    if not answer.done():
        answer.set_result(result)
