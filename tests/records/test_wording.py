"""Turns of phrase that messages share."""

from __future__ import annotations

import pytest

from pytest_dialeval.records.wording import closest, did_you_mean, listed, plural


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
    assert listed([], at_most=2) == ""
