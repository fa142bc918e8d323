"""Corrections for the number of tests."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_dialeval.statistics.many_tests import benjamini_hochberg, holm

VALUES = st.lists(st.floats(0, 1), max_size=30)


def test_the_example_of_benjamini_and_hochberg() -> None:
    # their section 4.1: 15 tests of a heart study; four are found at 0.05
    values = [
        *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459),
        *(0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0),
    ]
    assert sum(each <= 0.05 for each in benjamini_hochberg(values)) == 4
    assert sum(each <= 0.05 for each in holm(values)) == 3  # as they say of Bonferroni's


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_it_is_scipys(values: list[float]) -> None:
    assert benjamini_hochberg(values) == pytest.approx(
        stats.false_discovery_control(values).tolist()
    )


@given(VALUES)
def test_adjusted_values_keep_their_order_and_never_fall(values: list[float]) -> None:
    for adjust in (benjamini_hochberg, holm):
        adjusted = adjust(values)
        assert all(p <= q <= 1 for p, q in zip(values, adjusted, strict=True))
        ranked = [q for _, q in sorted(zip(values, adjusted, strict=True))]
        assert ranked == sorted(ranked)


@given(VALUES)
def test_holm_is_the_stricter(values: list[float]) -> None:
    pairs = zip(benjamini_hochberg(values), holm(values), strict=True)
    assert all(discovered <= strict + 1e-12 for discovered, strict in pairs)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@pytest.mark.parametrize("wrong", [math.nan, -0.1, 1.1])
def test_what_is_no_p_is_refused(wrong: float) -> None:
    for adjust in (benjamini_hochberg, holm):
        with pytest.raises(ValueError, match="is no p"):
            adjust([0.5, wrong])
