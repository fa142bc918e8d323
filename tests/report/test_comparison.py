"""A comparison as text and as Markdown."""

from __future__ import annotations

from pytest_dialeval.report.comparison import comparison_lines, comparison_markdown, thresholds
from pytest_dialeval.runs.baseline import Baseline
from pytest_dialeval.runs.comparing import compare

from ..runs.results import agent, case, results, run_of, task, trials


def text(before: Baseline, after: Baseline, points: float | None = None) -> str:
    return "\n".join(comparison_lines(compare(before, after, draws=500), points=points))


def markdown(before: Baseline, after: Baseline, points: float | None = None) -> str:
    return "\n".join(comparison_markdown(compare(before, after, draws=500), points=points))


GOOD, POOR = run_of(case("p", trials(8)), run_id="old"), run_of(case("p", trials(2, 6)))


def test_what_differs_is_said_before_any_figure() -> None:
    lines = text(GOOD, run_of(case("p", trials(2, 6)), seed="other")).splitlines()
    assert lines[:5] == [
        "before: old; after: run",
        "",
        "shop / clerk",
        "  differs: seed: shop -> other",
        "  seeds or users differ: cases are paired, their trials are not",
    ]


def test_figures_pairs_and_what_could_be_seen() -> None:
    shown = text(GOOD, POOR)
    assert "pass rate   1.000   0.250  -0.750      too few cases  0.007  worse" in shown
    assert "p speaks of these cases alone" in shown
    assert (
        "8 pairs of trials: 2 passed in both runs, 6 only before, 0 only after, 0 in neither "
        "(McNemar, exact: p = 0.031)"
    ) in shown
    assert "more trials in each run would be needed to see 10 points" in shown


def test_no_difference_above_all_that_there_can_be_is_promised() -> None:
    one = run_of(case("p", trials(0, 1)))
    shown = text(one, one)
    assert "this size is too small to find any difference of pass rates in 4 of 5 times; " in shown
    assert "more trials in each run would be needed to see 10 points" in shown
    assert "that differs by" not in shown


def test_both_readings_stand_side_by_side() -> None:
    assert "-0.333 / -0.500" in text(GOOD, run_of(case("p", trials(4, 2, 2))))


def test_nothing_but_obstacles_where_runs_are_not_comparable() -> None:
    other = run_of(case("p", trials(8)), version="2")
    assert text(GOOD, other).splitlines()[2:] == [
        "shop / clerk",
        "  nothing that is known differs",
        "  not comparable: the task's version differs: 1 -> 2",
    ]
    bank = run_of(case("p", trials(8)), id="bank", run_id="new")
    assert text(GOOD, bank).splitlines()[1] == (
        "not comparable: these are runs of different suites: old has shop and new has bank"
    )


def test_a_threshold_is_called_what_it_is() -> None:
    shown = text(GOOD, POOR, points=5)
    assert (
        "engineering threshold of shop / clerk: MISSED: pass rate -75.0 points, "
        "allowed is a fall of 5"
    ) in shown
    assert "significan" not in shown
    assert all(each.held for each in thresholds(compare(GOOD, GOOD), 0))
    assert not any(each.held for each in thresholds(compare(GOOD, POOR), 74.9))
    assert all(each.held for each in thresholds(compare(GOOD, POOR), 75))


def test_a_threshold_without_a_figure_is_not_decided() -> None:
    nothing = run_of(case("p", trials(0, 0, 8)))
    shown = text(GOOD, nothing, points=5)
    why = "no case has measured trials in both runs"
    assert shown.endswith(f"engineering threshold of shop / clerk: not decided: {why}")
    assert f"  no pass rate: {why}\n" in shown
    assert [each.held for each in thresholds(compare(GOOD, nothing), 100)] == [None]
    assert thresholds(compare(GOOD, run_of(case("p", trials(8)), version="2")), 5) == []


def test_markdown_has_the_first_table_open_and_the_others_folded() -> None:
    shown = markdown(GOOD, POOR, points=5)
    assert shown.startswith("**before: old; after: run**\n\n### shop / clerk\n")
    assert "| overall" in shown
    assert shown.count("<details>") == shown.count("</details>") == 2
    assert "- engineering threshold of shop / clerk: MISSED" in shown


def test_markdown_takes_text_as_text() -> None:
    odd = results(
        task(agent(case("p", trials(4)), version="**v1** <b> | [x](y)\n# z @all")),
        label="<script>`",
    )
    plain = results(task(agent(case("p", trials(4)))))
    shown = markdown(odd, plain)
    assert r"\*\*v1\*\* &lt;b> \| \[x\](y) \# z \@all" in shown
    assert "<script>" not in shown


def test_control_characters_reach_no_terminal() -> None:
    odd = results(task(agent(case("p", trials(4)), version="\x1b[31mred")), label="\x07")
    assert "\x1b" not in text(odd, GOOD)
    assert "\x07" not in text(odd, GOOD)
