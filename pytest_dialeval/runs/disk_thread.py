"""Blocking calls of the loop go to a thread beside it: an fsync takes milliseconds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.programs.begun import begun


class DiskThread:
    """One call after another, in one daemon thread."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def __call__(self, call: Callable[[], None]) -> None:
        """Await a blocking call; what it raises is raised here."""
        if self._closed:  # a straggler: nobody is kept waiting any more
            call()
            return
        if self._thread is None:
            try:
                self._thread = begun(
                    lambda: threading.Thread(target=self._serve, name="dialeval-disk", daemon=True)
                )
            except HarnessFault:  # the loop waits rather than that a trial is lost
                call()
                return
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def run() -> None:
            error: BaseException | None = None
            try:
                call()
            except BaseException as raised:
                error = raised
            with suppress(RuntimeError):  # the loop is gone: nobody waits any more
                loop.call_soon_threadsafe(_settle, done, error)

        self._calls.put(run)
        await done

    def close(self, timeout: float) -> None:
        """Let what was asked for be written, for a bounded time."""
        self._closed = True
        if self._thread is not None:
            self._calls.put(None)
            self._thread.join(timeout=timeout)

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            call()


def _settle(done: asyncio.Future[None], error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
