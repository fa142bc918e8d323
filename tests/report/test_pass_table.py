"""Tables of Pass^k and pass@k, checked by hand."""

from __future__ import annotations

import pytest

from pytest_dialeval.report.pass_table import at_least_one_table, interval, pass_table
from pytest_dialeval.report.remarks import remark_lines
from pytest_dialeval.report.table import number
from pytest_dialeval.report.text import summary_lines
from pytest_dialeval.runs.summary import PassKFigure, Summary
from tests.report.figures import agent, point, summary, task


def test_the_table_by_hand() -> None:
    sure = agent(
        "baseline",
        cases=50,
        trials=200,
        task_score_mean=0.42,
        pass_hat_k={
            "1": point(0.42, low=0.3154, high=0.5246, cases=50, of_cases=50),
            "2": point(0.2733),
        },
    )
    assert pass_table(summary(task(agent(), sure))).splitlines() == [
        "task          agent     cases  trials  score  Pass^1  Pass^2  95 % of Pass^1",
        "------------  --------  -----  ------  -----  ------  ------  --------------",
        "live_upgrade  improved  2      4       0.648  0.500   0.333   too few cases",
        "live_upgrade  baseline  50     200     0.420  0.420   0.273   0.315 to 0.525",
    ]


def test_without_any_interval_its_column_is_one_line() -> None:
    assert pass_table(summary()).splitlines() == [
        "task          agent     cases  trials  score  Pass^1  Pass^2",
        "------------  --------  -----  ------  -----  ------  ------",
        "live_upgrade  improved  2      4       0.648  0.500   0.333",
        "no interval of Pass^1: too few cases",
    ]


@pytest.mark.parametrize(
    ("width", "columns"),
    [(None, [1, 2, 3, 4, 6]), (90, [1, 2, 3, 4, 6]), (80, [1, 2, 3, 6]), (20, [1, 6])],
)
def test_a_table_fits_the_terminal(width: int | None, columns: list[int]) -> None:
    curve = {str(k): point(k / 100) for k in range(1, 7)}
    found = summary(task(agent(pass_hat_k=curve, pass_at_k=curve)))

    head = pass_table(found, width).splitlines()[0]

    assert head.split()[5:] == [f"Pass^{k}" for k in columns]
    assert width in (None, 20) or len(head) <= width
    lines = [each.text for each in summary_lines(found, width)]
    hidden = [each for each in range(1, 7) if each not in columns]
    span = f"{hidden[0]}..{hidden[-1]} are" if len(hidden) > 1 else f"{hidden[0]} is"
    assert f"live_upgrade / improved: Pass^{span} in summary.json" in lines


def test_at_least_one_of_k_by_hand() -> None:
    part = agent("part", pass_at_k={"1": point(0.5, 0.25), "2": point(1.0)})
    single = agent("single", pass_at_k={"1": point(0.5)})  # says what Pass^1 says
    assert at_least_one_table(summary(task(agent(), part, single))).splitlines() == [
        "",
        "at least one of k  agent     pass@1         pass@2",
        "-----------------  --------  -------------  ------",
        "live_upgrade       improved  0.500          0.667",
        "live_upgrade       part      0.500 / 0.250  1.000",
    ]
    assert at_least_one_table(summary(task(single))) == ""


def cells(found: Summary, row: int = 0) -> list[str]:
    lines = pass_table(found).splitlines()
    return [each.strip() for each in lines[2 + row].split("  ") if each.strip()]


def test_both_readings_where_something_is_unmeasured() -> None:
    part = agent(
        unmeasured=1,
        pass_hat_k={"1": point(2 / 3, 1 / 2), "2": point(None, 0.0, cases=0)},
    )
    assert cells(summary(task(part))) == [
        "live_upgrade", "improved", "2", "4 (1 unmeasured)", "0.648", "0.667 / 0.500", "- / 0.000",
    ]  # fmt: skip


def test_nothing_measured_and_nothing_planned() -> None:
    empty = agent(
        trials=2,
        unmeasured=2,
        task_score_mean=None,
        pass_hat_k={"1": point(None, 0.0), "2": PassKFigure(
            value=None, value_pessimistic=None, low=None, high=None, cases=0, of_cases=2
        )},
    )  # fmt: skip
    assert cells(summary(task(empty)))[3:] == ["2 (2 unmeasured)", "-", "- / 0.000", "-"]
    none = summary(task(agent(pass_hat_k={}, cases=0, trials=0)))
    assert cells(none) == ["live_upgrade", "improved", "0", "0", "0.648"]
    assert "too few" not in pass_table(none)
    assert len(pass_table(none.model_copy(update={"tasks": []})).splitlines()) == 2


def test_an_agent_with_fewer_trials_has_dashes() -> None:
    short = agent("short", pass_hat_k={"1": point(1.0)})
    assert cells(summary(task(agent(), short)), 1)[-2:] == ["1.000", "-"]


@pytest.mark.parametrize(
    ("widest", "columns", "left_out"),
    [
        (5, [1, 2, 3, 4, 5], []),
        (6, [1, 2, 3, 4, 6], ["5 is"]),
        (12, [1, 2, 3, 4, 12], ["5..11 are"]),
    ],
)
def test_five_columns_of_k_at_most(widest: int, columns: list[int], left_out: list[str]) -> None:
    curve = {str(k): point(k / 100) for k in range(1, widest + 1)}
    many = task(agent(pass_hat_k=curve, pass_at_k=curve))
    shown = [f"{k / 100:.3f}" for k in columns]

    header = pass_table(summary(many)).splitlines()[0].split()
    assert [each for each in header if each.startswith("Pass^")] == [f"Pass^{k}" for k in columns]
    assert cells(summary(many))[5:10] == shown
    _, header, _, row = at_least_one_table(summary(many)).splitlines()
    assert header.split()[-5:] == [f"pass@{k}" for k in columns]
    assert row.split()[-5:] == shown
    assert [each.text for each in remark_lines(summary(many))] == [
        f"live_upgrade / improved: Pass^{each} in summary.json" for each in left_out
    ]


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.0, "0.000"), (1.0, "1.000"), (0.41999999, "0.420")]
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (None, "-"),
        (point(None, 0.0), "-"),
        (point(0.5), "too few cases"),
        (point(0.5, low=0.25, high=0.75), "0.250 to 0.750"),
    ],
)
def test_intervals(figure: PassKFigure | None, text: str) -> None:
    assert interval(figure) == text
