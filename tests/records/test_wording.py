"""Turns of phrase that messages share."""

from __future__ import annotations

import pytest

from pytest_dialeval.records.wording import closest, did_you_mean, listed, money, plural, told


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("keywrod", "; did you mean 'keyword'?"),
        ("keyword", "; did you mean 'keyword'?"),
        ("banana", ""),
        ("", ""),
    ],
)
def test_the_likely_word_is_asked_for(word: str, says: str) -> None:
    assert did_you_mean(word, ("blacklist", "keyword", "length")) == says


def test_nothing_is_likely_where_nothing_is_known() -> None:
    assert did_you_mean("keyword", ()) == ""


def test_how_close_a_word_must_be_can_be_set() -> None:
    assert closest("reply", ["replay"]) == "replay"
    assert closest("reply", ["replay"], cutoff=0.95) is None


def test_one_is_no_plural() -> None:
    assert [plural(count, "turn") for count in (0, 1, 2)] == ["0 turns", "1 turn", "2 turns"]


def test_a_long_list_is_cut_and_the_rest_counted() -> None:
    assert listed([1, 2, 3], at_most=3) == "1, 2, 3"
    assert listed(["a", "b", "c"], at_most=2) == "a, b and 1 more"
    assert listed(["a, b", "c", "d"], at_most=2, between="; ") == "a, b; c and 1 more"
    assert listed([], at_most=2) == ""


@pytest.mark.parametrize(
    ("usd", "said"),
    [
        *((5.0, "$5"), (0.5, "$0.5"), (7.725e-05, "$0.0001"), (0.0, "$0"), (-0.25, "-$0.25")),
        (3e-05, "less than $0.0001"),
    ],
)
def test_money(usd: float, said: str) -> None:
    assert money(usd) == said


def test_reasons_are_told_once() -> None:
    assert told(["a"]) == "a"
    assert told(["a", "b", "a", "c", "c", "c"]) == "a, twice; b; c, 3 times"
