"""What no table says."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dialeval.report.remarks import remark_lines, simulator_lines
from pytest_dialeval.report.text import summary_lines
from pytest_dialeval.runs.summary import Outcomes, TaskFigures
from tests.report.figures import agent, point, rubric, simulator, summary, task


def remarks(*tasks: TaskFigures, **more: Any) -> list[str]:
    return [each.text for each in remark_lines(summary(*tasks, **more))]


def test_cases_with_too_few_trials_are_told() -> None:
    curve = {
        "1": point(0.5, cases=50, of_cases=50),
        "2": point(0.5, cases=50, of_cases=50),
        "3": point(0.4, cases=49, of_cases=50),
        "4": point(0.3, cases=49, of_cases=50),
        "5": point(0.2, cases=3, of_cases=50),
    }
    assert remarks(task(agent(pass_hat_k=curve))) == [
        "live_upgrade / improved: Pass^3..4 over 49 of 50 cases",
        "live_upgrade / improved: Pass^5 over 3 of 50 cases",
    ]


def test_what_could_not_be_said() -> None:
    found = agent(
        unmeasured=1,
        pass_hat_k={"1": point(2 / 3, 1 / 2)},
        safety_exercised=0,
        isolated=False,
        rubrics=[rubric("promise", "safety")],
    )
    assert remarks(
        task(found, selection="selected rubrics"), notes=["1 note on the suites: x"]
    ) == [
        "live_upgrade / improved: 1 of 4 trials unmeasured; behind the slash they count as failed",
        "live_upgrade / improved: safety was not exercised",
        "live_upgrade: Pass^k over the selected rubrics of s.dialeval.yaml",
        "improved: not isolated, the agent runs in this process",
        "1 note on the suites: x",
    ]


def test_no_slash_is_spoken_of_where_none_is_shown() -> None:
    found = agent(unmeasured=1, pass_hat_k={"1": point(0.0, 0.0)})
    assert remarks(task(found)) == ["live_upgrade / improved: 1 of 4 trials unmeasured"]


@pytest.mark.parametrize(("not_run", "said"), [(1, "1 trial did"), (7, "7 trials did")])
def test_where_trials_did_not_run_one_remark_stands_for_all(not_run: int, said: str) -> None:
    found = agent(unmeasured=1, pass_hat_k={"1": point(2 / 3, 1 / 2, cases=1)})
    assert remarks(task(found, agent()), outcomes=Outcomes(completed=3, not_run=not_run)) == [
        f"{said} not run: these figures are not final"
    ]


def test_agents_in_this_process_are_named_once() -> None:
    inside, other = agent("py", isolated=False), agent("shop", isolated=False)
    assert remarks(task(inside, agent()), task(inside, other)) == [
        "py, shop: not isolated, they run in this process"
    ]


def test_where_all_is_well_there_is_nothing_to_remark() -> None:
    assert remarks() == []
    assert remarks(task(agent(safety_exercised=0))) == []  # no safety rubric, no sentence


def test_how_faithfully_a_model_played_the_user() -> None:
    first = simulator(asked_again=2, reasons={"empty": 1, "repeated": 1})
    second = simulator(asked_again=1, template=1, reasons={"repeated": 1})
    found = summary(task(agent("a", simulator=first), agent("b", simulator=second)))
    assert [each.text for each in simulator_lines(found)] == [
        "simulated user: 120 lines by openai:gpt-4o, 3 asked again (repeated 2, empty 1), "
        "1 from the template"
    ]


@pytest.mark.parametrize(
    ("counts", "colour", "said"),
    [
        ({"lines": 0, "template": 4}, "yellow", "openai:gpt-4o gave no line that could be sent"),
        ({"lines": 3, "template": 4}, "yellow", "openai:gpt-4o gave less than half of the lines"),
        ({"lines": 4, "template": 4}, "", "4 from the template"),
    ],
)
def test_a_model_that_hardly_plays_stands_out(
    counts: dict[str, int], colour: str, said: str
) -> None:
    [line] = simulator_lines(summary(task(agent("a", simulator=simulator(**counts)))))
    assert line.colour == colour
    assert line.text.endswith(said)


def test_models_that_play_the_user_are_told_apart() -> None:
    found = summary(
        task(agent("a", simulator=simulator(lines=1))),
        task(agent("a", simulator=simulator(None)), agent("b")),
    )
    assert [each.text for each in simulator_lines(found)] == [
        "simulated user: 1 line by openai:gpt-4o",
        "simulated user: 60 lines by a model",
    ]


def test_without_a_model_nothing_is_said_of_the_user() -> None:
    assert not list(simulator_lines(summary()))
    assert not any("simulated user" in each.text for each in summary_lines(summary()))
