"""When a loop waits for others: a thread that can wait too lets it go first.

Two threads of one interpreter take turns. While the loop has answers to read, every moment of the
other one keeps models and agents waiting; its own work is as well done a little later.
"""

from __future__ import annotations

import selectors
import threading


class Lull(selectors.DefaultSelector):
    """A loop's selector that tells another thread when the loop has nothing to do."""

    def __init__(self) -> None:
        super().__init__()
        self._waits = threading.Event()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What asyncio asks at the end of each round of work."""
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        self._waits.set()
        try:
            return super().select(timeout)
        finally:
            self._waits.clear()

    def await_one(self, seconds: float) -> bool:
        """Wait on another thread until the loop waits, at most so long."""
        return self._waits.wait(seconds)
