from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.statistics.elo import Game, elo, mean_elo, mean_over_tasks

names = st.sampled_from("abcd")
games = st.lists(
    st.tuples(names, names, st.sampled_from([0.0, 0.5, 1.0])).filter(
        lambda each: each[0] != each[1]
    )
)


def test_a_win_a_loss_and_a_tie() -> None:
    found = elo([("a", "b", 1.0), ("a", "b", 0.0), ("a", "b", 0.5)])

    assert round(found["a"], 2) == 998.67
    assert round(found["b"], 2) == 1001.33


def test_five_wins_and_no_more() -> None:
    found = elo([("a", "b", 1.0)] * 5)

    assert (round(found["a"], 1), round(found["b"], 1)) == (1066.8, 933.2)


def test_the_order_matters_and_the_mean_over_orders_does_not_know_it() -> None:
    series = [("a", "b", 1.0)] * 3 + [("a", "b", 0.0)] * 2

    assert elo(series)["a"] < 1010 < elo(series[::-1])["a"]
    assert mean_elo(series) == mean_elo(series[::-1])
    assert 1005.6 < mean_elo(series)["a"] < 1020.8


def test_start_k_and_scale() -> None:
    found = elo([("a", "b", 1.0)], k=4, start=1500, scale=200)

    assert found == {"a": 1502.0, "b": 1498.0}
    assert elo([("a", "b", 1.0), ("a", "b", 1.0)], k=400, scale=1e-3)["a"] == 1200


@given(games)
def test_what_one_side_gains_the_other_loses(series: list[Game]) -> None:
    for found in (elo(series), mean_elo(series, permutations=3)):
        assert math.isclose(math.fsum(found.values()), 1000 * len(found), abs_tol=1e-6)
        assert found.keys() == {each for game in series for each in game[:2]}


@given(games)
def test_sides_are_only_names(series: list[Game]) -> None:
    turned = [(right, left, 1 - points) for left, right, points in series]

    assert elo(turned) == pytest.approx(elo(series))


@given(games, st.integers())
def test_the_mean_does_not_know_the_order(series: list[Game], seed: int) -> None:
    shuffled = Random(seed).sample(series, len(series))

    assert mean_elo(shuffled, permutations=2) == mean_elo(series, permutations=2)


@pytest.mark.parametrize("points", [math.nan, 0.3, 2, math.inf])
def test_points_are_a_win_a_tie_or_a_loss(points: float) -> None:
    for rate in (elo, mean_elo):
        with pytest.raises(ValueError, match=r"they are 1, 0\.5 or 0"):
            rate([("a", "b", points)])


def test_nobody_plays_against_itself() -> None:
    for rate in (elo, mean_elo):
        with pytest.raises(ValueError, match="'a' cannot play against itself"):
            rate([("a", "a", 1.0)])


@pytest.mark.parametrize(
    "settings", [{"k": 0}, {"k": math.nan}, {"scale": -1}, {"start": math.inf}]
)
def test_settings_that_rate_nothing(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        elo([("a", "b", 1.0)], **settings)


def test_no_games() -> None:
    assert elo([]) == mean_elo([]) == {}


def test_the_mean_over_tasks_is_over_those_played() -> None:
    found = mean_over_tasks([{"a": 1010.0, "b": 990.0}, {"a": 1020.0, "c": 980.0}])

    assert found == {"a": 1015.0, "b": 990.0, "c": 980.0}
