"""A rate corrected for a rater that errs: known answers, coverage, and what can't be corrected."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.statistics.agreement import Table
from pytest_dialeval.statistics.corrected import corrected_rate, effective_trials
from pytest_dialeval.statistics.pass_k import CaseCount

GOOD = Table(true_positive=90, false_positive=20, false_negative=10, true_negative=80)


def single(passed: int, n: int) -> list[CaseCount]:
    """As many cases of one trial."""
    return [CaseCount(1, 0)] * passed + [CaseCount(0, 1)] * (n - passed)


def test_by_hand() -> None:
    """(0.62 + 0.8 - 1) / (0.9 + 0.8 - 1) = 0.42 / 0.7."""
    found = corrected_rate(single(62, 100), GOOD)
    assert (found.measured, found.why) == (0.62, "")
    assert found.value == pytest.approx(0.6)
    assert found.low < 0.6 < found.high


def test_a_perfect_judge_corrects_nothing() -> None:
    found = corrected_rate(single(62, 100), Table(1000, 0, 0, 1000))
    assert found.value == pytest.approx(0.62)


def test_the_interval_is_wider_than_that_of_the_trials_alone_and_knows_few_labels() -> None:
    many, few = (corrected_rate(single(62, 100), table) for table in (GOOD, Table(18, 4, 2, 16)))
    sure = corrected_rate(single(62, 100), Table(9000, 2000, 1000, 8000))
    assert many.value == pytest.approx(few.value)
    assert sure.high - sure.low < many.high - many.low < few.high - few.low
    # More trials don't help where the judge is what is not known.
    endless = corrected_rate(single(6200, 10_000), Table(18, 4, 2, 16))
    assert endless.high - endless.low > 0.25


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (Table(), "no label says met"),
        (Table(5, 0, 0, 0), "no label says not_met"),
        (Table(0, 0, 0, 5), "no label says met"),
        (Table(25, 25, 25, 25), "do not show that the judge is better than chance"),
        (Table(2, 20, 20, 2), "do not show that the judge is better than chance"),
        (Table(1, 0, 0, 1), "do not show that the judge is better than chance"),
        # Published: this judge says yes to nearly all of tau-bench.
        (Table(22, 24, 1, 3), "do not show that the judge is better than chance"),
    ],
)
def test_what_cannot_be_corrected(table: Table, why: str) -> None:
    found = corrected_rate(single(5, 10), table)
    assert (found.measured, found.value, found.low, found.high) == (0.5, None, None, None)
    assert why in found.why


def test_no_trial_no_rate() -> None:
    found = corrected_rate([CaseCount(0, 0, 3)], GOOD)
    assert (found.measured, found.value, found.why) == (None, None, "no trial was measured")


def test_beyond_what_the_judge_can_say_is_0_or_1() -> None:
    assert corrected_rate(single(0, 50), GOOD).value == 0
    assert corrected_rate(single(50, 50), GOOD).value == 1


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        (single(5, 10), 9.0),  # n - 1: as a sample's variance is estimated
        ([CaseCount(4, 0)] * 5 + [CaseCount(0, 4)] * 5, 9.0),  # trials of a case say the same
        ([CaseCount(2, 2)] * 10, 40.0),  # and here they don't
        ([CaseCount(4, 0)] * 10, 10.0),  # nothing differs: the careful reading
        ([CaseCount(3, 1)], 1.0),
        ([CaseCount(0, 0, 4)], 0.0),
        ([], 0.0),
        ([CaseCount(3, 1), CaseCount(0, 0, 4)], 1.0),
    ],
)
def test_trials_of_a_case_are_no_independent_samples(
    cases: list[CaseCount], expected: float
) -> None:
    assert effective_trials(cases) == pytest.approx(expected)


cases_of = st.lists(st.builds(CaseCount, st.integers(0, 6), st.integers(0, 6)), min_size=1)
tables = st.builds(Table, *[st.integers(0, 80)] * 4)


@given(cases_of, tables)
def test_the_interval_holds_the_value_and_stays_a_share(
    cases: list[CaseCount], table: Table
) -> None:
    found = corrected_rate(cases, table)
    assert (found.value is None) == bool(found.why)
    if found.value is not None:
        assert 0 <= found.low <= found.value <= found.high <= 1


@given(cases_of)
def test_effective_trials_are_some_and_no_more_than_there_are(cases: list[CaseCount]) -> None:
    n = sum(each.passed + each.failed for each in cases)
    assume(n)
    assert 0 < effective_trials(cases) <= n


@pytest.mark.parametrize(
    ("truth", "sensitivity", "specificity", "labels", "trials"),
    [(0.5, 0.9, 0.9, (50, 50), 200), (0.9, 0.9, 0.8, (40, 20), 100), (1.0, 0.9, 0.9, (50, 50), 80)],
)
def test_the_interval_covers_the_truth(
    truth: float, sensitivity: float, specificity: float, labels: tuple[int, int], trials: int
) -> None:
    """Of 400 experiments with a known truth 95 % should hold it; 92 % is 2.7 errors below that."""
    draw = Draw("coverage", str((truth, labels)), "p", 1)

    def hits(chance: float, n: int, purpose: str) -> int:
        return sum(draw.unit(purpose, each) < chance for each in range(n))

    rate = truth * sensitivity + (1 - truth) * (1 - specificity)
    covered = 0
    for each in range(400):
        yes, no = (
            hits(sensitivity, labels[0], f"se {each}"),
            hits(specificity, labels[1], f"sp {each}"),
        )
        table = Table(yes, labels[1] - no, labels[0] - yes, no)
        found = corrected_rate(single(hits(rate, trials, f"p {each}"), trials), table)
        covered += found.low <= truth <= found.high
    assert covered >= 0.92 * 400
