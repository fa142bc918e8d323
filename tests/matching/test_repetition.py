from __future__ import annotations

import time

from pytest_dialeval.matching.view import View
from pytest_dialeval.records.transcript import Turn
from tests.matching.asking import ask, score, view

LINE = "Could you please rephrase your question for me?"


def test_the_same_again_is_quoted_with_the_first_time() -> None:
    result = ask("repetition", None, view(f"a: {LINE}", "u: why", f"a:  {LINE.upper()}"))
    assert result.score == 0
    assert [each.turn for each in result.evidence] == [3, 1]
    assert result.reason == "turn 3 repeats turn 1"


def test_nearly_the_same_is_the_same_and_less_is_not() -> None:
    near = LINE.replace("question", "questions")
    other = "Could you tell me your order number so that I can look?"
    assert score("repetition", None, f"a: {LINE}", f"a: {near}") == 0
    assert score("repetition", {"near": 1}, f"a: {LINE}", f"a: {near}") == 1
    assert score("repetition", None, f"a: {LINE}", f"a: {other}") == 1


def test_other_numbers_make_another_answer() -> None:
    first = "a: Your flight leaves at 10:30 from gate 4, please be there in time"
    assert score("repetition", None, first, first.replace("gate 4", "gate 7")) == 1
    assert score("repetition", None, first, first) == 0


def test_short_turns_may_recur() -> None:
    assert score("repetition", None, "a: 好的", "a: 好的") is None
    assert (
        score("repetition", None, f"a: {LINE}", "a: Sure.", "a: Sure.", "a: 不客气，再见") is None
    )
    assert score("repetition", {"min_chars": 1}, "a: 好的", "a: 好的") == 0
    assert score("repetition", None, "a: 请问您现在方便吗", "a: 请问您现在方便吗") == 0


def test_some_may_be_allowed() -> None:
    lines = [f"a: {LINE}"] * 3
    assert score("repetition", {"max": 2}, *lines) == 1
    assert score("repetition", {"max": 1}, *lines) == 0


def test_the_user_may_repeat() -> None:
    assert score("repetition", None, f"u: {LINE}", f"u: {LINE}", f"a: {LINE}") is None
    assert score("repetition", {"by": "user"}, f"u: {LINE}", f"u: {LINE}") == 0


def test_a_thousand_long_turns_take_no_quadratic_time() -> None:
    talk = View(
        tuple(
            Turn(number, "agent", " ".join(f"w{(number * at) % 997}x" for at in range(200)))
            for number in range(1, 1001)
        )
    )
    start = time.process_time()
    ask("repetition", {"near": 0.5}, talk)
    assert time.process_time() - start < 10
