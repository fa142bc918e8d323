"""Where calls wait for their turn, first come first served, until the limits let them pass."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from pytest_dialeval.models.limits import AdaptiveLimiter, Clock, MinuteWindow
from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelSpec

_BYTES = 3  # a token, of the messages as JSON
_REPLY = 256  # tokens, where no bound is given


@dataclass(slots=True)
class Pass:
    """One call that may run, and what it holds of the minute's tokens."""

    tokens: list[float] | None = None
    held: bool = True


_Place = tuple[asyncio.Future[Pass], float]


class Turnstile:
    """The limits of one endpoint and key, and the queue before them."""

    def __init__(self, clock: Clock) -> None:
        self.limiter = AdaptiveLimiter(clock=clock)
        self._clock = clock
        self._requests: MinuteWindow | None = None
        self._tokens: MinuteWindow | None = None
        self._again: deque[_Place] = deque()
        self._queue: deque[_Place] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def heed(self, spec: ModelSpec) -> None:
        """The limits that a spec gives; of several the lowest holds."""
        self.limiter.cap_at(spec.concurrency)
        self._requests = _lower(self._requests, spec.requests_per_minute, self._clock)
        self._tokens = _lower(self._tokens, spec.tokens_per_minute, self._clock)

    @property
    def waiting(self) -> int:
        """Calls in the queue."""
        return len(self._again) + len(self._queue)

    def at_once(self, call: ChatCall) -> Pass | None:
        """Let it in if nobody waits and the limits allow it."""
        tokens = estimate(call) if self._tokens else 0.0
        if not self.waiting and self._wait(tokens) == 0.0:
            return self._let_in(tokens)
        return None

    async def enter(self, call: ChatCall, *, again: bool = False) -> Pass:
        """Wait for one's turn; calls that come again have waited before and go first."""
        if (passed := self.at_once(call)) is not None:
            return passed
        tokens = estimate(call) if self._tokens else 0.0
        turn: asyncio.Future[Pass] = asyncio.get_running_loop().create_future()
        place = (turn, tokens)
        queue = self._again if again else self._queue
        queue.append(place)
        self._advance()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(turn.result())
            elif place in queue:
                queue.remove(place)
                self._advance()
            raise

    async def renew(self, call: ChatCall, place: Pass) -> Pass:
        """Another try with the same place, unless the limit was cut below it meanwhile."""
        place.held = False
        self.limiter.ended()
        return await self.enter(call, again=True)

    def leave(self, place: Pass, answer: ChatAnswer | None = None) -> None:
        """Give the place back; without an answer's usage the estimate stands."""
        if not place.held:
            return
        place.held = False
        self.limiter.ended()
        spent = tokens_of(answer) if answer is not None else None
        if spent is not None and place.tokens is not None and self._tokens is not None:
            self._tokens.correct(place.tokens, spent)
        self._advance()

    def _let_in(self, tokens: float) -> Pass:
        self.limiter.started()
        if self._requests is not None:
            self._requests.add(1)
        return Pass(self._tokens.add(tokens) if self._tokens is not None else None)

    def _wait(self, tokens: float) -> float | None:
        """Seconds until the next may pass; None where that depends on calls in flight."""
        limiter = self.limiter
        if limiter.in_flight >= limiter.limit:
            return None
        waits = [max(0.0, limiter.held_until - self._clock())]
        waits += [self._requests.wait(1)] if self._requests else []
        waits += [self._tokens.wait(tokens)] if self._tokens else []
        return max(waits)

    def _advance(self) -> None:
        """Let in who may pass; come back when time alone will let the next one pass."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while queue := self._again or self._queue:
            turn, tokens = queue[0]
            if turn.done():  # cancelled, and not yet aware of it
                queue.popleft()
                continue
            wait = self._wait(tokens)
            if wait is None:
                return
            if wait > 0:
                self._timer = turn.get_loop().call_later(wait, self._advance)
                return
            queue.popleft()
            turn.set_result(self._let_in(tokens))


def _lower(window: MinuteWindow | None, most: int | None, clock: Clock) -> MinuteWindow | None:
    if most is None:
        return window
    if window is None:
        return MinuteWindow(most, clock)
    window.most = min(window.most, most)
    return window


def estimate(call: ChatCall) -> float:
    """Tokens that a call will likely use: what it says, and the longest reply that is likely."""
    texts = (str(each.get("content") or "") for each in call.messages)
    said = sum(len(each.encode(errors="replace")) for each in texts)
    return said / _BYTES + (call.spec.max_tokens or _REPLY)


def tokens_of(answer: ChatAnswer) -> int | None:
    """Tokens that it used, where the endpoint says so."""
    usage = answer.usage
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return usage.input_tokens + usage.output_tokens
