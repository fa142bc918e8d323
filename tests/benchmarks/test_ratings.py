"""Bounds on ratings: a replay of a million matches, and shuffles of as many as people have cast."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random

import pytest

from pytest_dialeval.statistics.bradley_terry import bradley_terry
from pytest_dialeval.statistics.elo import Game, elo, mean_elo

pytestmark = pytest.mark.benchmark
AGENTS = [f"agent{number}" for number in range(59)]


def games(number: int) -> list[Game]:
    draw = Random(1)
    return [(*draw.sample(AGENTS, 2), draw.choice((0.0, 0.5, 1.0))) for _ in range(number)]


def test_elo_of_a_million_matches(record: Callable[[str, str, str], None]) -> None:
    played = games(1_000_000)
    began = time.perf_counter()
    found = elo(played)
    took = time.perf_counter() - began
    assert len(found) == 59
    record("Elo of 1 000 000 matches", "<= 2 s", f"{took:.2f} s")
    assert took <= 2


def test_200_shuffles_of_9_000_votes(record: Callable[[str, str, str], None]) -> None:
    played = games(9_000)
    began = time.perf_counter()
    found = mean_elo(played, permutations=200)
    took = time.perf_counter() - began
    assert len(found) == 59
    record("mean Elo over 200 orders of 9 000 votes", "<= 5 s", f"{took:.2f} s")
    assert took <= 5


def test_bradley_terry_of_9_000_votes(record: Callable[[str, str, str], None]) -> None:
    played = games(9_000)
    began = time.perf_counter()
    found = bradley_terry(played)
    took = time.perf_counter() - began
    assert len(found) == 59
    record("Bradley-Terry with intervals of 9 000 votes", "<= 5 s", f"{took:.2f} s")
    assert took <= 5
