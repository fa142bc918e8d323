"""Which trials may trade places."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_dialeval.runs.baseline import CaseResults
from pytest_dialeval.runs.strata import MIN_PAIRS, strata

from .results import case, trials


def passed(of: CaseResults) -> Sequence[bool | None]:
    return of.passed


def groups(
    *cases: tuple[CaseResults, CaseResults], paired: bool = True
) -> list[tuple[list[bool], list[bool]]]:
    return strata(cases, passed, passed, paired=paired)


def test_pairs_where_there_are_enough() -> None:
    whole = case("p", trials(MIN_PAIRS)), case("p", trials(0, MIN_PAIRS))
    assert groups(whole) == [([True], [False])] * MIN_PAIRS
    assert groups(whole, paired=False) == [([True] * MIN_PAIRS, [False] * MIN_PAIRS)]


def test_cases_where_pairs_are_few() -> None:
    few = case("p", trials(4)), case("p", trials(4))
    assert groups(few, few) == [([True] * 4, [True] * 4)] * 2


def test_trials_that_nobody_measured_have_no_pair() -> None:
    before = case("p", [*trials(MIN_PAIRS), None, True])
    after = case("p", [*trials(MIN_PAIRS), True, None])
    assert len(groups((before, after))) == MIN_PAIRS


def test_trials_without_partners_keep_the_case_whole() -> None:
    more = case("p", trials(MIN_PAIRS)), case("p", trials(MIN_PAIRS + 1))
    assert [len(each) for each in groups(more)[0]] == [MIN_PAIRS, MIN_PAIRS + 1]


def test_a_case_of_one_run_alone_is_no_group() -> None:
    assert groups((case("p", trials(2)), case("p", trials(0, 0, 2)))) == []
