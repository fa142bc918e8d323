"""A debugger stops the clock: no conversation takes its next turn meanwhile."""

from __future__ import annotations

import asyncio
import time


class Pause:
    """Asked by every conversation between its turns; `begin` may be called on any thread."""

    def __init__(self) -> None:
        self.on = False
        self._waiting: set[asyncio.Future[None]] = set()

    def begin(self) -> None:
        self.on = True

    def end(self) -> None:
        """Let them go on; called on their loop."""
        self.on = False
        for each in self._waiting:
            if not each.done():
                each.set_result(None)

    async def over(self) -> float:
        """Wait until nothing is paused; the seconds waited, which count against no deadline."""
        if not self.on:
            return 0.0
        began = time.monotonic()
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await waiting
        finally:
            self._waiting.discard(waiting)
        return time.monotonic() - began
