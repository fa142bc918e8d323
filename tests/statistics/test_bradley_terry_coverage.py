"""How often the 95 % interval holds the truth, where games of one cluster are alike."""

from __future__ import annotations

import math
from itertools import combinations
from random import Random

import pytest

from pytest_dialeval.statistics.bradley_terry import bradley_terry
from pytest_dialeval.statistics.elo import Game

STRENGTHS = {"a": 0.4, "b": 0.0, "c": -0.4}
ROUNDS = 5
SPREAD = 0.7  # of an agent's strength between clusters
# Of these strengths with that spread: fitted to 40 000 clusters.
TRUTH = {"a": 1045.8, "b": 999.5, "c": 954.7}


def played(draw: Random, clusters: int) -> tuple[list[Game], list[int]]:
    """Every pair meets in some rounds of each cluster; one game in five is a tie."""
    games: list[Game] = []
    for _ in range(clusters):
        own = {name: value + draw.gauss(0, SPREAD) for name, value in STRENGTHS.items()}
        for left, right in combinations(own, 2):
            chance = 1 / (1 + math.exp(own[right] - own[left]))
            for _ in range(ROUNDS):
                tie, won = draw.random() < 0.2, draw.random() < chance
                games.append((left, right, 0.5 if tie else float(won)))
    each = len(games) // clusters
    return games, [number // each for number in range(len(games))]


def test_widths_are_those_of_their_errors() -> None:
    """A pseudo-inverse makes them millions of points wide, now and then."""
    draw = Random(3)
    for _ in range(60):
        for each in bradley_terry(*played(draw, 20)).values():
            assert each.low is not None
            assert each.high is not None
            assert 30 < each.high - each.low < 200


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [10, 20, 50])
def test_intervals_hold_the_truth_in_19_of_20(clusters: int) -> None:
    draw, held, runs = Random(clusters), 0, 400
    for _ in range(runs):
        found = bradley_terry(*played(draw, clusters))
        held += sum(
            each.low <= TRUTH[name] <= each.high
            for name, each in found.items()
            if each.low is not None and each.high is not None
        )
    assert 0.92 <= held / (runs * len(STRENGTHS)) <= 0.98
