"""How long others let a loop go first."""

from __future__ import annotations

import threading

import pytest

from pytest_dialeval.conversation.lull import Lull


class Watched(threading.Event):
    """Notes for how long somebody would wait, and lets that time pass at once."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []
        self.now = 0.0

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.asked.append(timeout)
        self.now += 0.0 if self.is_set() else timeout
        return self.is_set()


@pytest.fixture
def lull(monkeypatch: pytest.MonkeyPatch) -> Lull:
    monkeypatch.setattr(threading, "Event", Watched)
    made = Lull(clock=lambda: watched(made).now)
    return made


def watched(lull: Lull) -> Watched:
    found = lull._waits
    assert isinstance(found, Watched)
    return found


def test_a_loop_that_never_waits_leaves_the_other_a_tenth_of_the_time(lull: Lull) -> None:
    for _ in range(1000):
        assert not lull.await_one(0.05)
        watched(lull).now += 0.001  # its own work
    assert watched(lull).now == pytest.approx(10, rel=0.2)
    assert set(watched(lull).asked) == {0.05}


def test_it_is_not_waited_for_again_at_once(lull: Lull) -> None:
    assert not lull.await_one(0.05)
    assert not lull.await_one(0.05)
    assert watched(lull).asked == [0.05]
    watched(lull).now += 0.05
    assert not lull.await_one(0.05)
    assert watched(lull).asked == [0.05, 0.05]


def test_a_look_at_what_is_ready_is_no_wait(lull: Lull, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[bool] = []

    def select(self: Lull, timeout: float | None = None) -> list[None]:
        answers.append(lull.await_one(0.05))
        return []

    monkeypatch.setattr(Lull.__base__, "select", select)
    lull.select(0)
    assert answers == [False]


def test_whoever_asks_while_it_waits_is_answered(
    lull: Lull, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[bool] = []

    def select(self: Lull, timeout: float | None = None) -> list[None]:
        answers.append(lull.await_one(0.05))
        return []

    monkeypatch.setattr(Lull.__base__, "select", select)
    lull.select(None)
    answers.append(lull.await_one(0.05))
    assert answers == [True, False]
