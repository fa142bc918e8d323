"""Pass^k and pass@k against published figures and their identities."""

from __future__ import annotations

import json
import time
from collections import Counter
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.statistics.intervals import wilson
from pytest_dialeval.statistics.pass_k import (
    CaseCount,
    PassK,
    pass_at_k,
    pass_curve,
    pass_hat_k,
)

SHARED = Path(__file__).resolve().parents[3] / "shared"


def cases(n: int, histogram: dict[int, int]) -> list[CaseCount]:
    """`histogram`: passed trials -> cases of n trials."""
    return [CaseCount(c, n - c) for c, number in histogram.items() for _ in range(number)]


def figures(curve: dict[int, PassK], digits: int) -> list[float]:
    return [round(each.value, digits) for each in curve.values()]


# gpt-4o on the airline tasks of tau-bench: 50 tasks, 4 trials each; published .420 .273 .220 .200
AIRLINE = cases(4, {0: 14, 1: 12, 2: 10, 3: 4, 4: 10})
# The only numbers of passes that give the series of tau-bench's Pass^k notebook (50 x 10 trials)
NOTEBOOK = cases(10, {0: 25, 1: 9, 2: 3, 3: 2, 4: 4, 5: 1, 6: 3, 7: 2, 10: 1})


def test_the_published_airline_figures() -> None:
    assert figures(pass_curve(AIRLINE), 5) == [0.42, 0.27333, 0.22, 0.2]
    assert figures(pass_curve(AIRLINE, reading="at"), 5) == [0.42, 0.56667, 0.66, 0.72]


def test_the_recorded_rewards_give_the_published_figures() -> None:
    path = SHARED / "data" / "tau" / "tau1_gpt-4o-airline_50x4.json"
    if not path.exists():
        pytest.skip("../shared is not here")
    trials: dict[int, list[bool]] = {}
    for each in json.loads(path.read_bytes()):
        trials.setdefault(each["task_id"], []).append(each["reward"] >= 1)
    recorded = [CaseCount.of(each) for each in trials.values()]
    assert Counter(recorded) == Counter(AIRLINE)


def test_the_notebook_series() -> None:
    hat = [0.168, 0.0778, 0.0463, 0.0318, 0.0248, 0.0216, 0.0203, 0.02, 0.02, 0.02]
    at = [0.168, 0.2582, 0.317, 0.3589, 0.3913, 0.4183, 0.4417, 0.4627, 0.482, 0.5]
    assert figures(pass_curve(NOTEBOOK), 4) == hat
    assert figures(pass_curve(NOTEBOOK, reading="at"), 4) == at


def test_two_of_three_passes_do_not_make_three_of_three() -> None:
    # the plug-in estimate (2/3)^3 = .296 would claim so
    assert pass_hat_k(3, 2, 3) == 0
    assert pass_hat_k(3, 2, 2) == 1 / 3
    assert pass_at_k(3, 1, 2) == 2 / 3
    assert pass_at_k(3, 1, 3) == 1


@pytest.mark.parametrize("reading", [pass_hat_k, pass_at_k])
@pytest.mark.parametrize(("n", "c", "k"), [(3, 2, 4), (3, 4, 1), (3, -1, 1), (3, 1, 0), (0, 0, 1)])
def test_what_cannot_be_drawn_is_refused(reading: object, n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"cannot have passed|needs 1 <= k <= n"):
        reading(n, c, k)


def test_an_unknown_reading_is_refused() -> None:
    with pytest.raises(ValueError, match="'up' is no reading; it is 'hat' or 'at'"):
        pass_curve(AIRLINE, reading="up")


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        CaseCount(1, -1)


def test_counting_trials() -> None:
    assert CaseCount.of([True, None, False, True]) == CaseCount(2, 1, 1)
    assert CaseCount.of([]) == CaseCount(0, 0, 0)


@given(st.integers(1, 8), st.data())
def test_the_estimators_count_the_draws(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))
    draws = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_hat_k(n, c, k) == sum(map(all, draws)) / len(draws)
    assert pass_at_k(n, c, k) == sum(map(any, draws)) / len(draws)


def test_large_numbers_stay_exact() -> None:
    # C(999, 500) / C(1000, 500) = 1/2, far beyond what floats can hold in between
    assert pass_hat_k(1000, 999, 500) == 0.5
    assert pass_curve([CaseCount(999, 1)])[500].value == pytest.approx(0.5, abs=1e-12)


counts = st.builds(
    CaseCount, passed=st.integers(0, 6), failed=st.integers(0, 6), unmeasured=st.integers(0, 3)
)
lists = st.lists(counts, max_size=30)
full = st.integers(1, 7).flatmap(
    lambda n: st.lists(st.integers(0, n).map(lambda c: CaseCount(c, n - c)), min_size=1)
)


@given(lists)
def test_a_curve_is_the_mean_of_the_estimators(given_cases: list[CaseCount]) -> None:
    for reading, estimate in (("hat", pass_hat_k), ("at", pass_at_k)):
        for k, point in pass_curve(given_cases, reading=reading).items():
            pairs = [(each.passed + each.failed, each.passed) for each in given_cases]
            shares = [Fraction(estimate(n, c, k)) for n, c in pairs if n >= k]
            assert point.cases == len(shares)
            assert point.of_cases == len(given_cases)
            assert (point.value is None) == (not shares)
            if shares:
                assert point.value == pytest.approx(float(sum(shares) / len(shares)), abs=1e-12)


@given(full)
def test_the_identities_of_whole_cases(given_cases: list[CaseCount]) -> None:
    hat = [each.value for each in pass_curve(given_cases).values()]
    at = [each.value for each in pass_curve(given_cases, reading="at").values()]
    shares = [each.passed / (each.passed + each.failed) for each in given_cases]
    assert hat[0] == pytest.approx(at[0])
    assert hat[0] == pytest.approx(sum(shares) / len(shares))
    assert hat == sorted(hat, reverse=True)
    assert at == sorted(at)
    assert hat[-1] == sum(each.failed == 0 for each in given_cases) / len(given_cases)
    assert at[-1] == sum(each.passed > 0 for each in given_cases) / len(given_cases)


@given(full)
def test_both_readings_agree_where_all_is_measured(given_cases: list[CaseCount]) -> None:
    for reading in ("hat", "at"):
        for point in pass_curve(given_cases, reading=reading).values():
            assert point.value == point.value_pessimistic


@given(lists)
def test_the_pessimistic_pass_hat_k_is_never_above(given_cases: list[CaseCount]) -> None:
    for point in pass_curve(given_cases).values():
        if point.value is not None:
            assert point.value_pessimistic <= point.value + 1e-12


@given(lists, st.randoms())
def test_the_order_of_cases_does_not_show(given_cases: list[CaseCount], shuffle: object) -> None:
    other = list(given_cases)
    shuffle.shuffle(other)
    assert pass_curve(other) == pass_curve(given_cases)


@given(lists)
def test_passing_and_failing_mirror(given_cases: list[CaseCount]) -> None:
    turned = [CaseCount(each.failed, each.passed, each.unmeasured) for each in given_cases]
    for k, point in pass_curve(given_cases, reading="at").items():
        other = pass_curve(turned)[k]
        assert (point.value is None) == (other.value is None)
        if point.value is not None:
            assert point.value == pytest.approx(1 - other.value)


def test_unmeasured_trials_are_left_out_and_counted_as_failures() -> None:
    # by hand, k = 2: 3 of 3 -> 1, 2 of 4 -> 1/6; with failures for unknowns C(3,2)/C(4,2) = 1/2
    curve = pass_curve([CaseCount(3, 0, 1), CaseCount(2, 2)])
    assert curve[2].value == pytest.approx((1 + 1 / 6) / 2)
    assert curve[2].value_pessimistic == pytest.approx((1 / 2 + 1 / 6) / 2)


def test_a_case_with_too_few_trials_leaves_the_mean() -> None:
    # tau2's rule would make the whole column vanish, tau-bench's would count a failure
    curve = pass_curve([CaseCount(4, 0)] * 49 + [CaseCount(3, 0, 1)])
    assert (curve[4].value, curve[4].cases, curve[4].of_cases) == (1.0, 49, 50)
    assert curve[4].value_pessimistic == 49 / 50
    assert (curve[3].value, curve[3].cases) == (1.0, 50)
    assert curve[3].value_pessimistic == pytest.approx((49 + 1 / 4) / 50)


def test_k_beyond_what_was_measured_is_unknown() -> None:
    curve = pass_curve([CaseCount(1, 0, 1)], k_max=3)
    assert curve[2] == PassK(None, 0.0, None, None, 0, 1)
    assert curve[3] == PassK(None, None, None, None, 0, 1)


def test_no_cases_no_curve() -> None:
    assert pass_curve([]) == {}
    assert pass_curve([CaseCount(0, 0, 2)])[1] == PassK(None, 0.0, None, None, 0, 1)


def test_below_ten_cases_there_is_no_interval() -> None:
    assert pass_curve(cases(4, {2: 9}))[1].low is None
    assert pass_curve(cases(4, {2: 9}))[1].high is None
    assert pass_curve(cases(4, {2: 10}))[1].low is not None


def test_only_cases_in_the_mean_count_for_the_interval() -> None:
    curve = pass_curve(cases(4, {3: 9}) + cases(2, {1: 5}))
    assert curve[2].low is not None
    assert curve[3].low is None


def test_the_interval_is_clustered_by_case() -> None:
    # sum of c^2/16 over the 50 cases = (12 x 1 + 10 x 4 + 4 x 9 + 10 x 16) / 16 = 15.5;
    # variance (15.5 - 50 x .42^2) / 49 = .13633; error .05222; t(49; .975) = 2.00958
    point = pass_curve(AIRLINE)[1]
    assert point.low == pytest.approx(0.42 - 2.00958 * 0.05222, abs=1e-4)
    assert point.high == pytest.approx(0.42 + 2.00958 * 0.05222, abs=1e-4)
    # 200 trials taken for independent would claim less than it
    assert point.high - point.low > wilson(84, 200).high - wilson(84, 200).low


def test_one_trial_a_case_is_a_proportion() -> None:
    # 28 of 50, the toolorchestra airline run
    point = pass_curve(cases(1, {1: 28, 0: 22}))[1]
    assert point.value == 0.56
    assert (point.low, point.high) == pytest.approx(wilson(28, 50))
    assert (round(point.low, 4), round(point.high, 4)) == (0.4231, 0.6884)


def test_a_case_without_a_measured_trial_does_not_change_the_interval() -> None:
    point = pass_curve([*cases(1, {1: 28, 0: 22}), CaseCount(0, 0, 1)])[1]
    assert (point.low, point.high) == pytest.approx(wilson(28, 50))
    assert (point.cases, point.of_cases) == (50, 51)
    assert point.value_pessimistic == pytest.approx(28 / 51)


def test_all_passing_is_no_certainty() -> None:
    for k, point in pass_curve(cases(4, {4: 50})).items():
        assert (k, point.value, point.high) == (k, 1.0, 1.0)
        assert round(point.low, 4) == 0.9287


@pytest.mark.parametrize(
    "given_cases",
    [
        [CaseCount(1, 0), CaseCount(0, 1)] * 100_000,
        [CaseCount(number % 5, 4 - number % 5) for number in range(50_000)],
        [CaseCount(number, 447 - number, number % 3) for number in range(447)],
        [CaseCount(15_000 + number, 5_000 - number) for number in range(10)],
    ],
    ids=["200000x1", "50000x4", "447x447", "10x20000"],
)
def test_two_hundred_thousand_trials_cost_no_square(given_cases: list[CaseCount]) -> None:
    """The second that it may take is held by tests/benchmarks, on a machine that is left alone."""
    for reading in ("hat", "at"):
        start = time.process_time()
        pass_curve(given_cases, reading=reading)
        assert time.process_time() - start < 10
