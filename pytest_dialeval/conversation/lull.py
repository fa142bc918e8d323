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
        self._waited = False  # since somebody waited for it
        self._patience = 1.0  # halved each time in vain

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What asyncio asks at the end of each round of work."""
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        self._waited = True
        self._waits.set()
        try:
            return super().select(timeout)
        finally:
            self._waits.clear()

    def await_one(self, seconds: float) -> bool:
        """Wait on another thread until the loop waits, at most so long.

        A loop that never waits, as an agent blocks it or polls in it, is not waited for each time:
        all waits in vain together take no more than twice that long.
        """
        if self._waited:
            self._waited, self._patience = False, 1.0
        waits = self._waits.wait(seconds * self._patience)
        self._patience /= 1 if waits else 2
        return waits
