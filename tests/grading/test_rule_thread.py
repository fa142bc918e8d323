"""Rules beside the loop: one after another, bounded, and no stranger is kept waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from pytest_dialeval.conversation.clock import LoopClock
from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.grading.rule_thread import RuleThread

PATIENCE = 10.0


@pytest.fixture
def rules() -> Iterator[RuleThread]:
    made = RuleThread(LoopClock())
    yield made
    assert not made.close(PATIENCE)


def test_a_call_runs_elsewhere_and_its_value_comes_back(rules: RuleThread) -> None:
    async def scene() -> list[str]:
        return [await rules(lambda: threading.current_thread().name, PATIENCE) for _ in range(2)]

    assert asyncio.run(scene()) == ["dialeval-rules", "dialeval-rules"]


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt()])
def test_what_it_raises_is_raised_here(rules: RuleThread, error: BaseException) -> None:
    def fail() -> None:
        raise error

    async def scene() -> str:
        try:
            await rules(fail, PATIENCE)
        except BaseException as raised:
            return type(raised).__name__
        return ""

    assert asyncio.run(scene()) == type(error).__name__
    assert asyncio.run(rules(lambda: 7, PATIENCE)) == 7


def test_one_that_is_stuck_is_left_and_the_next_goes_on(rules: RuleThread) -> None:
    stuck = threading.Event()

    async def scene() -> list[object]:
        first = asyncio.create_task(rules(lambda: stuck.wait(PATIENCE), 0.1))
        second = asyncio.create_task(rules(lambda: "second", 0.1))
        return await asyncio.gather(first, second, return_exceptions=True)

    first, second = asyncio.run(scene())
    assert isinstance(first, TimeoutError)
    assert second == "second"
    stuck.set()


def test_waiting_for_others_does_not_count(rules: RuleThread) -> None:
    async def scene() -> list[str]:
        gone = threading.Event()
        calls = [rules(lambda: str(gone.wait(0.06)), 0.1) for _ in range(4)]
        return await asyncio.gather(*calls)

    assert asyncio.run(scene()) == ["False"] * 4


def test_a_call_that_nobody_waits_for_is_left_out(rules: RuleThread) -> None:
    called = []

    async def scene() -> None:
        gate = threading.Event()
        first = asyncio.create_task(rules(lambda: gate.wait(PATIENCE), PATIENCE))
        second = asyncio.create_task(rules(lambda: called.append(2), PATIENCE))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        gate.set()
        assert await first

    asyncio.run(scene())
    assert not called


def test_a_pause_is_not_its_fault() -> None:
    clock = LoopClock()
    rules = RuleThread(clock)

    async def scene() -> str:
        at_debugger = threading.Event()

        def call() -> str:
            clock.pause.begin()
            at_debugger.wait(0.3)
            clock.pause.leave()
            return "decided"

        return await rules(call, 0.05)

    assert asyncio.run(scene()) == "decided"
    assert not rules.close(PATIENCE)


def test_closing_says_what_still_runs() -> None:
    rules, gate = RuleThread(LoopClock()), threading.Event()
    assert not rules.close(0)

    async def scene() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await rules(lambda: gate.wait(PATIENCE), PATIENCE)

    asyncio.run(scene())
    assert rules.close(0.01)
    gate.set()
    assert not rules.close(PATIENCE)


def test_without_a_thread_it_says_so_and_the_next_call_may_have_one(
    rules: RuleThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def main() -> None:
        with monkeypatch.context() as starved:
            starved.setattr(threading.Thread, "start", refuse)
            with pytest.raises(HarnessFault, match="can't start new thread"):
                await rules(lambda: 1, 5)
            assert not rules.close(0)
        assert await rules(lambda: 2, 5) == 2

    asyncio.run(main())
