"""Agreement with a truth: known tables, and the formulas against their definitions."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_dialeval.statistics.agreement import Share, Table
from pytest_dialeval.statistics.intervals import wilson

counts = st.integers(0, 60)
tables = st.builds(Table, counts, counts, counts, counts)

# tau-bench's published judge experiments: gpt-4o against the rewards from the database, with the
# agreement and kappa that their author prints.
PUBLISHED = [
    (Table(18, 11, 5, 16), 0.68, 0.368),
    (Table(22, 24, 1, 3), 0.50, 0.063),
    (Table(14, 21, 9, 6), 0.40, -0.163),
    (Table(16, 21, 7, 6), 0.44, -0.079),
    (Table(68, 44, 0, 2), 0.614, 0.051),
]


@pytest.mark.parametrize(("table", "agreement", "kappa"), PUBLISHED)
def test_published_judges(table: Table, agreement: float, kappa: float) -> None:
    assert round(table.agreement().value, 3) == agreement
    assert round(table.kappa(), 3) == kappa
    low, high = table.kappa_interval()
    assert low < table.kappa() < high


def test_sensitivity_and_specificity_with_wilsons_interval() -> None:
    table = Table(18, 11, 5, 16)
    assert table.sensitivity() == Share(18, 23, 18 / 23, *wilson(18, 23))
    assert table.specificity() == Share(16, 27, 16 / 27, *wilson(16, 27))
    assert table.n == 50


def test_cohens_own_example_of_chance() -> None:
    """Half of each, agreeing as chance would: kappa is 0; never agreeing: -1; always: 1."""
    assert Table(25, 25, 25, 25).kappa() == 0
    assert Table(0, 10, 10, 0).kappa() == -1
    assert Table(10, 0, 0, 10).kappa() == 1
    assert Table(10, 0, 0, 10).kappa_interval() is None


@pytest.mark.parametrize("table", [Table(), Table(9), Table(true_negative=9)])
def test_where_nothing_can_differ_kappa_says_nothing(table: Table) -> None:
    assert (table.kappa(), table.kappa_interval()) == (None, None)


def test_what_was_never_seen_has_no_share() -> None:
    assert Table(5, 0, 0, 0).specificity() == Share(0, 0, None, None, None)


def test_the_spread_of_kappa_against_ten_thousand_resamples() -> None:
    """The standard error of resampling is known to 1 %; the formula's is for large samples."""
    interval = Table(40, 9, 6, 45).kappa_interval()
    assert (interval.high - interval.low) / 2 / 1.95996 == pytest.approx(0.0715, rel=0.02)


@pytest.mark.parametrize("wrong", [(-1, 0, 0, 0), (0, 0, 0, -1)])
def test_counts_are_no_less_than_none(wrong: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        Table(*wrong)


@given(tables)
def test_kappa_by_its_definition(table: Table) -> None:
    kappa = table.kappa()
    assume(kappa is not None)
    a, b, c, d = (
        table.true_positive,
        table.false_positive,
        table.false_negative,
        table.true_negative,
    )
    # The form for two by two tables that has no shares in it.
    assert kappa == pytest.approx(2 * (a * d - b * c) / ((a + b) * (b + d) + (a + c) * (c + d)))


@given(tables)
def test_the_interval_holds_kappa_and_shrinks_with_more_of_the_same(table: Table) -> None:
    interval = table.kappa_interval()
    assume(interval is not None)
    assert -1 <= interval.low <= table.kappa() + 1e-12
    assert table.kappa() - 1e-12 <= interval.high <= 1
    more = Table(
        *(
            4 * each
            for each in (
                table.true_positive,
                table.false_positive,
                table.false_negative,
                table.true_negative,
            )
        )
    )
    assert more.kappa() == pytest.approx(table.kappa())
    narrow = more.kappa_interval()
    assert narrow.high - narrow.low <= interval.high - interval.low + 1e-12


@given(tables)
def test_yes_and_no_may_be_swapped(table: Table) -> None:
    swapped = Table(
        table.true_negative, table.false_negative, table.false_positive, table.true_positive
    )
    assert swapped.agreement() == table.agreement()
    assert swapped.sensitivity() == table.specificity()
    if table.kappa() is not None:
        assert math.isclose(swapped.kappa(), table.kappa(), abs_tol=1e-12)


def test_a_rater_that_always_says_the_same_leaves_no_interval_of_kappa() -> None:
    assert Table(7, 3, 0, 0).kappa() == 0
    assert Table(7, 3, 0, 0).kappa_interval() is None
    assert Table(7, 0, 3, 0).kappa_interval() is None
    assert Table(7, 1, 1, 7).kappa_interval() is not None
