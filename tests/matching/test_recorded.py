from __future__ import annotations

import pytest

from tests.matching.asking import ask, view

VALUES = {"reward": 1.0, "info": {"db_match": True}, "a.b": "x", "text": "1", "huge": 10**400}


@pytest.mark.parametrize(
    ("params", "score"),
    [
        ({"field": "reward", "min": 1}, 1),
        ({"field": "reward", "min": 1.1}, 0),
        ({"field": "reward", "max": 0.5}, 0),
        ({"field": "reward", "min": 0, "max": 1}, 1),
        ({"field": "reward", "equals": 1}, 1),
        ({"field": "info.db_match", "equals": True}, 1),
        ({"field": "info.db_match", "min": 1}, 1),
        ({"field": "info.db_match", "equals": False}, 0),
        ({"field": "a.b", "equals": "x"}, 1),
        ({"field": "huge", "min": 1}, 1),
        ({"field": "text", "min": 1}, None),
        ({"field": "missing", "min": 1}, None),
        ({"field": "info.other", "min": 1}, None),
    ],
)
def test_recorded(params: dict[str, object], score: float | None) -> None:
    assert ask("recorded", params, view("a: hi", recorded=VALUES)).score == score


def test_a_reward_just_below_is_not_lost_to_rounding() -> None:
    almost = view(recorded={"reward": 0.1 + 0.2 + 0.7 - 2e-16})
    assert ask("recorded", {"field": "reward", "min": 1}, almost).score == 1
    assert (
        ask("recorded", {"field": "reward", "min": 1}, view(recorded={"reward": 0.999})).score == 0
    )


def test_not_a_number_cannot_be_compared() -> None:
    result = ask("recorded", {"field": "reward", "min": 1}, view(recorded={"reward": float("nan")}))
    assert result.score is None
    assert "no number" in result.reason


def test_what_is_there_is_named_where_the_field_is_not() -> None:
    result = ask("recorded", {"field": "rewrad", "min": 1}, view(recorded={"reward": 1}))
    assert result.reason == "no 'rewrad' is recorded with it; recorded: reward"
