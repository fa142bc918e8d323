"""Limits in virtual time: no test waits, and each runs the same way every time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.models.limits import COOLDOWN, AdaptiveLimiter, MinuteWindow
from pytest_dialeval.models.retry import Patience
from pytest_dialeval.models.turnstile import Turnstile, estimate
from pytest_dialeval.records.model import ChatAnswer
from pytest_dialeval.records.transcript import Usage

from .server import call_to
from .virtual import virtually


class Clock:
    """A clock that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def use(limiter: AdaptiveLimiter, calls: int) -> None:
    for _ in range(calls):
        limiter.started()


def clean_round(limiter: AdaptiveLimiter, in_flight: int | None = None) -> None:
    """As many clean answers as the limit says, with so many calls in flight."""
    calls = limiter.limit if in_flight is None else in_flight
    use(limiter, calls)
    for _ in range(limiter.limit):
        limiter.succeeded()
    for _ in range(calls):
        limiter.ended()


def test_slow_start_doubles_for_each_clean_round() -> None:
    limiter = AdaptiveLimiter(clock=Clock(), start=20)
    limits = []
    for _ in range(4):
        clean_round(limiter)
        limits.append(limiter.limit)
    assert limits == [40, 80, 160, 320]


def test_a_limit_that_is_not_used_does_not_grow() -> None:
    limiter = AdaptiveLimiter(clock=Clock(), start=20)
    for _ in range(50):
        clean_round(limiter, in_flight=15)  # 75 %
    assert limiter.limit == 20
    clean_round(limiter, in_flight=16)  # 80 %
    assert limiter.limit == 40


def test_a_429_cuts_once_a_cooldown_and_ends_slow_start() -> None:
    clock = Clock()
    limiter = AdaptiveLimiter(clock=clock, start=100)
    use(limiter, 100)
    for _ in range(30):
        limiter.rejected()
    assert (limiter.limit, limiter.throttled) == (70, 30)
    clock.now += COOLDOWN - 0.1
    limiter.rejected()
    assert limiter.limit == 70
    clock.now += 0.2
    limiter.rejected()
    assert limiter.limit == 49  # 0.7 x 70
    for _ in range(100):
        limiter.ended()
    clock.now += COOLDOWN
    clean_round(limiter)
    assert limiter.limit == 51  # 49 // 20 = 2 more
    clean_round(limiter)
    assert limiter.limit == 53


def test_a_cut_goes_below_what_was_in_flight_and_never_below_one() -> None:
    clock = Clock()
    limiter = AdaptiveLimiter(clock=clock, start=1000)
    use(limiter, 10)
    limiter.rejected()
    assert limiter.limit == 7
    for _ in range(20):
        clock.now += COOLDOWN
        limiter.rejected()
    assert limiter.limit == 1


def test_retry_after_stretches_the_cooldown() -> None:
    clock = Clock()
    limiter = AdaptiveLimiter(clock=clock, start=100)
    use(limiter, 100)
    limiter.rejected(60)
    clock.now += 59
    limiter.rejected()
    assert (limiter.limit, limiter.held_until) == (70, 1060)


def test_server_errors_pause_growth_and_cut_nothing() -> None:
    clock = Clock()
    limiter = AdaptiveLimiter(clock=clock, start=20)
    limiter.failed()
    clean_round(limiter)
    assert limiter.limit == 20
    clock.now += COOLDOWN
    clean_round(limiter)
    assert limiter.limit == 40


def test_a_hard_cap_holds_and_the_lowest_counts() -> None:
    limiter = AdaptiveLimiter(clock=Clock(), start=20)
    limiter.cap_at(None)
    limiter.cap_at(30)
    limiter.cap_at(50)
    clean_round(limiter)
    clean_round(limiter)
    assert limiter.limit == 30
    limiter.cap_at(3)
    assert limiter.limit == 3


@given(st.lists(st.sampled_from(["start", "end", "good", "429", "500", "later"]), max_size=300))
def test_whatever_happens_the_limit_stays_within_its_bounds(events: list[str]) -> None:
    clock = Clock()
    limiter = AdaptiveLimiter(clock=clock, start=8, cap=64)
    in_flight = 0
    for event in events:
        before = limiter.limit
        match event:
            case "start" if in_flight < limiter.limit:
                limiter.started()
                in_flight += 1
            case "end" if in_flight:
                limiter.ended()
                in_flight -= 1
            case "good":
                limiter.succeeded()
                assert before <= limiter.limit <= 2 * before
            case "429":
                limiter.rejected()
                assert limiter.limit <= before
            case "500":
                limiter.failed()
                assert limiter.limit == before
            case "later":
                clock.now += 6
        assert 1 <= limiter.limit <= 64
        assert limiter.in_flight == in_flight


@given(
    st.integers(1, 30),
    st.lists(st.tuples(st.floats(0, 40), st.integers(1, 40)), min_size=1, max_size=60),
)
def test_no_minute_has_more_than_allowed(most: int, arrivals: list[tuple[float, int]]) -> None:
    clock = Clock()
    window = MinuteWindow(most, clock)
    let_in: list[tuple[float, int]] = []
    for pause, amount in arrivals:
        clock.now += pause
        while (wait := window.wait(amount)) > 0:
            assert wait <= 60.001
            clock.now += wait
        window.add(amount)
        let_in.append((clock.now, amount))
    for when, amount in let_in:
        minute = [each for at, each in let_in if when - 59.999 < at <= when]
        assert sum(minute) <= most or (amount > most and minute[-1] == amount)


def test_the_minute_counts_what_was_used_in_truth() -> None:
    clock = Clock()
    window = MinuteWindow(100, clock)
    entry = window.add(90)
    assert window.wait(20) == 60
    window.correct(entry, 30)
    assert window.wait(20) == 0
    window.correct(entry, 95)
    clock.now += 10
    assert window.wait(20) == 50
    clock.now += 50
    window.correct(entry, 1)  # its minute is over: nothing to correct
    assert window.wait(100) == 0


async def work(turnstile: Turnstile, seconds: float, trial: int = 0) -> float:
    """One call of so many seconds; when it was let in."""
    place = await turnstile.enter(call_to("", trial=trial))
    began = asyncio.get_running_loop().time()
    await asyncio.sleep(seconds)
    turnstile.leave(place)
    return began


def begins(calls: int, seconds: float = 1.0, **limits: int) -> list[float]:
    """When each of so many calls of one moment is let in."""

    async def story() -> list[float]:
        turnstile = Turnstile(asyncio.get_running_loop().time)
        turnstile.heed(call_to("", **limits).spec)
        return await asyncio.gather(*(work(turnstile, seconds) for _ in range(calls)))

    return virtually(story())


def test_calls_pass_in_order_as_many_as_the_cap_allows() -> None:
    assert begins(7, concurrency=3) == [0, 0, 0, 1, 1, 1, 2]


def test_requests_per_minute() -> None:
    assert begins(5, requests_per_minute=2) == [0, 0, 60, 60, 120]


def test_tokens_per_minute() -> None:
    one = estimate(call_to(""))
    assert one == pytest.approx(256 + 6 / 3)
    assert begins(5, tokens_per_minute=int(one * 2.5)) == [0, 0, 60, 60, 120]


def test_tokens_that_were_not_used_let_others_in() -> None:
    async def story() -> float:
        loop = asyncio.get_running_loop()
        turnstile = Turnstile(loop.time)
        turnstile.heed(call_to("", tokens_per_minute=300).spec)
        place = await turnstile.enter(call_to(""))
        waiting = asyncio.create_task(turnstile.enter(call_to("")))
        await asyncio.sleep(5)
        assert not waiting.done()
        usage = Usage(input_tokens=3, output_tokens=4)
        turnstile.leave(place, ChatAnswer("ok", usage=usage))
        await waiting
        return loop.time()

    assert virtually(story()) == 5


def test_a_hold_ends_by_itself() -> None:
    async def story() -> list[float]:
        turnstile = Turnstile(asyncio.get_running_loop().time)
        turnstile.limiter.started()
        turnstile.limiter.rejected(30)
        turnstile.limiter.ended()
        turnstile.limiter._limit = 2
        return await asyncio.gather(*(work(turnstile, 1) for _ in range(3)))

    assert virtually(story()) == [30, 30, 31]


def test_who_comes_again_goes_first() -> None:
    async def story() -> list[str]:
        order: list[str] = []
        turnstile = Turnstile(asyncio.get_running_loop().time)
        turnstile.heed(call_to("", concurrency=1).spec)

        async def enter(name: str, *, again: bool = False) -> None:
            place = await turnstile.enter(call_to(""), again=again)
            order.append(name)
            await asyncio.sleep(1)
            turnstile.leave(place)

        tasks = [asyncio.create_task(enter(name)) for name in ("a", "b", "c")]
        await asyncio.sleep(0.5)
        tasks.append(asyncio.create_task(enter("again", again=True)))
        await asyncio.gather(*tasks)
        return order

    assert virtually(story()) == ["a", "again", "b", "c"]


@given(
    st.lists(st.tuples(st.floats(0, 3), st.floats(0.1, 3), st.booleans()), max_size=30),
    st.integers(1, 4),
)
def test_cancelled_calls_leave_nothing_behind(
    calls: list[tuple[float, float, bool]], cap: int
) -> None:
    async def story() -> None:
        turnstile = Turnstile(asyncio.get_running_loop().time)
        turnstile.heed(call_to("", concurrency=cap, requests_per_minute=20).spec)

        async def one(patience: float, seconds: float, again: bool) -> None:
            place = await asyncio.wait_for(
                turnstile.enter(call_to(""), again=again), patience + 0.1
            )
            assert turnstile.limiter.in_flight <= cap
            await asyncio.sleep(seconds)
            turnstile.leave(place)

        done = await asyncio.gather(*(one(*each) for each in calls), return_exceptions=True)
        assert all(each is None or isinstance(each, TimeoutError) for each in done)
        assert (turnstile.limiter.in_flight, turnstile.waiting) == (0, 0)
        assert await work(turnstile, 1) >= 0

    virtually(story())


def run_against(capacity: Callable[[float], int], calls: int) -> tuple[float, int, Counter[int]]:
    """A crowd against an endpoint that takes `capacity(now)` calls at once, 1 s each.

    Seconds in all, the limit at the end, and how many calls took how many tries.
    """

    async def story() -> tuple[float, int, Counter[int]]:
        loop = asyncio.get_running_loop()
        turnstile = Turnstile(loop.time)
        limiter, patience, running = turnstile.limiter, Patience(), 0

        async def one(trial: int) -> int:
            nonlocal running
            call, tries = call_to("", trial=trial), 1
            place = await turnstile.enter(call)
            while running >= capacity(loop.time()):
                limiter.rejected()
                await asyncio.sleep(patience.wait(call, tries))
                place = await turnstile.renew(call, place)
                tries += 1
            running += 1
            await asyncio.sleep(1)
            running -= 1
            if tries == 1:
                limiter.succeeded()
            turnstile.leave(place)
            return tries

        tries = await asyncio.gather(*(one(trial) for trial in range(calls)))
        return loop.time(), limiter.limit, Counter(tries)

    return virtually(story())


def test_the_limit_settles_near_what_an_endpoint_takes_and_nobody_is_lost() -> None:
    seconds, limit, tries = run_against(lambda now: 50, 5000)
    assert seconds < 1.5 * 100  # 5000 calls / 50 at once
    assert 30 <= limit <= 70
    assert max(tries) <= 6
    assert tries[1] > 4700


def test_an_endpoint_that_suddenly_takes_less() -> None:
    _, limit, tries = run_against(lambda now: 200 if now < 20 else 10, 3000)
    assert max(tries) <= 6
    assert limit < 40
