"""A loop that does not go on, and tasks that strangers cancel."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from pytest_dialeval import pool as pool_module
from pytest_dialeval.conversation.current import Line, current_line
from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.pool import FOREIGN, Pool, Work
from pytest_dialeval.records.run import Graded
from pytest_dialeval.records.transcript import Outcome
from tests.pool.works import PATIENCE, Notes, Trial, a_pool, graded, never_finished, never_graded

TURN = 0.1


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "POLL", 0.02)
    monkeypatch.setattr(pool_module, "STANDSTILL", 0.1)


@pytest.fixture
def let_go() -> Iterator[threading.Event]:
    """Set at the end, so that the blocked thread ends too; the test may be earlier."""
    event = threading.Event()
    yield event
    event.set()
    for each in threading.enumerate():
        if each.name == "dialeval-pool":
            each.join(PATIENCE)
            assert not each.is_alive()


def work(name: str, notes: Notes, hold: Callable[[], Any], rubrics: Sequence[str] = ("r",)) -> Work:
    def lost(given: Sequence[str], outcome: Outcome, reason: str) -> list[Graded]:
        notes.add(f"lost {name} {' '.join(given)} {outcome}: {reason}")
        return [graded(name, each) for each in given]

    return Work(
        name, tuple(rubrics), hold, never_graded, never_finished, lost=lost, turn_timeout=TURN
    )


def blocking(notes: Notes, let_go: threading.Event, *, agent: bool) -> Callable[[], Any]:
    async def block() -> None:
        notes.add("blocks")
        let_go.wait(PATIENCE)
        notes.add("came back")

    async def hold() -> None:
        line = current_line.get()
        assert line is not None
        current_line.set(Line(line.trial, agent=agent))
        await asyncio.create_task(block())
        notes.add("went on")

    return hold


def waiting(notes: Notes) -> Callable[[], Any]:
    async def hold() -> None:
        notes.add("waits")
        await asyncio.sleep(0)
        await asyncio.Event().wait()

    return hold


def lost_lines(notes: Notes) -> dict[str, str]:
    found = [each.split(" ", 2)[1:] for each in notes.lines if each.startswith("lost")]
    return {name: rest for name, rest in found}


def test_the_guilty_one_is_its_agents_error_and_others_are_unmeasured(
    notes: Notes, let_go: threading.Event
) -> None:
    with a_pool(2) as pool:
        pool.submit(work("patient", notes, waiting(notes)))
        notes.wait("waits")
        pool.submit(work("guilty", notes, blocking(notes, let_go, agent=True), ("a", "b")))
        pool.submit(work("queued", notes, waiting(notes)))
        assert pool.graded("guilty", "b") == graded("guilty", "b")
        assert pool.graded("patient", "r") == graded("patient", "r")
        why = r"the agent of guilty blocks the event loop \(pool/test_standstill.py:\d+\), so that"
        with pytest.raises(HarnessFault, match=f"^queued: {why}"):
            pool.graded("queued", "r")
        pool.submit(work("later", notes, waiting(notes)))
        with pytest.raises(HarnessFault, match=f"^later: {why}"):
            pool.graded("later", "r")
        with pytest.raises(HarnessFault, match=why):
            pool.call(asyncio.sleep(0))
        found = lost_lines(notes)
        assert found["guilty"].startswith("a b agent_error: no answer, and it never let go")
        assert found["patient"].startswith("r harness_error: the agent of guilty blocks")
        assert found.keys() == {"guilty", "patient"}  # others had not begun
        pool.abandon("queued")
        assert pool.close() == ("the event loop",)


def test_one_that_comes_back_goes_no_further(
    notes: Notes, let_go: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    with a_pool(1) as pool:
        pool.submit(work("guilty", notes, blocking(notes, let_go, agent=True)))
        pool.submit(work("queued", notes, waiting(notes)))
        pool.graded("guilty", "r")
        let_go.set()
        notes.wait("came back")
        for each in threading.enumerate():
            if each.name == "dialeval-pool":
                each.join(PATIENCE)
                assert not each.is_alive()
        assert "went on" not in notes.lines
        assert "waits" not in notes.lines
        assert pool.close() == ()
    gc.collect()
    assert not caplog.records  # neither of pending tasks nor of what they raised


def test_what_is_no_agent_blames_none(notes: Notes, let_go: threading.Event) -> None:
    with a_pool() as pool:
        pool.submit(work("guilty", notes, blocking(notes, let_go, agent=False)))
        pool.graded("guilty", "r")
    assert lost_lines(notes)["guilty"].startswith("r harness_error: guilty blocks the event loop (")


def test_a_loop_whose_files_are_closed_by_somebody_says_so(notes: Notes) -> None:
    why = "the event loop broke: .*Bad file descriptor; some code in this process closes files"
    with a_pool() as pool:
        pool.submit(work("patient", notes, waiting(notes)))
        notes.wait("waits")
        os.close(pool._lull.fileno())
        with pytest.raises(HarnessFault, match=f"^patient: {why}"):
            pool.graded("patient", "r")
        pool.submit(work("later", notes, waiting(notes)))
        with pytest.raises(HarnessFault, match=f"^later: {why}"):
            pool.graded("later", "r")
        assert pool.close() == ()


def test_a_callback_belongs_to_nobody(notes: Notes, let_go: threading.Event) -> None:
    async def hold() -> None:
        asyncio.get_running_loop().call_soon(let_go.wait, PATIENCE)
        await asyncio.Event().wait()

    with a_pool() as pool:
        pool.submit(work("t", notes, hold))
        pool.graded("t", "r")
    assert lost_lines(notes)["t"].startswith("r harness_error: something blocks the event loop")


def test_work_that_cannot_say_what_was_lost(notes: Notes, let_go: threading.Event) -> None:
    def fails(*_: Any) -> list[Graded]:
        raise RuntimeError("disk")

    hold = blocking(notes, let_go, agent=True)
    with a_pool() as pool:
        pool.submit(
            Work("t", ("r",), hold, never_graded, never_finished, lost=fails, turn_timeout=TURN)
        )
        with pytest.raises(HarnessFault, match="internal error: RuntimeError: disk"):
            pool.graded("t", "r")


def test_what_is_lost_is_known_by_its_place_whatever_it_is_called_when_shown(
    notes: Notes, let_go: threading.Event
) -> None:
    """A name may hold a secret, which is taken out of what is shown."""

    def lost(given: Sequence[str], outcome: Outcome, reason: str) -> list[Graded]:
        return [graded("t", f"[redacted] {each}") for each in given]

    hold = blocking(notes, let_go, agent=True)
    with a_pool() as pool:
        pool.submit(
            Work("t", ("r", "s"), hold, never_graded, never_finished, lost=lost, turn_timeout=TURN)
        )
        assert pool.graded("t", "s") == graded("t", "[redacted] s")
        assert pool.graded("t", "r") == graded("t", "[redacted] r")


@pytest.mark.parametrize("excuse", ["a debugger", "a beat"])
def test_nothing_is_given_up(
    notes: Notes, let_go: threading.Event, excuse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def watch(self: Pool, look: Callable[[Pool], None] = Pool._watch) -> None:
        look(self)
        looks.append(self._still)
        if excuse == "a beat" and len(looks) % 10 == 0:  # as of a machine that was asleep
            self.clock.beats += 1
        if len(looks) == 60:
            let_go.set()

    monkeypatch.setattr(Pool, "_watch", watch)
    with a_pool() as pool:
        if excuse == "a debugger":
            pool.submit(work("t", notes, blocking(notes, let_go, agent=True)))
            notes.wait("blocks")
            pool.pause()
        else:
            pool.submit(work("t", notes, blocking(notes, let_go, agent=True)))
        with pytest.raises(HarnessFault, match="internal error"):  # its hold gave nothing to grade
            pool.graded("t", "r")
    assert len(looks) >= 60
    assert not lost_lines(notes)
    assert max(looks) < 0.3


# ---- strangers


def swept(sweep: Callable[[], Any], notes: Notes) -> Any:
    """What becomes of another's trial when this runs as an agent's code."""

    async def hold() -> None:
        context = current_line.get()
        assert context is not None
        current_line.set(Line(context.trial, agent=True))
        sweep()
        await asyncio.sleep(0)
        notes.add("swept")

    other = Trial("other", notes, held=False)
    with a_pool() as pool:
        pool.submit(other.work)
        notes.wait("hold other")
        pool.submit(Work("sweeper", ("r",), hold, never_graded, never_finished))
        notes.wait("swept")
        other.held.open()
        return pool.graded("other", "r")


def cancel_all() -> None:
    for each in asyncio.all_tasks():
        each.cancel()


def test_an_agent_that_cancels_all_tasks_cancels_none_of_ours(notes: Notes) -> None:
    assert swept(cancel_all, notes) == graded("other", "r")


def test_an_agent_that_stops_the_loop_stops_nobody(notes: Notes) -> None:
    stop = swept(lambda: asyncio.get_running_loop().stop(), notes)
    assert stop == graded("other", "r")


def test_a_cancellation_that_cannot_be_refused_is_named_and_the_loop_goes_on(
    notes: Notes,
) -> None:
    with a_pool() as pool:
        pool.submit(Trial("t", notes, held=False).work)
        notes.wait("hold t")

        async def sweep() -> None:  # nobody's code, as of a library's thread
            for each in asyncio.all_tasks() - {asyncio.current_task()}:
                each.cancel()

        pool.call(sweep())
        with pytest.raises(HarnessFault, match=FOREIGN):
            pool.graded("t", "r")
        pool.submit(Trial("next", notes).work)
        assert pool.graded("next", "r") == graded("next", "r")
        assert pool.close() == ()
