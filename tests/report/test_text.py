"""The summary's lines, checked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dialeval.report.text import (
    Line,
    at_least_one_table,
    breach_lines,
    counts_sentence,
    failed_lines,
    gate_lines,
    gate_sentence,
    interval,
    number,
    pass_table,
    remark_lines,
    setting_lines,
    simulator_lines,
    summary_lines,
    title,
    titles,
)
from pytest_dialeval.runs.summary import (
    AgentFigures,
    Dimensions,
    GateFigure,
    Outcomes,
    PassKFigure,
    RubricFigures,
    SettingFigure,
    SimulatorFigures,
    Summary,
    TaskFigures,
    Verdicts,
)


def point(value: float | None, pessimistic: float | None = None, **more: Any) -> PassKFigure:
    keys = {"low": None, "high": None, "cases": 2, "of_cases": 2, **more}
    worst = value if pessimistic is None else pessimistic
    return PassKFigure(value=value, value_pessimistic=worst, **keys)


def rubric(name: str, dimension: str = "completion", n: int = 4, passed: int = 4) -> RubricFigures:
    return RubricFigures(
        id=name, dimension=dimension, severity="hard", n=n, passed=passed, mean=passed / n,
        not_applicable=0, unscored=0,
    )  # fmt: skip


def agent(name: str = "improved", **more: Any) -> AgentFigures:
    keys: dict[str, Any] = {
        "agent_version": None,
        "isolated": True,
        "cases": 2,
        "trials": 4,
        "passed": 2,
        "unmeasured": 0,
        "pass_rate": 0.5,
        "pass_hat_k": {"1": point(0.5), "2": point(1 / 3)},
        "pass_at_k": {"1": point(0.5), "2": point(2 / 3)},
        "scored": 5,
        "task_score_mean": 0.648,
        "dimensions": Dimensions(completion=1.0, robustness=None, safety=None),
        "safety_breaches": 0,
        "safety_exercised": 4,
        "personas": [],
        "rubrics": [rubric("greet")],
        **more,
    }
    return AgentFigures(name=name, **keys)


def task(*agents: AgentFigures, **more: Any) -> TaskFigures:
    keys = {
        "id": "live_upgrade",
        "version": "3",
        "title": "",
        "source": "s.dialeval.yaml",
        "selection": "all",
        **more,
    }
    return TaskFigures(agents=list(agents or (agent(),)), **keys)


def summary(*tasks: TaskFigures, **more: Any) -> Summary:
    keys = {
        "run_id": "20260102-030405-abcdef",
        "label": None,
        "created": "2026-01-02T03:04:05+00:00",
        "exit_status": 0,
        "outcomes": Outcomes(completed=4),
        "verdicts": Verdicts(passed=4),
        **more,
    }
    return Summary(tasks=list(tasks or (task(),)), **keys)


def gate(**more: Any) -> GateFigure:
    keys = {
        "name": "pass_hat_k",
        "source": "s.dialeval.yaml",
        "task": "airline",
        "agent": "good",
        "k": 3,
        "bound": 0.5,
        "figure": 0.22,
        "n": 200,
        "status": "failed",
        **more,
    }
    return GateFigure(**keys)


def remarks(*tasks: TaskFigures, **more: Any) -> list[str]:
    return [each.text for each in remark_lines(summary(*tasks, **more))]


# ---- counts


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


# ---- breaches


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


# ---- the table


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
    assert remarks(many) == [
        f"live_upgrade / improved: Pass^{each} in summary.json" for each in left_out
    ]


def test_a_decorated_test_is_named_with_its_task() -> None:
    decorated = task(source="tests/test_fee.py::TestFee::test_fee")
    assert title(decorated, alone=True) == "live_upgrade (test_fee)"
    assert title(task(), alone=True) == "live_upgrade"


def test_suites_that_share_a_task_id_are_told_apart() -> None:
    namesakes = [task(source="a/s.dialeval.yaml"), task(source="b/s.dialeval.yaml")]
    decorated = task(source="tests/test_fee.py::test_fee")
    other = task(id="refund", source="c.dialeval.yaml")
    found = summary(*namesakes, decorated, other)
    assert titles(found) == [
        "live_upgrade (a/s.dialeval.yaml)",
        "live_upgrade (b/s.dialeval.yaml)",
        "live_upgrade (test_fee)",
        "refund",
    ]
    assert [cells(found, row)[0] for row in range(4)] == titles(found)
    assert titles(summary(namesakes[0], decorated)) == ["live_upgrade", "live_upgrade (test_fee)"]


# ---- what to mend first


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


# ---- gates


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            gate(),
            "gate pass_hat_k (k=3) of airline / good: MISSED: 0.22, wanted at least 0.5, n=200, "
            "set by s.dialeval.yaml",
        ),
        (
            gate(name="mean_score", k=None, figure=0.7, bound=0.6, status="passed"),
            "gate mean_score of airline / good: held: 0.7, wanted at least 0.6, n=200, "
            "set by s.dialeval.yaml",
        ),
        (
            gate(name="safety_breaches", k=None, figure=2, bound=0, source="--dialeval-x"),
            "gate safety_breaches of airline / good: MISSED: 2, wanted at most 0, n=200, "
            "set by --dialeval-x",
        ),
        (
            gate(figure=None, status="not decided", why="no case has 3 trials"),
            "gate pass_hat_k (k=3) of airline / good: not decided (no case has 3 trials): "
            "no figure, wanted at least 0.5, n=200, set by s.dialeval.yaml",
        ),
        (
            gate(status="not decided", why="selection"),
            "gate pass_hat_k (k=3) of airline / good: not decided (selection): 0.22, "
            "wanted at least 0.5, n=200, set by s.dialeval.yaml",
        ),
        (
            gate(name="unmeasured", k=None, figure=10, bound=100, status="passed"),
            "gate unmeasured of airline / good: held: 10, wanted at most 100, n=200, "
            "set by s.dialeval.yaml",
        ),
        (
            gate(name="distinct_models", k=None, figure=1, bound=True, why="agent and judge are x"),
            "gate distinct_models of airline / good: MISSED (agent and judge are x), "
            "set by s.dialeval.yaml",
        ),
        (
            gate(
                name="distinct_models",
                k=None,
                figure=0,
                bound=True,
                why="no model was used",
                status="passed",
            ),
            "gate distinct_models of airline / good: held (no model was used), "
            "set by s.dialeval.yaml",
        ),
    ],
)
def test_gate_sentences(found: GateFigure, sentence: str) -> None:
    assert gate_sentence(found) == sentence


@pytest.mark.parametrize(
    ("figure", "bound", "shown"),
    [
        (0.49996, 0.5, "0.49996"),  # rounded it would be "0.5, wanted at least 0.5": MISSED?
        (0.4994, 0.5, "0.499"),
        (0.5, 0.5, "0.5"),
        (0.7 - 1e-16, 0.7, "0.7"),
        (1 / 3, 0.5, "0.333"),
        (0.0, 0.5, "0"),
    ],
)
def test_rounding_hides_no_side_of_a_bound(figure: float, bound: float, shown: str) -> None:
    assert f": {shown}, wanted at least" in gate_sentence(gate(figure=figure, bound=bound))


def test_gates_are_said_by_status_in_their_colour() -> None:
    found = summary(
        gates=[
            gate(status="passed", task="a"),
            gate(status="not decided", task="b"),
            gate(status="failed", task="c"),
            gate(status="failed", task="d"),
        ]
    )
    lines = list(gate_lines(found, "failed", "not decided", "passed"))
    assert [(each.text.split()[4], each.colour) for each in lines] == [
        ("c", "red"),
        ("d", "red"),
        ("b", "yellow"),
        ("a", "green"),
    ]
    assert [each.text.split()[4] for each in gate_lines(found, "passed")] == ["a"]


@pytest.mark.parametrize(
    ("status", "said"), [("passed", False), ("failed", True), ("not decided", True)]
)
def test_the_gate_that_nobody_asked_for_is_silent_where_it_holds(status: str, said: bool) -> None:
    found = summary(gates=[gate(name="unmeasured", k=None, source="default", status=status)])
    assert bool(list(gate_lines(found, "failed", "not decided", "passed"))) is said


# ---- remarks


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


# ---- the whole


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


def simulator(model: str | None = "openai:gpt-4o", **more: Any) -> SimulatorFigures:
    keys = {"lines": 60, "asked_again": 0, "template": 0, "reasons": {}, **more}
    return SimulatorFigures(model=model, **keys)


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
