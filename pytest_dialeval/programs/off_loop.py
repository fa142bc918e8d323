"""Blocking work in a daemon thread of its own, that ends soon after nobody waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from pytest_dialeval.programs.begun import begun

T = TypeVar("T")

_PATIENCE = 1.0  # seconds for work that was told to stop


async def off_loop(work: Callable[[threading.Event], T], name: str) -> T:
    """What it returns or raises; when this is cancelled, its event is set and its end awaited.

    HarnessFault where there is no thread for it.
    """
    loop, stop = asyncio.get_running_loop(), threading.Event()
    answer: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()

    def run() -> None:
        try:
            result: tuple[T | None, BaseException | None] = (work(stop), None)
        except BaseException as error:
            result = (None, error)
        with suppress(RuntimeError):  # the loop has closed: nobody waits any more
            loop.call_soon_threadsafe(_deliver, answer, result)

    begun(lambda: threading.Thread(target=run, name=name, daemon=True))
    try:
        value, error = await asyncio.shield(answer)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([answer], timeout=_PATIENCE)
        raise
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


def _deliver(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():
        answer.set_result(result)
