from __future__ import annotations

import pytest

from tests.matching.asking import ask, quotes, score, view

STEPS = [["打开", "开启"], "登录", "确认"]


def test_a_step_a_turn_is_the_right_pace() -> None:
    result = ask("pace", STEPS, view("a: 请打开", "u: 好", "a: 登录", "u: 好", "a: 确认"))
    assert (result.score, quotes(result)) == (1, ["打开", "登录", "确认"])


def test_all_steps_in_one_turn_are_too_fast() -> None:
    result = ask("pace", STEPS, view("a: 您好", "u: 好", "a: 打开，登录，确认", "u: 嗯", "a: 再见"))
    assert (result.score, quotes(result)) == (0, ["打开", "登录", "确认"])
    assert result.reason == "turn 3 names 3 steps at once"


def test_splitting_the_message_is_no_pause() -> None:
    assert score("pace", STEPS, "a: 打开", "a: 登录") == 0


def test_saying_a_step_again_is_no_new_step() -> None:
    assert (
        score("pace", STEPS, "a: 打开", "u: 好", "a: 打开了就登录", "u: 好", "a: 打开登录确认") == 1
    )


def test_not_reached_does_not_arise() -> None:
    assert score("pace", STEPS, "a: 您好", "u: 再见") is None
    assert score("pace", STEPS, "a: 打开", "u: 再见") is None


@pytest.mark.parametrize(("per_turn", "expected"), [(1, 0), (2, 1), (3, None)])
def test_more_than_one_may_be_allowed(per_turn: int, expected: float | None) -> None:
    params = {"steps": STEPS, "per_turn": per_turn}
    assert score("pace", params, "a: 打开，登录", "u: 好", "a: 确认") == expected
