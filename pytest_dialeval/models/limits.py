"""How many calls an endpoint and key may have in flight: found out by watching it. No waiting here.

Slow start doubles the limit for each clean round until the first 429; afterwards it grows by a
twentieth a round. A 429 cuts it, once per cooldown. Server errors pause growth. A limit that is
not used does not grow.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

START = 20
COOLDOWN = 15.0  # seconds
CUT = 0.7
USED = 0.8  # of the limit, before it counts as used
_ROUND = 4  # clean answers at least
_STEP = 20
_MINUTE = 60.0
_TICK = 1e-6  # sums of floats never meet a minute's end exactly

Clock = Callable[[], float]


class AdaptiveLimiter:
    """The number of calls that may be in flight now; `clock` is any that never goes back."""

    def __init__(self, *, clock: Clock, start: int = START, cap: int | None = None) -> None:
        self._clock = clock
        self._limit = start
        self._cap = cap
        self._slow_start = True
        self._clean = 0
        self._peak = 0  # calls in flight, at most, in this round
        self._no_cut_until = -math.inf
        self._no_growth_until = -math.inf
        self.held_until = -math.inf  # Retry-After
        self.in_flight = 0
        self.throttled = 0  # 429s seen

    @property
    def limit(self) -> int:
        """Calls that may be in flight."""
        return self._limit if self._cap is None else min(self._limit, self._cap)

    def cap_at(self, cap: int | None) -> None:
        """A hard bound; of several the lowest holds."""
        if cap is not None:
            self._cap = cap if self._cap is None else min(self._cap, cap)

    def started(self) -> None:
        """A call was sent."""
        self.in_flight += 1
        self._peak = max(self._peak, self.in_flight)

    def ended(self) -> None:
        """A call is over, whatever it gave."""
        self.in_flight -= 1

    def succeeded(self) -> None:
        """An answer at the first try; retried ones say nothing about the endpoint's mood."""
        self._clean += 1
        if self._clean < max(_ROUND, self.limit):
            return
        used = self._peak >= USED * self.limit
        if used and self._clock() >= self._no_growth_until:
            step = self._limit if self._slow_start else max(1, self._limit // _STEP)
            self._limit = self.limit + step
        self._new_round()

    def rejected(self, retry_after: float | None = None) -> None:
        """A 429: fewer from now on, and none before the endpoint wants them."""
        self.throttled += 1
        if retry_after is not None:
            self.held_until = max(self.held_until, self._clock() + retry_after)
        self.cut(max(COOLDOWN, retry_after or 0.0))

    def cut(self, cooldown: float = COOLDOWN) -> None:
        """Fewer calls at once; a burst of reasons within the cooldown is one reason."""
        now = self._clock()
        self._slow_start = False
        self._no_growth_until = max(self._no_growth_until, now + cooldown)
        if now >= self._no_cut_until:
            self._no_cut_until = now + cooldown
            self._limit = max(1, math.floor(min(self.limit, self.in_flight) * CUT))
            self._new_round()

    def failed(self) -> None:
        """A server error or no answer at all: no reason to cut, none to grow either."""
        self._no_growth_until = max(self._no_growth_until, self._clock() + COOLDOWN)
        self._new_round()

    def _new_round(self) -> None:
        self._clean = 0
        self._peak = self.in_flight


class MinuteWindow:
    """At most `most` in any 60 seconds, exactly: requests, or tokens."""

    def __init__(self, most: int, clock: Clock) -> None:
        self.most = most
        self._clock = clock
        self._entries: deque[list[float]] = deque()
        self._sum = 0.0

    def wait(self, amount: float) -> float:
        """Seconds until so much more fits; what is more than all fits into an empty window."""
        now = self._clock()
        while self._entries and self._entries[0][0] <= now - _MINUTE + _TICK:
            self._sum -= self._entries.popleft()[1]
        excess = self._sum + min(amount, self.most) - self.most
        if excess <= 0:
            return 0.0
        for when, spent in self._entries:
            excess -= spent
            if excess <= 0:
                return when + _MINUTE - now
        return 0.0

    def add(self, amount: float) -> list[float]:
        """Count it now; the entry is for `correct`."""
        entry = [self._clock(), amount]
        self._entries.append(entry)
        self._sum += amount
        return entry

    def correct(self, entry: list[float], amount: float) -> None:
        """What it was in truth, once that is known."""
        if entry[0] > self._clock() - _MINUTE:
            self._sum += amount - entry[1]
            entry[1] = amount
