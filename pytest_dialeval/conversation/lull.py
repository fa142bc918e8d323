"""When a loop waits for others: a thread that can wait too lets it go first.

Two threads of one interpreter take turns. While the loop has answers to read, every moment of the
other one keeps models and agents waiting; its own work is as well done a little later.
"""

from __future__ import annotations

import selectors
import threading
from collections.abc import Callable

from pytest_dialeval.records.monotonic import monotonic

_SHARE = 9  # parts of waiting in vain to one of the other thread's own work


class Lull(selectors.DefaultSelector):
    """A loop's selector that tells another thread when the loop has nothing to do."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._idle = False
        self._wanted = False  # somebody waits for the next time it is
        self._waits = threading.Event()
        self._clock = clock
        self._until = 0.0  # nobody waits for it

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What asyncio asks at the end of each round of work."""
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        self._idle = True
        if self._wanted:
            self._waits.set()
        try:
            return super().select(timeout)
        finally:
            self._idle = False

    def await_one(self, seconds: float) -> bool:
        """Wait on another thread until the loop waits, at most so long.

        A loop that never waits has much to do, or some agent blocks it or polls in it: the other
        thread then gets a tenth of the time.
        """
        if self._clock() < self._until:
            return False
        self._waits.clear()
        self._wanted = True  # first, so that a loop that goes to wait just now tells
        if self._idle or self._waits.wait(seconds):
            self._wanted = False
            return True
        self._wanted = False
        self._until = self._clock() + seconds / _SHARE
        return False
