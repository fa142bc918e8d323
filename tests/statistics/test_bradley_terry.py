from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.statistics.bradley_terry import Strength, bradley_terry, overlap
from pytest_dialeval.statistics.elo import Game

# Agresti, Categorical Data Analysis, table 10.10: wins of the row against the column in 1987.
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WINS = (
    (0, 7, 9, 7, 7, 9, 11),
    (6, 0, 7, 5, 11, 9, 9),
    (4, 6, 0, 7, 7, 8, 12),
    (6, 8, 6, 0, 6, 7, 10),
    (6, 2, 6, 7, 0, 7, 12),
    (4, 4, 5, 6, 6, 0, 6),
    (2, 4, 1, 3, 1, 7, 0),
)
STRENGTHS = (1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0)  # against Baltimore

names = st.sampled_from("abcde")
games = st.lists(
    st.tuples(names, names, st.sampled_from([0.0, 0.5, 1.0])).filter(
        lambda each: each[0] != each[1]
    )
)


def test_agrestis_table_of_baseball() -> None:
    played = [
        (one, other, 1.0)
        for one, row in zip(TEAMS, WINS, strict=True)
        for other, wins in zip(TEAMS, row, strict=True)
        for _ in range(wins)
    ]

    found = bradley_terry(played, scale=math.log(10))

    last = found["Baltimore"].value or 0.0
    strengths = [round((found[each].value or 0.0) - last, 2) for each in TEAMS]
    assert strengths == pytest.approx(STRENGTHS, abs=0.011)


def test_two_agents_by_hand() -> None:
    played = [("a", "b", 1.0)] * 30 + [("a", "b", 0.0)] * 10

    found = bradley_terry(played)

    apart = 400 * math.log10(3)
    assert found["a"].value == pytest.approx(1000 + apart / 2)
    assert found["b"].value == pytest.approx(1000 - apart / 2)
    # Of one pair the sandwich is the binomial's error: 1 / (n p q) of the log-odds.
    error = 400 / math.log(10) * math.sqrt(1 / (40 * 0.75 * 0.25) * 40 / 39)
    half = (found["a"].high or 0.0) - (found["a"].value or 0.0)
    assert half == pytest.approx(error / 2 * 2.0227, rel=1e-4)


def test_games_of_one_cluster_count_as_one() -> None:
    played = [("a", "b", 1.0)] * 30 + [("a", "b", 0.0)] * 10
    twice = [each for each in played for _ in range(2)]
    clusters = [index for index in range(40) for _ in range(2)]

    alone, together = bradley_terry(played), bradley_terry(twice, clusters)

    assert together["a"].low == pytest.approx(alone["a"].low)
    assert (bradley_terry(twice)["a"].low or 0.0) > (alone["a"].low or 0.0)


def test_below_ten_clusters_there_is_no_interval() -> None:
    played = [("a", "b", 1.0), ("a", "b", 0.5)] * 9
    clusters = [index // 2 for index in range(18)]

    found = bradley_terry(played, clusters)

    assert found["a"].value is not None
    assert found["a"].low is None
    assert overlap(found["a"], found["b"]) is None


def test_who_never_loses_is_apart() -> None:
    played = [("best", "a", 1.0), ("b", "best", 0.0), ("a", "b", 1.0), ("a", "b", 0.0)]
    played += [("a", "worst", 1.0)]

    found = bradley_terry(played)

    assert found["best"] == Strength(None, apart="never loses")
    assert found["worst"] == Strength(None, apart="never wins")
    assert found["a"].value == pytest.approx(1000)


def test_two_groups_that_never_met() -> None:
    played = [("a", "b", 0.5)] * 3 + [("c", "d", 0.5)]

    found = bradley_terry(played)

    assert found["a"].value == pytest.approx(1000)
    assert found["c"].apart == "not linked to the others"


def test_all_ties() -> None:
    found = bradley_terry([("a", "b", 0.5)] * 12)

    assert found["a"].value == pytest.approx(1000)
    assert found["a"].low == pytest.approx(1000)


def test_one_game_and_none() -> None:
    assert bradley_terry([]) == {}
    assert {each.apart for each in bradley_terry([("a", "b", 1.0)]).values()} == {
        "never loses",
        "never wins",
    }


@pytest.mark.parametrize("points", [math.nan, 0.7, -1])
def test_points_are_a_win_a_tie_or_a_loss(points: float) -> None:
    with pytest.raises(ValueError, match=r"give 1, 0\.5 or 0"):
        bradley_terry([("a", "b", points)])


def test_a_cluster_for_each_game() -> None:
    with pytest.raises(ValueError, match="2 games have 1 clusters"):
        bradley_terry([("a", "b", 1.0)] * 2, ["x"])


@given(games)
def test_numbers_are_finite_and_centred(series: list[Game]) -> None:
    found = bradley_terry(series)

    values = [each.value for each in found.values() if each.value is not None]
    assert all(math.isfinite(each) for each in values)
    assert not values or math.fsum(values) / len(values) == pytest.approx(1000)
    assert all((each.value is None) == bool(each.apart) for each in found.values())


@given(games.filter(bool))
def test_the_expected_wins_are_the_wins(series: list[Game]) -> None:
    """What makes a fit the likeliest: everybody is expected to win as often as it did."""
    found = {name: each.value for name, each in bradley_terry(series).items() if not each.apart}
    for name, own in found.items():
        against = [
            (points if left == name else 1 - points, found[right if left == name else left])
            for left, right, points in series
            if name in (left, right) and {left, right} <= found.keys()
        ]
        expected = sum(
            1 / (1 + 10 ** (((theirs or 0) - (own or 0)) / 400)) for _, theirs in against
        )
        assert expected == pytest.approx(sum(points for points, _ in against), abs=1e-6)


def test_intervals_that_touch_overlap() -> None:
    low, high = Strength(1000, 900, 1100), Strength(1200, 1100, 1300)

    assert overlap(low, high) is True
    assert overlap(low, Strength(1300, 1101, 1500)) is False
