"""Deadlines by a clock that the test moves."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from weakref import ReferenceType, ref

import pytest

from pytest_dialeval.conversation.clock import BEAT, GivenUp, LoopClock, patient


class Time:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds

    def passes(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def clock(time: Time) -> LoopClock:
    return LoopClock(time)


def beat(clock: LoopClock) -> None:
    """The heart beats now."""
    loop = asyncio.new_event_loop()
    try:
        clock.start(loop)
    finally:
        loop.close()


def test_without_a_heart_it_is_the_machines(clock: LoopClock, time: Time) -> None:
    began = clock.now
    time.passes(1000)
    assert clock.now - began == 1000
    assert clock.stood == 0


def test_it_goes_while_the_heart_beats(clock: LoopClock, time: Time) -> None:
    beat(clock)
    began = clock.now
    for _ in range(10):
        time.passes(BEAT)
        beat(clock)
    assert clock.now - began == pytest.approx(10 * BEAT)
    assert clock.stood == pytest.approx(0)
    assert clock.beats == 11


def test_it_stands_from_the_last_beat_before_the_block(clock: LoopClock, time: Time) -> None:
    beat(clock)
    began = clock.now
    time.passes(5)
    assert clock.now == pytest.approx(began)  # also before the late beat is heard
    beat(clock)
    assert clock.now == pytest.approx(began)
    assert clock.stood == pytest.approx(5)
    time.passes(BEAT / 2)
    assert clock.now - began == pytest.approx(BEAT / 2)


def test_a_beat_a_little_late_counts_as_much(clock: LoopClock, time: Time) -> None:
    beat(clock)
    time.passes(1.5 * BEAT)
    beat(clock)
    assert clock.stood == pytest.approx(BEAT / 2)


def test_it_stands_while_somebody_is_at_a_debugger(clock: LoopClock, time: Time) -> None:
    beat(clock)
    began = clock.now
    clock.pause.begin()
    clock.pause.begin()
    time.passes(60)
    assert clock.now == pytest.approx(began)
    clock.pause.leave()
    clock.pause.leave()
    assert clock.now == pytest.approx(began)
    assert clock.stood == pytest.approx(0)  # a debugger in the agent itself blocks the loop, too
    time.passes(BEAT)
    assert clock.now - began == pytest.approx(BEAT)
    assert clock.pause.seconds == 60


def test_a_heart_that_was_given_up_leaves_the_loop(clock: LoopClock) -> None:
    clock.given_up = True
    with pytest.raises(GivenUp):
        beat(clock)


@pytest.mark.parametrize(("left", "expected"), [(-1, 0), (0, 0), (1e-6, BEAT), (3, 3)])
def test_nobody_looks_more_often_than_it_beats(left: float, expected: float) -> None:
    assert patient(left) == expected


# ---- waiting; the loop's own timers are real, and short


def test_a_timeout_goes_by_it(clock: LoopClock, time: Time) -> None:
    async def scene() -> None:
        asyncio.get_running_loop().call_later(3 * BEAT, time.passes, 1)
        async with clock.timeout(0.01):
            await asyncio.Event().wait()

    began = time.seconds
    with pytest.raises(TimeoutError):
        asyncio.run(scene())
    assert time.seconds - began == 1


LONG = 60.0  # seconds: such a timeout is looked at beat by beat


async def beats(clock: LoopClock, time: Time, *, seconds: float, at_least: int = 3) -> None:
    """The heart beats while time passes, so that none of it counts as standing still."""
    for _ in range(max(at_least, round(seconds / BEAT))):
        time.passes(BEAT)
        clock.start(Beatless())


class Beatless(asyncio.SelectorEventLoop):
    """Takes no beat after the one that is asked for."""

    asked = False

    def call_later(self, delay: float, *_: object, **__: object) -> asyncio.TimerHandle:  # type: ignore[override]
        self.asked = True
        self.close()
        return asyncio.TimerHandle(0, print, (), self)


def test_a_long_timeout_ends_within_a_beat(clock: LoopClock, time: Time) -> None:
    async def scene() -> float:
        await beats(clock, time, seconds=0)
        began = clock.now
        waiting = asyncio.create_task(in_time(clock, LONG))
        await asyncio.sleep(0)
        while not waiting.done():
            await beats(clock, time, seconds=0, at_least=1)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert isinstance(waiting.exception(), TimeoutError)
        return clock.now - began

    took = asyncio.run(scene())
    assert LONG <= took <= LONG + 3 * BEAT


async def in_time(clock: LoopClock, seconds: float) -> None:
    async with clock.timeout(seconds):
        await asyncio.Event().wait()


def test_of_long_timeouts_each_ends_what_is_its_own(clock: LoopClock, time: Time) -> None:
    async def scene() -> list[int]:
        await beats(clock, time, seconds=0)
        tasks = [asyncio.create_task(in_time(clock, each)) for each in (LONG, LONG / 2, 2 * LONG)]
        await asyncio.sleep(0)
        ended: list[int] = []
        while len(ended) < 3:
            await beats(clock, time, seconds=0, at_least=1)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            ended += [n for n, each in enumerate(tasks) if each.done() and n not in ended]
        return ended

    assert asyncio.run(scene()) == [1, 0, 2]


def test_an_outer_timeout_that_is_over_first_is_the_one_that_is_told(
    clock: LoopClock, time: Time
) -> None:
    async def scene() -> str:
        try:
            async with clock.timeout(LONG / 2):
                try:
                    async with clock.timeout(LONG):
                        await asyncio.Event().wait()
                except TimeoutError:
                    return "inner"
        except TimeoutError:
            return "outer"
        return "neither"

    async def watched() -> str:
        await beats(clock, time, seconds=0)
        waiting = asyncio.create_task(scene())
        await asyncio.sleep(0)
        while not waiting.done():
            await beats(clock, time, seconds=0, at_least=1)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return waiting.result()

    assert asyncio.run(watched()) == "outer"


def test_who_cancels_beside_a_long_timeout_goes_first(clock: LoopClock, time: Time) -> None:
    async def scene() -> bool:
        await beats(clock, time, seconds=0)
        waiting = asyncio.create_task(in_time(clock, LONG))
        await asyncio.sleep(0)
        await beats(clock, time, seconds=LONG + 1)
        waiting.cancel()
        await asyncio.wait([waiting])
        return waiting.cancelled()

    assert asyncio.run(scene())


def test_a_long_timeout_that_is_over_is_kept_nowhere(clock: LoopClock, time: Time) -> None:
    async def scene() -> list[ReferenceType[object]]:
        await beats(clock, time, seconds=0)
        known = []
        for cancelled in (False, True):
            timeout = clock.timeout(LONG)
            known.append(ref(timeout))
            with suppress(asyncio.CancelledError):
                async with timeout:
                    if cancelled:
                        raise asyncio.CancelledError
        del timeout
        gc.collect()
        return known

    assert [each() for each in asyncio.run(scene())] == [None, None]


def test_what_is_done_in_time_meets_no_timeout(clock: LoopClock) -> None:
    async def scene() -> str:
        async with clock.timeout(60):
            await asyncio.sleep(0)
        return "done"

    assert asyncio.run(scene()) == "done"


def test_a_pause_is_waited_for(clock: LoopClock) -> None:
    async def scene() -> list[str]:
        notes = []
        await clock.pause.over()
        clock.pause.begin()

        async def wait() -> None:
            await clock.pause.over()
            notes.append("went on")

        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        notes.append("paused")
        clock.pause.end()
        await waiting
        return notes

    assert asyncio.run(scene()) == ["paused", "went on"]


class Stubborn(asyncio.Future[None]):
    """A thing of a user's that will not be cancelled in peace."""

    def cancel(self, msg: object = None) -> bool:
        raise ZeroDivisionError("by hand")


def test_what_raises_as_it_is_cancelled_stops_neither_heart_nor_others(
    clock: LoopClock, time: Time
) -> None:
    async def scene() -> type[BaseException]:
        await beats(clock, time, seconds=0)
        future = Stubborn()

        async def stubborn() -> None:
            async with clock.timeout(LONG):
                await future

        stuck = asyncio.create_task(stubborn())
        waiting = asyncio.create_task(in_time(clock, LONG))
        await asyncio.sleep(0)
        while not waiting.done():
            time.passes(BEAT)
            heart = Beatless()
            with suppress(ZeroDivisionError):
                clock.start(heart)
            assert heart.asked
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        future.set_result(None)
        await stuck
        return type(waiting.exception())

    assert asyncio.run(scene()) is TimeoutError
