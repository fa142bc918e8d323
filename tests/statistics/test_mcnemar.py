"""Pairs of trials."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_dialeval.statistics.mcnemar import Pairs


def test_pairs_are_counted_by_what_they_were_and_are() -> None:
    pairs = Pairs.of([(True, True), (True, False), (True, False), (False, True), (False, False)])
    assert pairs == Pairs(both=1, lost=2, gained=1, neither=1)
    assert pairs.n == 5


@pytest.mark.parametrize(
    ("lost", "gained", "p"),
    # statsmodels' documentation of mcnemar(exact=True) has 121 and 59; the others by hand
    [(121, 59, 4.434446e-06), (5, 0, 2 / 32), (0, 0, 1.0), (3, 3, 1.0), (1, 0, 1.0)],
)
def test_known_values(lost: int, gained: int, p: float) -> None:
    assert Pairs(lost=lost, gained=gained).p() == pytest.approx(p, rel=1e-6)


@given(st.integers(0, 80), st.integers(0, 80), st.integers(0, 9))
def test_it_is_the_binomial_test_and_blind_to_what_stayed(a: int, b: int, same: int) -> None:
    p = Pairs(same, a, b, same).p()
    assert p == Pairs(0, b, a, 0).p()
    if a + b:
        assert p == pytest.approx(stats.binomtest(a, a + b).pvalue)


def test_large_counts_do_not_overflow() -> None:
    assert 0 <= Pairs(lost=4000, gained=1000).p() < 1e-300
