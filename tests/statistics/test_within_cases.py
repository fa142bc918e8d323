"""Trials of a case trade places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_dialeval.statistics.within_cases import Case, within_cases


def trials(passed: int, failed: int) -> list[float]:
    return [1.0] * passed + [0.0] * failed


COUNTS = st.tuples(*[st.integers(0, 8)] * 4).filter(lambda each: each[0] + each[1] > 0)
FILLED = COUNTS.filter(lambda each: each[2] + each[3] > 0)


@given(FILLED)
def test_one_case_is_fishers_exact_test(counts: tuple[int, int, int, int]) -> None:
    a, b, c, d = counts
    chance = within_cases([Case(trials(a, b), trials(c, d))])
    table = [[c, d], [a, b]]
    assert chance.fall == pytest.approx(stats.fisher_exact(table, "less").pvalue)
    assert chance.rise == pytest.approx(stats.fisher_exact(table, "greater").pvalue)


def test_several_cases_by_hand() -> None:
    # In each of two cases 2 of 2 passed and 0 of 2 do: C(4,2) = 6 ways each, one as deep.
    chance = within_cases([Case([1, 1], [0, 0])] * 2)
    assert chance.fall == pytest.approx(1 / 36)
    assert chance.rise == pytest.approx(1)
    assert chance.either == pytest.approx(2 / 36)


def test_a_case_that_changed_for_good_is_seen_among_many_that_did_not() -> None:
    same = Case(trials(4, 0), trials(4, 0))
    broken = Case(trials(4, 0), trials(0, 4))
    assert within_cases([same] * 18 + [broken] * 2).fall == pytest.approx(1 / 70**2)


def test_scores_are_shuffled_and_agree_with_scipy() -> None:
    before, after = [0.9, 0.8, 1.0, 0.7, 0.95], [0.6, 0.8, 0.5, 0.75, 0.4]
    chance = within_cases([Case(before, after)])
    exact = stats.permutation_test(
        (after, before),
        lambda x, y, axis: np.mean(x, axis) - np.mean(y, axis),
        vectorized=True,
        alternative="less",
    ).pvalue
    assert chance.fall == pytest.approx(exact, abs=0.01)
    assert within_cases([Case(before, after)]) == chance


def test_shuffles_agree_with_the_exact_test() -> None:
    cases = [Case(trials(5, 1), trials(2, 4)), Case(trials(6, 0), trials(4, 2))]
    exact = within_cases(cases)
    # One score between makes the whole a matter of shuffles, and moves next to nothing.
    nearly = [cases[0], Case([0.999999, *trials(5, 0)], cases[1].after)]
    assert within_cases(nearly).fall == pytest.approx(exact.fall, abs=0.012)


def test_nothing_to_compare_is_no_change() -> None:
    assert within_cases([]).either == 1
    assert within_cases([Case([], [1.0]), Case([1.0], [])]).either == 1


def test_one_trial_against_one_can_show_nothing() -> None:
    assert within_cases([Case([1.0], [0.0])]).fall == pytest.approx(0.5)


@given(st.lists(FILLED, min_size=1, max_size=5))
def test_fall_and_rise_trade_places_with_the_runs(counts: list[tuple[int, ...]]) -> None:
    cases = [Case(trials(a, b), trials(c, d)) for a, b, c, d in counts]
    there, back = within_cases(cases), within_cases([Case(b, a) for a, b in cases])
    assert there.fall == pytest.approx(back.rise)
    assert there.fall + there.rise >= 1 - 1e-9  # both count what was seen
    assert 0 <= there.either <= 1


@pytest.mark.slow
def test_an_unchanged_agent_is_rarely_called_worse() -> None:
    """At 0.025, in 1 of 40 reruns at most, whatever the size."""
    draw = np.random.default_rng(8)
    for cases, k, share in ((3, 4, 0.9), (5, 8, 0.5), (20, 4, 0.7), (1, 20, 0.8)):
        wrong = 0
        for _ in range(2000):
            rates = draw.beta(8 * share, 8 * (1 - share), cases)
            made = [
                Case(*((draw.random(k) < rate).astype(float).tolist() for _ in range(2)))
                for rate in rates
            ]
            wrong += within_cases(made).fall <= 0.025
        assert wrong / 2000 <= 0.025 + 3 * (0.025 * 0.975 / 2000) ** 0.5, (cases, k, share)
