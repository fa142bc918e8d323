"""The misbehaving endpoint of tests/models in a thread of its own, for whole runs of pytest."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.models.server import Server, Step, serving


@contextmanager
def endpoint(*steps: Step, otherwise: Step | None = None) -> Iterator[Server]:
    """Serves until the block is left; its thread ends with it."""
    ready: list[Server] = []
    up, done = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with serving(*steps) as server:
            if otherwise is not None:
                server.otherwise = otherwise
            ready.append(server)
            up.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert up.wait(10)
    try:
        yield ready[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(10)
        loop.close()
