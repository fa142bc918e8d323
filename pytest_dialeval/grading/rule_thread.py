"""Rules decide on a thread beside the loop: a slow matcher delays no conversation."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from pytest_dialeval.conversation.clock import LoopClock, patient
from pytest_dialeval.programs.begun import begun

T = TypeVar("T")


class _Call:
    def __init__(self, function: Callable[[], object]) -> None:
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Any] = self.loop.create_future()
        self.function = function
        self.began: float | None = None
        self.thread: threading.Thread | None = None

    def run(self) -> None:
        """Do it; the answer goes back to the loop."""
        value: object = None
        error: BaseException | None = None
        try:
            value = self.function()
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is gone: nobody waits any more
            self.loop.call_soon_threadsafe(self._deliver, value, error)

    def _deliver(self, value: object, error: BaseException | None) -> None:
        if self.answer.done():
            return
        if error is None:
            self.answer.set_result(value)
        else:
            self.answer.set_exception(error)


class RuleThread:
    """One call after another, in a daemon thread; one that is stuck is left and replaced."""

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def __call__(self, function: Callable[[], T], seconds: float) -> T:
        """Its value; TimeoutError where it takes longer. Waiting for other calls does not count."""
        call = _Call(function)
        if self._thread is None:
            self._begin()
        self._calls.put(call)
        try:
            await self._answered(call, seconds)
        finally:
            call.answer.cancel()  # it need not begin any more
        value: T = call.answer.result()
        return value

    async def _answered(self, call: _Call, seconds: float) -> None:
        left = seconds
        while left > 0:
            await asyncio.wait([call.answer], timeout=left)
            if call.answer.done():
                return
            spent = 0.0 if call.began is None else self._clock.unpaused - call.began
            left = patient(seconds - spent)
        if call.thread is self._thread:
            self._begin()
        raise TimeoutError

    def close(self, timeout: float) -> bool:
        """Take no more calls; whether a call still runs after so many seconds."""
        if self._thread is None:
            return False
        self._calls.put(None)
        self._thread.join(timeout)
        return self._thread.is_alive()

    def _begin(self) -> None:
        self._thread = None
        self._thread = begun(
            lambda: threading.Thread(target=self._serve, name="dialeval-rules", daemon=True)
        )

    def _serve(self) -> None:
        own = threading.current_thread()
        while self._thread in (own, None) and (call := self._calls.get()) is not None:
            if call.answer.cancelled():
                continue
            # Not the clock that stands while the loop does: a pattern at work holds that up too.
            call.thread, call.began = own, self._clock.unpaused
            call.run()
