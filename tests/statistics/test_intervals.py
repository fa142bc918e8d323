"""Intervals against known answers, and what they must never do."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.statistics.intervals import (
    clopper_pearson,
    clustered_t,
    newcombe,
    over_cases,
    wilson,
)


def close(value: float, digits: int = 4) -> object:
    return pytest.approx(value, abs=0.6 * 10**-digits)


# Newcombe 1998 (Statistics in Medicine 17:857), table I, method 3.
@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_agrees_with_newcombe(successes: int, n: int, low: float, high: float) -> None:
    assert wilson(successes, n) == (close(low), close(high))


def test_wilson_by_hand() -> None:
    # z = 1.959964, p = 1/2, n = 10: centre 1/2, half z sqrt(1/40 + z^2/400) / (1 + z^2/10)
    z = 1.959964
    half = z * math.sqrt(1 / 40 + z * z / 400) / (1 + z * z / 10)
    assert wilson(5, 10) == (close(0.5 - half, 6), close(0.5 + half, 6))
    assert wilson(5, 10) == (close(0.2366), close(0.7634))


def test_wilson_with_all_and_none() -> None:
    # the bound away from the edge is n / (n + z^2): 50 / 53.841459
    assert wilson(50, 50) == (close(50 / 53.841459, 6), 1.0)
    assert wilson(0, 50) == (0.0, close(3.841459 / 53.841459, 6))


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (-1, 5), (6, 5)])
def test_wilson_refuses_what_is_no_proportion(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match="no proportion"):
        wilson(successes, n)


def test_clustered_t_by_hand() -> None:
    # values 0, 1/2, 1: mean 1/2, variance 1/4, error sqrt(1/12), t(2; .975) = 4.302653
    half = 4.302653 * math.sqrt(1 / 12)
    assert clustered_t([0, 0.5, 1]) == (close(0.5 - half, 5), close(0.5 + half, 5))


def test_clustered_t_counts_equal_cases_together() -> None:
    apart = clustered_t([0, 0.5, 0.5, 0.5, 1, 1])
    assert clustered_t([0, 0.5, 1], [1, 3, 2]) == (close(apart.low, 12), close(apart.high, 12))


def test_clustered_t_needs_two_cases() -> None:
    with pytest.raises(ValueError, match="two cases or more, not 1"):
        clustered_t([0.5])


def test_another_confidence() -> None:
    # t(2; .95) = 2.919986, z(.95) = 1.644854
    assert clustered_t([0, 0.5, 1], confidence=0.9).high == close(0.5 + 2.919986 * 12**-0.5, 5)
    assert wilson(50, 50, confidence=0.9).low == close(50 / (50 + 1.644854**2), 5)


def test_nine_cases_are_too_few() -> None:
    assert over_cases([0.5, 0.75, 1], [3, 3, 3]) is None
    assert over_cases([0.5, 0.75, 1], [3, 3, 4]) is not None


def test_ten_cases_give_students_interval() -> None:
    # five cases at 1/4, five at 3/4: mean 1/2, variance 10/9 x 1/16, t(9; .975) = 2.262157
    half = 2.262157 * math.sqrt(1 / 16 / 9)
    assert over_cases([0.25, 0.75], [5, 5]) == (close(0.5 - half, 5), close(0.5 + half, 5))


def test_cases_that_all_agree_leave_room_for_the_next_one() -> None:
    assert over_cases([1.0], [50]) == wilson(50, 50)
    assert over_cases([0.0], [12]) == wilson(0, 12)
    assert over_cases([0.5], [10]) == wilson(5, 10)
    # agreeing up to rounding is agreeing
    assert over_cases([0.3, 0.1 + 0.2], [6, 6]) == (close(0.11768, 5), close(0.57931, 5))


def test_an_interval_that_would_leave_the_scale_is_wilsons() -> None:
    # Student's would be .98 +- 2.0096 x .02, up to 1.02
    assert clustered_t([0, 1], [1, 49]).high > 1
    assert over_cases([0, 1], [1, 49]) == (close(wilson(49, 50).low, 9), close(0.9965))


def test_one_failure_more_never_raises_the_lower_bound_near_the_top() -> None:
    lows = [over_cases([0.75, 1.0], [bad, 50 - bad]) for bad in (0, 1, 2)]
    assert lows[0] > lows[1] > lows[2]


shares = st.lists(st.floats(0, 1), min_size=10, max_size=40)


@given(shares)
def test_an_interval_lies_on_the_scale_and_holds_its_mean(values: list[float]) -> None:
    found = over_cases(values)
    mean = sum(values) / len(values)
    assert 0 <= found.low <= found.high <= 1
    assert found.low - 1e-9 <= mean <= found.high + 1e-9
    assert found.high - found.low > 1e-9


@given(shares, st.randoms())
def test_the_order_of_cases_does_not_show(values: list[float], shuffle: object) -> None:
    other = list(values)
    shuffle.shuffle(other)
    assert over_cases(other) == over_cases(values)


@given(st.integers(1, 300), st.data())
def test_wilson_mirrors(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    one, other = wilson(c, n), wilson(n - c, n)
    assert one.low == pytest.approx(1 - other.high)
    assert one.low <= c / n <= one.high


@pytest.mark.parametrize(("a", "b"), [(18, 2), (1.8, 0.2), (0.9, 0.05), (1, 1), (0.2, 1.8)])
def test_nineteen_in_twenty_intervals_hold_the_truth(a: float, b: float) -> None:
    """Simulated: 20 cases of 4 trials, each case with its own chance of passing."""
    import numpy as np

    rng = np.random.default_rng(2)
    passed = rng.binomial(4, rng.beta(a, b, size=(600, 20)))
    found = [
        over_cases([each / 4 for each in range(5)], np.bincount(row, minlength=5).tolist())
        for row in passed
    ]
    held = sum(low <= a / (a + b) <= high for low, high in found) / len(found)
    assert held >= 0.92


@pytest.mark.parametrize(("successes", "n"), [(0, 12), (12, 12), (3, 12), (50, 70), (1, 1)])
def test_clopper_pearson_is_scipys(successes: int, n: int) -> None:
    from scipy import stats

    expected = stats.binomtest(successes, n).proportion_ci(method="exact")
    assert clopper_pearson(successes, n) == pytest.approx((expected.low, expected.high))


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_clopper_pearson_mirrors_and_holds_the_share(counts: tuple[int, int]) -> None:
    successes, n = counts
    low, high = clopper_pearson(successes, n)
    assert 0 <= low <= successes / n <= high <= 1
    mirrored = clopper_pearson(n - successes, n)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((low, high))


@pytest.mark.parametrize(("successes", "n"), [(-1, 3), (4, 3), (0, 0)])
def test_clopper_pearson_of_no_proportion(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match="are no proportion"):
        clopper_pearson(successes, n)


def test_newcombes_own_examples() -> None:
    # his table II, method 10: 56/70 - 48/80, 9/10 - 3/10, 10/10 - 0/10
    assert newcombe((48, 80), (56, 70)) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert newcombe((3, 10), (9, 10)) == pytest.approx((0.1705, 0.8090), abs=5e-5)
    assert newcombe((0, 10), (10, 10)) == pytest.approx((0.6075, 1.0), abs=5e-5)
