"""A debugger stops the clock: no conversation takes its next turn meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pytest_dialeval.records.monotonic import monotonic


class Pause:
    """Asked by every conversation between its turns; `begin` and `leave` work on any thread."""

    def __init__(self, monotonic: Callable[[], float] = monotonic) -> None:
        self.on = False
        self._monotonic = monotonic
        self._since = 0.0
        self.before = 0.0  # seconds of those that are over
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def seconds(self) -> float:
        """How long it has been on, all in all; that counts against no deadline."""
        return self.before + (self._monotonic() - self._since if self.on else 0.0)

    def begin(self) -> None:
        if not self.on:
            self._since = self._monotonic()
            self.on = True

    def leave(self) -> None:
        """It is over; those who wait learn of it by end()."""
        self.before = self.seconds
        self.on = False

    def end(self) -> None:
        """Let them go on; called on their loop."""
        self.leave()
        for each in self._waiting:
            if not each.done():
                each.set_result(None)

    async def over(self) -> None:
        """Wait until nothing is paused."""
        if not self.on:
            return
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await waiting
        finally:
            self._waiting.discard(waiting)
