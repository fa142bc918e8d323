"""The summary's lines, checked by hand."""

from __future__ import annotations

import pytest

from pytest_dialeval.report.line import Line
from pytest_dialeval.report.text import (
    breach_lines,
    counts_sentence,
    failed_lines,
    setting_lines,
    summary_lines,
)
from pytest_dialeval.runs.summary import Outcomes, SettingFigure, Verdicts
from tests.report.figures import agent, gate, rubric, summary, task


@pytest.mark.parametrize(
    ("outcomes", "verdicts", "sentence"),
    [
        (
            Outcomes(completed=150, limit_reached=30, agent_error=20),
            Verdicts(
                passed=700, failed=60, soft_failed=50, not_applicable=8, unmeasured=2, not_run=1
            ),
            "200 conversations; rubrics: 700 passed, 60 failed, 50 soft-failed, "
            "8 not applicable, 2 unmeasured, 1 not run",
        ),
        (Outcomes(completed=1), Verdicts(passed=1), "1 conversation; rubrics: 1 passed"),
        (Outcomes(not_run=3), Verdicts(not_run=3), "0 conversations; rubrics: 3 not run"),
        (Outcomes(), Verdicts(), "0 conversations; rubrics: none"),
        (
            Outcomes(completed=2, cancelled=5, not_run=3),
            Verdicts(passed=2, not_run=8),
            "7 conversations (5 stopped before the end); rubrics: 2 passed, 8 not run",
        ),
    ],
)
def test_counts(outcomes: Outcomes, verdicts: Verdicts, sentence: str) -> None:
    assert counts_sentence(summary(outcomes=outcomes, verdicts=verdicts)) == sentence


def test_breaches_name_task_agent_and_rubrics() -> None:
    bad = agent(
        "baseline",
        safety_breaches=3,
        rubrics=[
            rubric("greet", passed=1),
            rubric("promise", "safety", passed=2),
            rubric("numbers", "safety", passed=3),
            rubric("pressure", "safety"),
        ],
    )
    assert list(breach_lines(summary(task(agent(), bad)))) == [
        Line(
            "SAFETY: live_upgrade / baseline: 3 of 4 trials breached: promise (2), numbers (1)",
            "red",
        )
    ]
    assert list(breach_lines(summary())) == []


def test_failed_rubrics_most_often_failed_first() -> None:
    rubrics = [
        rubric("greet", passed=3),
        rubric("kind"),
        rubric("promise", "safety", n=6, passed=3),
        rubric("fee", passed=1),
    ]
    assert list(failed_lines(summary(task(agent(rubrics=rubrics), agent("good"))))) == [
        Line("live_upgrade / improved failed: promise 3 of 6, fee 3 of 4, greet 1 of 4")
    ]


def test_of_many_failed_rubrics_eight_are_named() -> None:
    rubrics = [rubric(f"r{place}", n=20, passed=place) for place in range(10)]
    [line] = failed_lines(summary(task(agent(rubrics=rubrics))))
    assert line.text.startswith("live_upgrade / improved failed: r0 20 of 20, r1 19 of 20, ")
    assert line.text.endswith(", r7 13 of 20 and 2 more")


def test_settings_name_their_source() -> None:
    settings = {
        "trials": SettingFigure(value=3, source="--dialeval-trials"),
        "label": SettingFigure(value="nightly", source="DIALEVAL_LABEL"),
    }
    assert list(setting_lines(summary(settings=settings))) == [
        Line("settings: trials = 3 (--dialeval-trials); label = nightly (DIALEVAL_LABEL)")
    ]
    assert list(setting_lines(summary())) == []


def test_settings_are_shown_as_they_are_written() -> None:
    settings = {
        "agent": SettingFigure(value=["a=python:x.py:y", "b"], source="--dialeval-agent"),
        "no-judge": SettingFigure(value=True, source="--dialeval-no-judge"),
    }
    assert [each.text for each in setting_lines(summary(settings=settings))] == [
        "settings: agent = a=python:x.py:y, b (--dialeval-agent); no-judge = true "
        "(--dialeval-no-judge)"
    ]


def test_the_order_of_the_whole() -> None:
    found = summary(
        task(agent(safety_breaches=1, rubrics=[rubric("promise", "safety", passed=3)])),
        gates=[
            gate(status="passed", bound=0.1, task="c"),
            gate(task="a"),
            gate(status="not decided", task="b"),
        ],
        notes=["a note"],
        settings={"trials": SettingFigure(value=3, source="x")},
    )
    lines = [each.text for each in summary_lines(found)]
    heads = [
        "4 conversations",
        "SAFETY",
        "gate pass_hat_k (k=3) of a / good: MISSED",
        "gate pass_hat_k (k=3) of b / good: not decided",
        "",
        "task",
        "----",
        "live_upgrade",
        "no interval",
        "",
        "at least one of k",
        "----",
        "live_upgrade",
        "live_upgrade / improved failed: promise 1 of 4",
        "gate pass_hat_k (k=3) of c / good: held",
        "a note",
        "settings",
    ]
    assert [each[: len(head)] for each, head in zip(lines, heads, strict=True)] == heads


def test_nothing_in_it_steers_a_terminal() -> None:
    evil = "x\x1b[31m\x1b]0;title\x07\r\n\x9b2Jy"
    found = summary(
        task(
            agent(safety_breaches=1),
            id=evil,
            source=f"{evil}::{evil}",
            selection="selected rubrics",
        ),
        gates=[gate(task=evil, source=evil, why=evil)],
        notes=[evil],
        settings={"label": SettingFigure(value=evil, source=evil)},
    )
    for each in summary_lines(found):
        assert each.text.isprintable(), each
