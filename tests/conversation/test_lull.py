"""How long others let a loop go first."""

from __future__ import annotations

import threading

import pytest

from pytest_dialeval.conversation.lull import Lull


class Watched(threading.Event):
    """Notes for how long somebody would wait, and takes no time for it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.asked.append(timeout)
        return self.is_set()


@pytest.fixture
def lull(monkeypatch: pytest.MonkeyPatch) -> Lull:
    monkeypatch.setattr(threading, "Event", Watched)
    return Lull()


def asked(lull: Lull) -> list[float]:
    found = lull._waits
    assert isinstance(found, Watched)
    return found.asked


def test_a_loop_that_never_waits_holds_nobody_up_for_long(lull: Lull) -> None:
    assert not any(lull.await_one(0.05) for _ in range(1000))
    assert asked(lull)[:2] == [0.05, 0.025]
    assert sum(asked(lull)) <= 0.1


def test_one_that_waited_again_is_let_go_first_again(lull: Lull) -> None:
    for _ in range(10):
        lull.await_one(0.05)
    lull.select(0.0001)
    assert not lull.await_one(0.05)
    assert asked(lull)[-1] == 0.05


def test_a_look_at_what_is_ready_is_no_wait(lull: Lull) -> None:
    lull.await_one(0.05)
    lull.select(0)
    lull.await_one(0.05)
    assert asked(lull) == [0.05, 0.025]


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
