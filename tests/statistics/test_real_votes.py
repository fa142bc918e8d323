"""8 931 human votes on 59 models, with the answers of two public tools (SOURCES.md beside them)."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.statistics.bradley_terry import bradley_terry
from pytest_dialeval.statistics.elo import Game, elo, mean_elo

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "elo"
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the votes are not part of the repository"
)
POINTS = {"left": 1.0, "tie": 0.5, "right": 0.0}


@pytest.fixture(scope="module")
def votes() -> list[Game]:
    with (DATA / "llmfao" / "crowd-comparisons.csv").open(encoding="utf-8") as file:
        return [
            (each["left"], each["right"], POINTS[each["winner"]]) for each in csv.DictReader(file)
        ]


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "llmfao_expected.json").read_text(encoding="utf-8"))
    return found


def test_elo_in_the_order_of_the_file(votes: list[Game], expected: dict[str, Any]) -> None:
    assert elo(votes, k=4) == pytest.approx(expected["elo_k4"], abs=1e-6)


def test_bradley_terry_with_each_vote_a_cluster(
    votes: list[Game], expected: dict[str, Any]
) -> None:
    found = bradley_terry(votes)

    assert len(found) == 59
    for name, each in expected["bradley_terry"].items():
        assert found[name].value == pytest.approx(each["rating"], abs=0.1)
        assert found[name].low == pytest.approx(each["lo"], abs=1)
        assert found[name].high == pytest.approx(each["hi"], abs=1)


def test_the_mean_over_orders_is_closer_to_bradley_terry(votes: list[Game]) -> None:
    strengths = {name: each.value or 0.0 for name, each in bradley_terry(votes).items()}

    assert _rank_distance(mean_elo(votes), strengths) < _rank_distance(elo(votes), strengths) / 3


def _rank_distance(one: dict[str, float], other: dict[str, float]) -> int:
    first, second = (sorted(each, key=each.__getitem__) for each in (one, other))
    return sum(abs(place - second.index(name)) for place, name in enumerate(first))
