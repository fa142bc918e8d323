"""The end: bounded, and nobody is left waiting."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.pool import JOIN, MARGIN, STOPPED, Pool, Work
from pytest_dialeval.records.run import Graded
from tests.pool.works import (
    PATIENCE,
    Gate,
    Notes,
    Trial,
    a_pool,
    graded,
    never_finished,
    never_graded,
    on_a_thread,
)

SLACK = 0.4  # seconds that a busy machine may add


def pool_threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith("dialeval-")]


def submitted(pool: Pool, *trials: Trial) -> None:
    for each in trials:
        pool.submit(each.work)


def test_closing_stops_what_runs_and_what_waits(notes: Notes) -> None:
    with a_pool(1) as pool:
        submitted(pool, Trial("1", notes, held=False), Trial("2", notes, held=False))
        notes.wait("hold 1")
        with (
            on_a_thread(lambda: pool.graded("1", "r")) as first,
            on_a_thread(lambda: pool.graded("2", "r")) as second,
        ):
            began = time.monotonic()
            assert pool.close() == ()
            assert time.monotonic() - began < JOIN
            for name, result in (("1", first), ("2", second)):
                found = result()
                assert isinstance(found, HarnessFault)
                assert str(found) == f"{name}: {STOPPED}"
    assert [each for each in notes.lines if each.startswith(("stopped", "held"))] == ["stopped 1"]


def test_closing_twice_and_an_idle_pool(pool: Pool, notes: Notes) -> None:
    assert pool.close() == ()
    assert pool.close() == ()
    with a_pool() as other:
        submitted(other, Trial("t", notes))
        other.graded("t", "r")
        assert other.close() == ()
        assert other.close() == ()


def test_no_thread_remains(notes: Notes) -> None:
    with a_pool() as pool:
        submitted(pool, Trial("t", notes), Trial("u", notes, held=False))
        pool.graded("t", "r")
        assert pool_threads()
        assert all(each.daemon for each in pool_threads())
    assert not pool_threads()


def test_after_the_end_what_is_known_is_known_and_the_rest_is_refused(notes: Notes) -> None:
    with a_pool() as pool:
        submitted(pool, Trial("t", notes))
        pool.graded("t", "r")
        pool.close()
        assert pool.graded("t", "r") == graded("t", "r")
        submitted(pool, Trial("late", notes))
        assert not pool.knows("late")
        with pytest.raises(HarnessFault, match=f"late: {STOPPED}"):
            pool.graded("late", "r")
        pool.pause()
        pool.resume()
    assert "hold late" not in notes.lines


def test_a_trial_may_clean_up(notes: Notes) -> None:
    async def hold() -> None:
        notes.add("hold")
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            await pool.off_loop(lambda: notes.add("trace closed"))

    with a_pool() as pool:
        pool.submit(Work("t", ("r",), hold, never_graded, never_finished))
        notes.wait("hold")
        assert pool.close() == ()
    assert notes.lines == ["hold", "trace closed"]


def stubborn(name: str, notes: Notes, end: Gate) -> Work:
    """Swallows every cancellation until the test lets it end."""

    async def hold() -> str:
        notes.add(f"hold {name}")
        while True:
            try:
                await end.passed()
                return name
            except asyncio.CancelledError:
                notes.add(f"swallowed {name}")

    async def grade(held: Any, rubric: str) -> Graded:
        notes.add(f"grade {name}")
        return graded(name, rubric)

    return Work(name, ("r",), hold, grade, lambda held, found: None)


def test_what_will_not_stop_is_named_in_bounded_time(notes: Notes) -> None:
    end = Gate()
    with a_pool() as pool:
        pool.submit(stubborn("b", notes, end))
        pool.submit(stubborn("a", notes, end))
        submitted(pool, Trial("c", notes, held=False))
        notes.wait("hold a", "hold b", "hold c")
        with on_a_thread(lambda: pool.graded("a", "r")) as result:
            began = time.monotonic()
            assert pool.close() == ("a", "b")
            assert time.monotonic() - began < JOIN + MARGIN + SLACK
            assert isinstance(result(), HarnessFault)
        began = time.monotonic()
        assert pool.close() == ("a", "b")  # not waited for once more
        assert time.monotonic() - began < MARGIN + SLACK
        (thread,) = [each for each in pool_threads() if each.name == "dialeval-pool"]
        end.open()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert pool.close() == ()
    assert "stopped c" in notes.lines
    assert "grade a" not in notes.lines  # no call follows the end
    with pytest.raises(HarnessFault, match=STOPPED):
        pool.graded("b", "r")


def test_tasks_that_an_agent_left_behind_are_stopped_last(notes: Notes) -> None:
    async def left() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            notes.add("left stopped")

    tasks = []

    async def hold() -> None:
        tasks.append(asyncio.create_task(left(), name="left"))
        await asyncio.sleep(0)
        notes.add("hold")
        try:
            await asyncio.Event().wait()
        finally:
            notes.add("hold stopped")

    with a_pool() as pool:
        pool.submit(Work("t", ("r",), hold, never_graded, never_finished))
        notes.wait("hold")
        assert pool.close() == ()
    assert notes.lines == ["hold", "hold stopped", "left stopped"]
    tasks.clear()
    gc.collect()  # "Task was destroyed but it is pending" would be logged


def test_a_task_left_behind_that_will_not_stop_is_named(notes: Notes) -> None:
    end = Gate()

    async def left() -> None:
        while True:
            try:
                await end.passed()
                return
            except asyncio.CancelledError:
                notes.add("swallowed")

    async def hold() -> str:
        asyncio.create_task(left(), name="agent of conversation t")  # noqa: RUF006
        await asyncio.sleep(0)
        return "t"

    async def grade(held: Any, rubric: str) -> Graded:
        return graded("t", rubric)

    with a_pool() as pool:
        pool.submit(Work("t", ("r",), hold, grade, lambda held, found: None))
        pool.graded("t", "r")
        assert pool.close() == ("agent of conversation t",)
        end.open()
        for each in pool_threads():
            each.join(PATIENCE)


def test_grading_is_stopped_too(notes: Notes) -> None:
    trial = Trial("t", notes, ["a", "b"])
    trial.graded = Gate()
    with a_pool() as pool:
        submitted(pool, trial)
        notes.wait("grade t a", "grade t b")
        with on_a_thread(lambda: pool.graded("t", "b")) as result:
            assert pool.close() == ()
            assert isinstance(result(), HarnessFault)
    assert not [each for each in notes.lines if each.startswith("finish")]


def test_closing_while_everything_begins(notes: Notes) -> None:
    # some are cancelled before their first step, some before they are queued
    for count in range(1, 30):
        with a_pool(8) as pool:
            submitted(pool, *(Trial(str(number), notes, held=False) for number in range(count)))
            assert pool.close() == ()
            for number in range(count):
                with pytest.raises(HarnessFault):
                    pool.graded(str(number), "r")
    assert not pool_threads()


# ---- off the loop


def test_a_blocking_call_runs_elsewhere_and_is_awaited(pool: Pool) -> None:
    names: list[str] = []

    async def both() -> str:
        await pool.off_loop(lambda: names.append(threading.current_thread().name))
        return threading.current_thread().name

    assert pool.call(both()) == "dialeval-pool"
    assert names == ["dialeval-disk"]


@pytest.mark.parametrize("error", [OSError(28, "No space left"), ValueError("x")])
def test_its_errors_are_raised_where_it_is_awaited(pool: Pool, error: Exception) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        pool.call(_awaited(pool, fail))
    assert pool.call(_awaited(pool, lambda: None)) is None


async def _awaited(pool: Pool, call: Any) -> None:
    await pool.off_loop(call)


def test_an_exit_there_ends_nothing(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(HarnessFault, match="SystemExit"):
        pool.call(_awaited(pool, leave))
    assert pool.call(_awaited(pool, lambda: None)) is None


def test_the_loop_goes_on_meanwhile(pool: Pool) -> None:
    turned = threading.Event()

    async def scene() -> bool:
        waiting = asyncio.create_task(_awaited(pool, lambda: seen.append(turned.wait(PATIENCE))))
        await asyncio.sleep(0)
        turned.set()  # while the call blocks
        await waiting
        return seen == [True]

    seen: list[bool] = []
    assert pool.call(scene())


def test_what_was_asked_for_is_written_before_the_end(notes: Notes) -> None:
    trials = [Trial(str(number), notes) for number in range(50)]
    with a_pool(50) as pool:
        submitted(pool, *trials)
        for each in trials:
            pool.graded(each.name, "r")
        pool.close()
        finished = [each for each in notes.lines if each.startswith("finish")]
    # a verdict may be known before its result is written, but not after closing
    assert len(finished) == 50


def test_a_trial_that_is_graded_is_written_however_soon_the_end_comes() -> None:
    for _ in range(100):
        notes = Notes()
        with a_pool() as pool:
            submitted(pool, Trial("t", notes))
            pool.graded("t", "r")
            assert pool.close() == ()
        assert notes.lines[-1] == "finish t r"


def test_the_end_between_a_verdict_and_its_file() -> None:
    notes = Notes()

    class AtOnce(Trial):
        async def grade(self, held: Any, rubric: str) -> Graded:
            pool._stop.set()  # the moment at which close() would have to come
            return graded("t", rubric)

    with a_pool() as pool:
        submitted(pool, AtOnce("t", notes))
        assert pool.graded("t", "r") == graded("t", "r")
        pool.close()
    assert notes.lines[-1] == "finish t r"


def test_a_disk_that_hangs_does_not_hang_the_end(notes: Notes) -> None:
    released = threading.Event()
    trial = Trial("t", notes)

    def finish(held: Any, found: Sequence[Graded]) -> None:
        notes.add("writing")
        released.wait(PATIENCE)

    with a_pool() as pool:
        pool.submit(Work("t", ("r",), trial.hold, trial.grade, finish))
        pool.graded("t", "r")
        notes.wait("writing")
        began = time.monotonic()
        pool.close()
        assert time.monotonic() - began < JOIN + MARGIN + SLACK
        released.set()
        for each in pool_threads():
            each.join(PATIENCE)
