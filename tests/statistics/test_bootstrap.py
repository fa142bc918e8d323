"""Cases drawn again: intervals and p of differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_dialeval.statistics.bootstrap import paired_shifts

DIFFERENCES = np.random.default_rng(5).normal(0.1, 0.3, (60, 1)).clip(-1, 1)


def test_the_interval_is_students_where_values_are_normal() -> None:
    [shift] = paired_shifts(DIFFERENCES)
    expected = stats.ttest_1samp(DIFFERENCES[:, 0], 0)
    low, high = expected.confidence_interval()
    assert shift.interval is not None
    assert shift.interval.low == pytest.approx(low, abs=0.006)
    assert shift.interval.high == pytest.approx(high, abs=0.006)
    assert shift.p == pytest.approx(expected.pvalue, abs=0.01)
    assert shift.value == pytest.approx(DIFFERENCES.mean())


def test_it_agrees_with_scipys_percentile_bootstrap_but_for_its_width() -> None:
    [shift] = paired_shifts(DIFFERENCES)
    plain = stats.bootstrap(
        (DIFFERENCES[:, 0],), np.mean, method="percentile", random_state=0
    ).confidence_interval
    assert shift.interval is not None
    width = (shift.interval.high - shift.interval.low) / (plain.high - plain.low)
    t = stats.t.ppf(0.975, 59) * math.sqrt(60 / 59) / stats.norm.ppf(0.975)
    assert width == pytest.approx(t, rel=0.02)


def test_equal_runs_give_equal_intervals_and_the_seed_matters() -> None:
    assert paired_shifts(DIFFERENCES) == paired_shifts(DIFFERENCES.copy())
    assert paired_shifts(DIFFERENCES) != paired_shifts(DIFFERENCES, seed=1)


def test_a_figure_is_the_same_alone_and_among_others() -> None:
    table = np.hstack([DIFFERENCES, -DIFFERENCES])
    one, other = paired_shifts(table)
    [alone] = paired_shifts(DIFFERENCES)
    assert alone.interval == pytest.approx(one.interval)
    assert (one.value, one.p) == pytest.approx((alone.value, alone.p))
    assert one.value is not None
    assert other.value == pytest.approx(-one.value)
    assert other.p == one.p


def test_below_ten_cases_there_is_a_mean_alone() -> None:
    [shift] = paired_shifts(DIFFERENCES[:9])
    assert shift.value is not None
    assert (shift.cases, shift.interval, shift.p) == (9, None, None)


def test_unknown_cases_leave_their_figure_alone() -> None:
    table = np.hstack([DIFFERENCES, DIFFERENCES])
    table[:20, 1] = math.nan
    table[20:, 1] += 0.2
    whole, part = paired_shifts(table)
    assert whole.interval == pytest.approx(paired_shifts(DIFFERENCES)[0].interval)
    assert part.cases == 40
    assert part.value == pytest.approx(table[20:, 1].mean())
    expected = stats.ttest_1samp(table[20:, 1], 0).confidence_interval()
    assert part.interval is not None
    assert part.interval.low == pytest.approx(expected[0], abs=0.02)


def test_a_figure_that_no_case_has_is_unknown() -> None:
    [shift] = paired_shifts([[math.nan]] * 12)
    assert (shift.value, shift.cases, shift.interval, shift.p) == (None, 0, None, None)


@pytest.mark.parametrize(("each", "p"), [(0.0, 1.0), (-1.0, 2.0**-11), (0.25, 2.0**-11)])
def test_cases_that_all_agree_are_no_proof_of_the_next(each: float, p: float) -> None:
    [shift] = paired_shifts([[each]] * 12)
    # 0 of 12 that differ, by Clopper and Pearson: 1 - 0.025^(1/12)
    may = 1 - 0.025 ** (1 / 12)
    assert shift.interval == pytest.approx((max(-1, each - may), min(1, each + may)))
    assert shift.p == p


def test_no_case_at_all() -> None:
    assert paired_shifts(np.empty((0, 2)))[1].value is None


@given(
    st.lists(st.sampled_from([-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0]), min_size=10, max_size=40)
)
def test_the_mean_lies_within_and_order_does_not_matter_to_it(values: list[float]) -> None:
    [shift] = paired_shifts([[each] for each in values], draws=500)
    assert shift.interval is not None
    assert shift.value is not None
    assert shift.p is not None
    assert -1 <= shift.interval.low <= shift.value <= shift.interval.high <= 1
    assert 0 < shift.p <= 1
