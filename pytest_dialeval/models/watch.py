"""The time that calls' deadlines go by: the loop's own, or one that stands while the loop does."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Watch(Protocol):
    """Tells the time, and ends what takes too much of it with TimeoutError."""

    @property
    def now(self) -> float: ...

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]: ...


class LoopWatch:
    """The running loop's time, also while somebody blocks the loop."""

    @property
    def now(self) -> float:
        """Seconds since some moment."""
        return asyncio.get_running_loop().time()

    def timeout(self, seconds: float) -> asyncio.Timeout:
        """The one of asyncio."""
        return asyncio.timeout(seconds)
