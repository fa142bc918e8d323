"""What a comparison of this size could see."""

from __future__ import annotations

import math

import pytest

from pytest_dialeval.statistics.detectable import detectable
from pytest_dialeval.statistics.within_cases import Case

TIMES = 1.959964 + 0.841621  # z of 95 %, two-sided, and of 80 %


def trials(passed: int, failed: int) -> list[float]:
    return [1.0] * passed + [0.0] * failed


def test_few_cases_by_the_spread_of_their_trials() -> None:
    found = detectable([Case(trials(10, 10), trials(10, 10))] * 4)
    assert found is not None
    # p = 21/42 = .5: variance .25 x (1/20 + 1/20) a case, over 4 cases
    error = math.sqrt(4 * 0.25 / 10) / 4
    assert found.error == pytest.approx(error)
    assert found.difference == pytest.approx(TIMES * error, rel=1e-5)
    assert found.trials == 80
    wanted = math.ceil(80 * ((found.difference / 0.1) ** 2 - 1))
    assert found.more_trials() == wanted == 313


def test_many_cases_by_how_they_differ() -> None:
    cases = [Case(trials(2, 2), trials(3, 1)), Case(trials(2, 2), trials(1, 3))] * 8
    found = detectable(cases)
    assert found is not None
    # 16 differences of +-.25: variance .0625 x 16/15
    assert found.error == pytest.approx(math.sqrt(0.0625 * 16 / 15 / 16))


def test_cases_that_do_not_differ_are_no_certainty() -> None:
    found = detectable([Case(trials(4, 0), trials(4, 0))] * 12)
    assert found is not None
    assert found.error > 0


def test_more_trials_see_what_was_asked_for() -> None:
    few = detectable([Case(trials(5, 5), trials(5, 5))] * 4)
    assert few is not None
    larger = 40 + few.more_trials(0.2)
    many = detectable(
        [Case(trials(larger // 8, larger // 8), trials(larger // 8, larger // 8))] * 4
    )
    assert many is not None
    assert many.difference == pytest.approx(0.2, rel=0.05)
    assert many.more_trials(0.3) == 0


def test_nothing_measured_is_nothing_to_say() -> None:
    assert detectable([]) is None
    assert detectable([Case([1.0], [])]) is None
