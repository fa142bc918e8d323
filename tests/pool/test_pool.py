"""Conversations ahead of the items that ask for them."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
import traceback
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any

import pytest

from pytest_dialeval.errors import HarnessFault, RunError
from pytest_dialeval.pool import FOREIGN, GONE, STOPPED, Pool, Work
from pytest_dialeval.records.run import Graded
from tests.pool.works import (
    PATIENCE,
    Gate,
    Notes,
    Trial,
    a_pool,
    failing,
    graded,
    never_finished,
    on_a_thread,
)


def submitted(pool: Pool, *trials: Trial) -> None:
    for each in trials:
        pool.submit(each.work)


def fault(pool: Pool, trial: str, rubric: str = "r") -> str:
    with pytest.raises(HarnessFault) as caught:
        pool.graded(trial, rubric)
    return str(caught.value)


# ---- one trial


def test_rubrics_that_are_decided_at_once_take_no_part_in_the_waiting(
    pool: Pool, notes: Notes
) -> None:
    """Verdicts keep the order of the rubrics, whoever is known first."""
    trial = Trial("t", notes, ["judged", "rule", "asked", "other"])
    known = {"rule", "other"}
    trial.at_once = lambda held, each: graded("t", each) if each in known else None
    pool.submit(trial.work)
    assert [pool.graded("t", each) for each in trial.rubrics] == [
        graded("t", each) for each in trial.rubrics
    ]
    notes.wait("finish t judged rule asked other")
    assert "grade t rule" not in notes.lines
    assert {"grade t judged", "grade t asked"} <= set(notes.lines)


def test_a_rubric_that_cannot_be_decided_at_once_voids_itself_alone(
    pool: Pool, notes: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    trial = Trial("t", notes, ["broken", "judged"])

    def at_once(held: Any, rubric: str) -> Graded | None:
        if rubric == "broken":
            raise ZeroDivisionError("by hand")
        return None

    trial.at_once = at_once
    pool.submit(trial.work)
    assert pool.graded("t", "judged") == graded("t", "judged")
    assert fault(pool, "t", "broken") == "t: internal error: ZeroDivisionError: by hand"
    assert "grade t broken" not in notes.lines
    assert not any(each.startswith("finish") for each in notes.lines)


def test_a_trial_is_held_once_and_each_rubric_graded_once(pool: Pool, notes: Notes) -> None:
    trial = Trial("t", notes, ["a", "b"])
    for _ in range(3):
        pool.submit(trial.work)
    assert pool.knows("t")
    assert not pool.knows("u")
    assert [pool.graded("t", each) for each in ("b", "a", "b")] == [
        graded("t", "b"),
        graded("t", "a"),
        graded("t", "b"),
    ]
    notes.wait("finish t a b")
    assert notes.lines == ["hold t", "held t", "grade t a", "grade t b", "finish t a b"]
    assert trial.threads == {"dialeval-pool"}


def test_nothing_starts_before_something_is_submitted() -> None:
    before = threading.active_count()
    with a_pool() as pool:
        pool.pause()
        pool.resume()
        assert not pool.knows("t")
        assert threading.active_count() == before
        assert pool.close() == ()
    assert threading.active_count() == before


def test_rubrics_of_a_trial_are_graded_side_by_side(pool: Pool, notes: Notes) -> None:
    # A judge takes seconds: six of them one after another would take six times as long.
    trial = Trial("t", notes, ["a", "b", "c"])
    trial.graded = Gate()
    pool.submit(trial.work)
    notes.wait("grade t a", "grade t b", "grade t c")
    trial.graded.open()
    assert pool.graded("t", "c") == graded("t", "c")
    notes.wait("finish t a b c")


def test_a_verdict_does_not_wait_for_the_others(pool: Pool, notes: Notes) -> None:
    gate = Gate()

    async def hold() -> str:
        return "talk"

    async def grade(held: Any, rubric: str) -> Graded:
        if rubric == "slow":
            await gate.passed()
        return graded("t", rubric)

    def finish(held: Any, found: Sequence[Graded]) -> None:
        notes.add("finish")

    pool.submit(Work("t", ("slow", "quick"), hold, grade, finish))
    assert pool.graded("t", "quick") == graded("t", "quick")
    assert notes.lines == []
    gate.open()
    assert pool.graded("t", "slow") == graded("t", "slow")
    notes.wait("finish")


# ---- many trials


def test_they_begin_in_the_order_submitted(notes: Notes) -> None:
    with a_pool(1) as pool:
        trials = [Trial(str(number), notes) for number in range(5)]
        submitted(pool, *trials)
        for each in trials:
            pool.graded(each.name, "r")
    held = [line for line in notes.lines if line.startswith("hold ")]
    assert held == [f"hold {number}" for number in range(5)]


@pytest.mark.parametrize("concurrency", [1, 3, 16])
def test_never_more_than_the_concurrency_at_once_and_never_fewer(
    notes: Notes, concurrency: int
) -> None:
    live: set[str] = set()
    most = 0
    full = threading.Event()

    def work(name: str) -> Work:
        async def hold() -> str:
            nonlocal most
            live.add(name)
            most = max(most, len(live))
            if len(live) == concurrency:
                full.set()
            for _ in range(5):
                await asyncio.sleep(0)
            live.discard(name)
            return name

        async def grade(held: Any, rubric: str) -> Graded:
            return graded(name, rubric)

        return Work(name, ("r",), hold, grade, lambda held, found: None)

    with a_pool(concurrency) as pool:
        for number in range(100):
            pool.submit(work(str(number)))
        for number in range(100):
            pool.graded(str(number), "r")
    assert full.is_set()
    assert most == concurrency


def test_grading_takes_no_place_among_the_conversations(notes: Notes) -> None:
    with a_pool(1) as pool:
        first, second = Trial("1", notes), Trial("2", notes)
        first.graded = Gate()
        submitted(pool, first, second)
        notes.wait("grade 1 r", "held 2")  # while the first is still being graded
        first.graded.open()
        pool.graded("1", "r")


def test_what_is_asked_for_goes_first(notes: Notes) -> None:
    with a_pool(1) as pool:
        trials = [Trial(str(number), notes, held=False) for number in range(4)]
        submitted(pool, *trials)
        notes.wait("hold 0")
        with on_a_thread(lambda: pool.graded("3", "r")) as result:
            trials[3].held.open()
            trials[0].held.open()
            assert result() == graded("3", "r")
            for each in trials:
                each.held.open()
        pool.graded("2", "r")
    held = [line[5:] for line in notes.lines if line.startswith("hold ")]
    assert held == ["0", "3", "1", "2"]


def test_asking_for_what_runs_already_changes_nothing(notes: Notes) -> None:
    with a_pool(2) as pool:
        trials = [Trial(str(number), notes) for number in range(3)]
        submitted(pool, *trials)
        assert [pool.graded(each, "r").conversation.trial for each in ("1", "0", "2", "1")] == list(
            "1021"
        )
    assert len([line for line in notes.lines if line.startswith("hold ")]) == 3


# ---- errors are data


def test_an_error_is_told_to_whoever_asks_and_the_others_go_on(pool: Pool, notes: Notes) -> None:
    pool.submit(failing("bad", RunError("x.jsonl: cannot be written"), ["a", "b"]))
    submitted(pool, Trial("good", notes))
    assert fault(pool, "bad", "a") == "bad: x.jsonl: cannot be written"
    assert fault(pool, "bad", "b") == "bad: x.jsonl: cannot be written"
    assert pool.graded("good", "r") == graded("good", "r")


def test_an_error_of_our_own_is_named_and_logged(
    pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    pool.submit(failing("bad", KeyError("x")))
    assert fault(pool, "bad") == "bad: internal error: KeyError: 'x'"
    assert [each.getMessage() for each in caplog.records] == ["a fault of pytest-dialeval itself"]
    assert caplog.records[0].exc_info is not None


@pytest.mark.parametrize(
    "error",
    [TimeoutError("late"), SystemExit(3), KeyboardInterrupt(), GeneratorExit(), CancelledError()],
)
def test_no_error_hangs_or_ends_anything(
    pool: Pool, notes: Notes, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    # a TimeoutError in a future looks like "not yet"; a SystemExit in a task ends its loop
    pool.submit(failing("bad", error))
    assert fault(pool, "bad").startswith("bad: internal error: ")
    submitted(pool, Trial("good", notes))
    assert pool.graded("good", "r") == graded("good", "r")


def test_one_that_cancels_itself_leaves_nobody_waiting(pool: Pool, notes: Notes) -> None:
    pool.submit(failing("bad", asyncio.CancelledError()))
    assert fault(pool, "bad") == f"bad: {FOREIGN}"
    submitted(pool, Trial("good", notes))
    assert pool.graded("good", "r") == graded("good", "r")


def test_an_error_in_one_rubric_is_that_rubric_s(
    pool: Pool, notes: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    async def hold() -> str:
        return "talk"

    async def grade(held: Any, rubric: str) -> Graded:
        if rubric == "bad":
            raise TimeoutError("late")
        return graded("t", rubric)

    pool.submit(Work("t", ("a", "bad", "c"), hold, grade, never_finished))
    assert fault(pool, "t", "bad") == "t: internal error: TimeoutError: late"
    assert pool.graded("t", "a") == graded("t", "a")
    assert pool.graded("t", "c") == graded("t", "c")


def test_errors_do_not_grow_from_item_to_item(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    # one object raised in many items gathers all their frames (measured: 62 s of formatting)
    pool.submit(failing("bad", ValueError("x"), ["a", "b", "c"]))
    depths = []
    for rubric in ("a", "b", "c", "a"):
        try:
            pool.graded("bad", rubric)
        except HarnessFault as error:
            depths.append(len(traceback.extract_tb(error.__traceback__)))
            assert error.__cause__ is None
    assert depths == [2, 2, 2, 2]


def test_a_finish_that_fails_is_logged_and_costs_no_verdict(
    pool: Pool, notes: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    trial = Trial("t", notes)

    def finish(held: Any, found: Sequence[Graded]) -> None:
        notes.add("finishing")
        raise ValueError("no room")

    pool.submit(Work("t", ("r",), trial.hold, trial.grade, finish))
    assert pool.graded("t", "r") == graded("t", "r")
    notes.wait("finishing")
    pool.close()
    assert [each.levelno for each in caplog.records] == [logging.ERROR]


def test_an_exit_in_a_task_that_an_agent_started_is_its_affair_alone(
    pool: Pool, notes: Notes
) -> None:
    async def leave() -> None:
        raise SystemExit(3)

    async def hold() -> str:
        task = asyncio.create_task(leave())
        await asyncio.wait([task])
        assert isinstance(task.exception(), SystemExit)
        return "talk of t"

    pool.submit(Work("t", ("r",), hold, Trial("t", notes).grade, lambda held, found: None))
    assert pool.graded("t", "r") == graded("t", "r")


# ---- pausing


def test_a_pause_begins_nothing_until_it_ends(notes: Notes) -> None:
    with a_pool(1) as pool:
        first, second = Trial("1", notes, held=False), Trial("2", notes)
        submitted(pool, first, second)
        notes.wait("hold 1")
        pool.pause()
        first.held.open()
        assert pool.graded("1", "r") == graded("1", "r")
        with on_a_thread(lambda: pool.graded("2", "r")) as result:
            assert pool.call(asyncio.sleep(0, "later")) == "later"
            assert "hold 2" not in notes.lines
            pool.resume()
            assert result() == graded("2", "r")


def test_what_is_submitted_during_a_pause_waits_too(pool: Pool, notes: Notes) -> None:
    pool.pause()
    submitted(pool, Trial("t", notes))
    assert pool.call(asyncio.sleep(0, "later")) == "later"
    assert notes.lines == []
    pool.resume()
    assert pool.graded("t", "r") == graded("t", "r")


# ---- calls


def test_a_call_gives_its_result(pool: Pool) -> None:
    async def name() -> str:
        return threading.current_thread().name

    assert pool.call(name()) == "dialeval-pool"


@pytest.mark.parametrize("error", [ValueError("x"), TimeoutError("late")])
def test_a_call_raises_what_it_raises(pool: Pool, error: Exception) -> None:
    async def fail() -> None:
        raise error

    with pytest.raises(type(error), match=str(error)):
        pool.call(fail())


def test_a_call_never_ends_the_session(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    async def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(HarnessFault, match="internal error: SystemExit: 3"):
        pool.call(leave())
    assert pool.call(asyncio.sleep(0, "on")) == "on"


def test_a_call_after_the_end_is_refused_without_a_warning(pool: Pool) -> None:
    assert pool.call(asyncio.sleep(0, "on")) == "on"
    pool.close()
    with pytest.raises(HarnessFault, match=STOPPED):
        pool.call(asyncio.sleep(0))
    gc.collect()  # "never awaited" would be an error here


def test_a_call_that_runs_is_stopped_at_the_end(pool: Pool, notes: Notes) -> None:
    async def wait() -> None:
        notes.add("waits")
        try:
            await asyncio.Event().wait()
        finally:
            notes.add("stopped")

    with on_a_thread(lambda: pool.call(wait())) as result:
        notes.wait("waits")
        assert pool.close() == ()
        assert isinstance(result(), HarnessFault)
    assert notes.lines == ["waits", "stopped"]


# ---- abandoning


def test_an_agent_that_goes_away_takes_its_conversation_along(pool: Pool, notes: Notes) -> None:
    trial, other = Trial("t", notes, held=False), Trial("u", notes, held=False)
    submitted(pool, trial, other)
    notes.wait("hold t", "hold u")
    pool.abandon("t")
    assert "stopped t" in notes.lines  # before the agent is torn down
    assert fault(pool, "t") == f"t: {GONE}"
    other.held.open()
    assert pool.graded("u", "r") == graded("u", "r")


def test_one_that_waits_its_turn_never_begins(notes: Notes) -> None:
    with a_pool(1) as pool:
        first, second = Trial("1", notes, held=False), Trial("2", notes)
        submitted(pool, first, second)
        notes.wait("hold 1")
        pool.abandon("2")
        assert fault(pool, "2") == f"2: {GONE}"
        first.held.open()
        pool.graded("1", "r")
    assert "hold 2" not in notes.lines


def test_grading_goes_on_when_the_agent_is_gone(pool: Pool, notes: Notes) -> None:
    # A function-scoped agent goes with its first item; the judge is still at the other rubrics.
    trial = Trial("t", notes, ["a", "b"])
    trial.graded = Gate()
    pool.submit(trial.work)
    notes.wait("grade t a")
    pool.abandon("t")
    trial.graded.open()
    assert pool.graded("t", "b") == graded("t", "b")


def test_abandoning_is_harmless_when_there_is_nothing(pool: Pool, notes: Notes) -> None:
    pool.abandon("unknown")
    submitted(pool, Trial("t", notes))
    pool.graded("t", "r")
    pool.abandon("t")
    pool.abandon("t")
    assert pool.graded("t", "r") == graded("t", "r")
    pool.close()
    pool.abandon("t")


def test_a_place_that_was_given_up_is_free_again(notes: Notes) -> None:
    with a_pool(1) as pool:
        for number in range(5):
            stuck = Trial(f"stuck {number}", notes, held=False)
            submitted(pool, stuck)
            pool.abandon(stuck.name)
        submitted(pool, Trial("t", notes))
        assert pool.graded("t", "r") == graded("t", "r")


# ---- memory


def test_what_was_said_is_let_go_once_it_is_graded(pool: Pool) -> None:
    class Talk:
        pass

    async def hold() -> Talk:
        return Talk()

    async def grade(held: Any, rubric: str) -> Graded:
        return graded("t", rubric)

    pool.submit(Work("t", ("r",), hold, grade, lambda held, found: None))
    pool.graded("t", "r")
    pool.close()
    gc.collect()
    assert not [each for each in gc.get_objects() if type(each) is Talk]


def test_a_thousand_trials_are_quick(pool: Pool, notes: Notes) -> None:
    trials = [Trial(str(number), notes, ["a", "b", "c"]) for number in range(1000)]
    submitted(pool, *trials)
    done = threading.Event()
    watchdog = threading.Timer(PATIENCE, done.set)
    watchdog.daemon = True
    watchdog.start()
    for each in reversed(trials):  # the worst order for whoever hurries
        pool.graded(each.name, "b")
    watchdog.cancel()
    assert not done.is_set()
    assert sys.getswitchinterval() > 0
