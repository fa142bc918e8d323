"""A coroutine that notes how long its steps kept the loop from everybody else."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, TypeVar

from pytest_dialeval.conversation.clock import BEAT, GivenUp, LoopClock

T = TypeVar("T")


class Steps(Coroutine[Any, Any, T]):
    """Goes on as the coroutine does; none of its steps is taken on a loop that was given up."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], clock: LoopClock) -> None:
        self._coroutine = coroutine
        self._clock = clock
        self.blocked = 0.0  # seconds in steps long enough to delay a heartbeat
        self.__name__ = getattr(coroutine, "__name__", "steps")  # for a task's repr
        self.__qualname__ = getattr(coroutine, "__qualname__", "steps")

    def send(self, value: Any) -> Any:
        """One step; asyncio calls it."""
        return self._step(self._coroutine.send, value)

    def throw(
        self,
        kind: Any,
        value: BaseException | object | None = None,
        traceback: TracebackType | None = None,
    ) -> Any:
        """One step that begins with an exception."""
        return self._step(self._coroutine.throw, value if value is not None else kind)

    def close(self) -> None:
        """Take no more steps."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._coroutine.__await__()

    def _step(self, step: Callable[[Any], Any], given: Any) -> Any:
        clock = self._clock
        if clock.given_up:
            raise GivenUp
        began = clock.unpaused
        try:
            return step(given)
        finally:
            seconds = clock.unpaused - began
            if seconds >= BEAT:
                self.blocked += seconds
            if clock.given_up:
                raise GivenUp


class Charge:
    """What the time since now costs an agent: not that in which others kept the loop from it."""

    def __init__(self, clock: LoopClock, steps: Steps[Any] | None = None) -> None:
        self._clock = clock
        self._steps = steps
        self._began, self._stood, self._blocked = clock.unpaused, clock.stood, self._own

    @property
    def _own(self) -> float:
        return 0.0 if self._steps is None else self._steps.blocked

    @property
    def blocked(self) -> float:
        """Seconds in which it blocked the loop itself."""
        return self._own - self._blocked

    @property
    def stood(self) -> float:
        """Seconds in which others did."""
        return max(0.0, self._clock.stood - self._stood - self.blocked)

    @property
    def seconds(self) -> float:
        """Seconds that are its own."""
        return self._clock.unpaused - self._began - self.stood
