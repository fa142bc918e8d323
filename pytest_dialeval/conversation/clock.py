"""The clock of a loop's deadlines: it stands while the loop stands still or a debugger is at work.

One agent that blocks the loop must not make all others late. A heartbeat shows how long the loop
kept its timers waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from pytest_dialeval.conversation.pause import Pause
from pytest_dialeval.records.monotonic import monotonic

BEAT = 0.05  # seconds
_LONG = 5.0  # seconds; of a timeout that may as well be looked at beat by beat


class GivenUp(SystemExit):
    """Raised on a loop that comes back when nobody waits for it any more: it leaves the loop."""


class LoopClock:
    """Seconds in which the loop did its work; without `start` those of the machine."""

    def __init__(self, monotonic: Callable[[], float] = monotonic) -> None:
        self.pause = Pause(monotonic)
        self.beats = 0  # read by another thread: does the loop go on?
        self.given_up = False  # set by another thread
        self._monotonic = monotonic
        self._due: float | None = None
        self._stood = 0.0
        self._long: set[_Timeout] = set()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Beat as long as the loop runs."""
        self._beat(loop)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self.check()
        self._stood = self.stood
        self._due = self.unpaused + BEAT
        self.beats += 1
        loop.call_later(BEAT, self._beat, loop)  # first: what is cancelled may raise
        now = self.now
        for each in [each for each in self._long if each.end <= now]:
            each.expire()

    def check(self) -> None:
        """GivenUp where nothing may go on here."""
        if self.given_up:
            raise GivenUp

    @property
    def unpaused(self) -> float:
        """Seconds without those at a debugger; read at each step of each conversation."""
        pause = self.pause
        return self._monotonic() - (pause.seconds if pause.on else pause.before)

    @property
    def stood(self) -> float:
        """How long the loop has stood still so far, with the present delay."""
        return self._stood_at(self.unpaused)

    def _stood_at(self, unpaused: float) -> float:
        if self._due is None or unpaused <= self._due:
            return self._stood
        late = unpaused - self._due
        # A block began somewhere between two beats: in doubt it counts from the first.
        return self._stood + late + (BEAT if late > BEAT else 0.0)

    @property
    def now(self) -> float:
        """Seconds since some moment in which the loop went on; read ten times a call."""
        pause = self.pause
        unpaused = self._monotonic() - (pause.seconds if pause.on else pause.before)
        if self._due is None or unpaused <= self._due:
            return unpaused - self._stood
        return unpaused - self._stood_at(unpaused)

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[None]:
        """asyncio.timeout by this clock; a long one may end a beat late."""
        return _Timeout(self, seconds)

    def watch(self, timeout: _Timeout) -> bool:
        """Take over that it ends in time; False where no beat comes."""
        if self._due is None:
            return False
        self._long.add(timeout)
        return True

    def forget(self, timeout: _Timeout) -> None:
        """It is over."""
        self._long.discard(timeout)


class _Timeout:
    """asyncio.Timeout by another clock, and not one in the other: each call has several of them.

    Nearly all of them are long and end long before: a timer for each would cost more than the rest.
    """

    def __init__(self, clock: LoopClock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._expired = False
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a timeout needs a task that it can end")
        self._task = task
        self._cancelling = task.cancelling()
        self.end = self._clock.now + self._seconds
        if self._seconds < _LONG or not self._clock.watch(self):
            self._timer = task.get_loop().call_later(self._seconds, self._look)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._timer is None:
            self._clock.forget(self)
        else:
            self._timer.cancel()
        if self._expired and self._task.uncancel() <= self._cancelling:
            # Else somebody cancels it beside us, and that goes first.
            if kind is asyncio.CancelledError:
                raise TimeoutError from error

    def _look(self) -> None:
        if left := patient(self.end - self._clock.now):
            self._timer = self._task.get_loop().call_later(left, self._look)
        else:
            self.expire()

    def expire(self) -> None:
        """End what runs in it."""
        self._clock.forget(self)
        self._expired = True
        self._task.cancel()


def patient(left: float) -> float:
    """No fewer seconds than a beat, or none: while a clock stands nobody need look often."""
    return max(left, BEAT) if left > 0 else 0.0
