"""Who pays for which time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pytest_dialeval.conversation.agent import Brief, Reply
from pytest_dialeval.conversation.agent_task import STANDS, AgentTask
from pytest_dialeval.conversation.clock import BEAT, GivenUp, LoopClock
from pytest_dialeval.conversation.deadline import Deadline, Deadlines
from pytest_dialeval.conversation.steps import Charge, Steps
from pytest_dialeval.errors import AgentFault, HarnessFault
from pytest_dialeval.records.suite import Limits
from tests.conversation.stage import Stub
from tests.conversation.test_clock import Time, beat, clock, time

__all__ = ["clock", "time"]


def test_it_is_the_coroutine_in_all_but_its_time(clock: LoopClock) -> None:
    async def scene() -> list[str]:
        notes = []

        async def work() -> str:
            notes.append("begins")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                notes.append("cancelled")
            await asyncio.sleep(0)
            return "value"

        task = asyncio.create_task(Steps(work(), clock))
        await asyncio.sleep(0)
        task.cancel()
        notes.append(await task)
        assert "work" in repr(task)

        async def fail() -> None:
            raise KeyError("x")

        with pytest.raises(KeyError):
            await asyncio.create_task(Steps(fail(), clock))
        return notes

    assert asyncio.run(scene()) == ["begins", "cancelled", "value"]


def test_it_may_be_awaited_and_closed(clock: LoopClock) -> None:
    async def value() -> int:
        return 7

    async def scene() -> int:
        return await Steps(value(), clock)

    assert asyncio.run(scene()) == 7
    Steps(value(), clock).close()  # "was never awaited" would be an error


def test_only_steps_that_delay_a_beat_are_blocking(clock: LoopClock, time: Time) -> None:
    async def work() -> None:
        time.passes(BEAT / 2)
        await asyncio.sleep(0)
        time.passes(3)
        await asyncio.sleep(0)
        time.passes(0.5)

    async def scene() -> float:
        steps = Steps(work(), clock)
        await asyncio.create_task(steps)
        return steps.blocked

    assert asyncio.run(scene()) == 3.5


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_no_step_is_taken_on_a_loop_that_was_given_up(clock: LoopClock, when: str) -> None:
    notes = []

    async def work() -> None:
        notes.append("one")
        clock.given_up = True
        await asyncio.sleep(0)
        notes.append("two")

    clock.given_up = when == "before"
    steps = Steps(work(), clock)
    with pytest.raises(GivenUp):
        steps.send(None)
    steps.close()
    assert notes == ([] if when == "before" else ["one"])


def test_an_agent_pays_for_its_own_blocking_and_for_no_others(clock: LoopClock, time: Time) -> None:
    steps = Steps(asyncio.sleep(0), clock)
    beat(clock)
    charge = Charge(clock, steps)
    time.passes(4)
    assert charge.seconds == pytest.approx(0)
    beat(clock)
    steps.blocked += 4
    assert (charge.seconds, charge.blocked, charge.stood) == pytest.approx((4, 4, 0))
    time.passes(10)
    assert charge.seconds == pytest.approx(4)
    assert charge.stood == pytest.approx(10)
    steps.close()


def test_the_conversations_deadline_is_charged_so(clock: LoopClock, time: Time) -> None:
    beat(clock)
    deadlines = Deadlines(Limits(turn_timeout=60, timeout=100), Charge(clock))
    time.passes(1000)
    assert deadlines.turn().seconds == 60
    for _ in range(1000):
        time.passes(BEAT)
        beat(clock)
    assert deadlines.turn().seconds == pytest.approx(50, abs=0.5)
    clock.pause.begin()
    time.passes(1000)
    clock.pause.leave()
    assert deadlines.turn().seconds == pytest.approx(50, abs=0.5)


# ---- an agent that is asked


async def asked(reply: Callable[[], Awaitable[Any]], deadline: Deadline, clock: LoopClock) -> Reply:
    clock.start(asyncio.get_running_loop())
    task = AgentTask(lambda: Stub(reply), clock)
    try:
        await task.start(Brief("task"), Deadline(60, "late"))
        return await task.reply((), deadline)
    finally:
        await task.end()


def test_an_agent_that_blocks_past_its_deadline_is_late_though_it_answers(
    clock: LoopClock, time: Time
) -> None:
    async def reply() -> Reply:
        time.passes(2)
        return Reply("at last")

    with pytest.raises(AgentFault, match=r"^too late; it blocked the event loop for 2 s: await"):
        asyncio.run(asked(reply, Deadline(1, "too late"), clock))
    assert asyncio.run(asked(reply, Deadline(3, "too late"), clock)) == Reply("at last")


def test_an_agent_that_waits_while_others_block_is_in_time(clock: LoopClock, time: Time) -> None:
    async def reply() -> Reply:
        for _ in range(4):
            asyncio.get_running_loop().call_soon(time.passes, 10)
            await asyncio.sleep(0.03)  # in all longer than the deadline below
        return Reply("in time")

    # The test's clock goes on only where the loop is blocked.
    assert asyncio.run(asked(reply, Deadline(0.06, "too late"), clock)) == Reply("in time")


def test_a_loop_that_is_blocked_again_and_again_measures_nothing(
    clock: LoopClock, time: Time
) -> None:
    async def reply() -> Reply:
        while True:
            asyncio.get_running_loop().call_soon(time.passes, 1)
            await asyncio.sleep(BEAT / 10)

    with pytest.raises(HarnessFault, match="something in this run blocks it again and again"):
        asyncio.run(asked(reply, Deadline(0.01, "too late"), clock))
    assert STANDS * BEAT < 2  # seconds that this test takes
