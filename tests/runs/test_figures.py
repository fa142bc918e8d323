"""Figures against values computed by hand."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.records.run import Source, TrialFacts
from pytest_dialeval.records.suite import Scoring
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.runs.figures import (
    count_outcomes,
    count_verdicts,
    score_source,
    task_figures,
)
from pytest_dialeval.runs.summary import AgentFigures, Outcomes, TaskFigures, Verdicts
from tests.runs.samples import (
    FOUR,
    conversation,
    facts,
    failed,
    passed,
    planned,
    rubric,
    silent,
    source,
    two_personas,
    unscored,
)


def task_of(made: Source, known: dict[str, TrialFacts]) -> TaskFigures:
    return task_figures(made, score_source(made, known))


def agent_of(made: Source, known: dict[str, TrialFacts]) -> AgentFigures:
    (agent,) = task_of(made, known).agents
    return agent


def test_a_task_by_hand() -> None:
    made, known = two_personas()
    task = task_of(made, known)
    assert (task.id, task.version, task.title, task.source, task.selection) == (
        "t",
        "3",
        "A task",
        "s.dialeval.yaml",
        "all",
    )
    (agent,) = task.agents
    assert (agent.name, agent.agent_version, agent.isolated) == ("a", "v7", True)
    assert (agent.cases, agent.trials, agent.passed, agent.unmeasured) == (2, 6, 3, 1)
    assert agent.pass_rate == 3 / 5
    # (.98 + .38 + 0 + .9 + .98) / 5
    assert agent.task_score_mean == pytest.approx(0.648)
    # completion (1 + .25 + 1 + 1 + 1) / 5, robustness (4 x .9 + .5) / 5,
    # safety of the four trials that exercised it and were measured: 3 of 4
    assert agent.dimensions.completion == pytest.approx(0.85)
    assert agent.dimensions.robustness == pytest.approx(0.82)
    assert agent.dimensions.safety == 0.75
    assert (agent.safety_breaches, agent.safety_exercised) == (1, 5)


def test_pass_k_by_hand() -> None:
    # p: 1 of 3 passed; q: 2 of 2 measured passed, one unmeasured
    agent = agent_of(*two_personas())
    hat, at = agent.pass_hat_k, agent.pass_at_k
    assert list(hat) == list(at) == ["1", "2", "3"]
    # Pass^1 = (1/3 + 1) / 2; with the unmeasured one as a failure (1/3 + 2/3) / 2
    assert hat["1"].value == pytest.approx(2 / 3)
    assert hat["1"].value_pessimistic == pytest.approx(1 / 2)
    # Pass^2 = (0 + 1) / 2; pessimistic (0 + C(2,2)/C(3,2)) / 2 = 1/6
    assert hat["2"].value == pytest.approx(1 / 2)
    assert hat["2"].value_pessimistic == pytest.approx(1 / 6)
    # Pass^3: q has two measured trials only and leaves the mean: 0 over 1 case
    assert (hat["3"].value, hat["3"].value_pessimistic) == (0.0, 0.0)
    assert [(each.cases, each.of_cases) for each in hat.values()] == [(2, 2), (2, 2), (1, 2)]
    # pass@2 = (1 - C(2,2)/C(3,2) + 1) / 2 = 5/6; pessimistic (2/3 + 1) / 2
    assert at["2"].value == pytest.approx(5 / 6)
    assert at["2"].value_pessimistic == pytest.approx(5 / 6)
    assert at["3"].value == 1.0
    assert hat["1"].low is hat["1"].high is None  # two cases are too few


def test_personas_and_rubrics_by_hand() -> None:
    agent = agent_of(*two_personas())
    first, second = agent.personas
    assert (first.id, first.original, first.trials, first.passed, first.unmeasured) == (
        "p",
        None,
        3,
        1,
        0,
    )
    assert first.pass_rate == pytest.approx(1 / 3)
    assert first.task_score_mean == pytest.approx(1.36 / 3)
    assert (second.id, second.passed, second.unmeasured, second.pass_rate) == ("q", 2, 1, 1.0)
    assert second.task_score_mean == pytest.approx(0.94)

    by_id = {each.id: each for each in agent.rubrics}
    assert list(by_id) == [each.id for each in FOUR]
    assert [
        (each.n, each.passed, each.not_applicable, each.unscored) for each in agent.rubrics
    ] == [
        (5, 5, 1, 0),
        (5, 4, 0, 1),
        (6, 5, 0, 0),
        (5, 4, 1, 0),
    ]
    assert [each.mean for each in agent.rubrics] == pytest.approx([1.0, 0.8, 5 / 6, 0.8])
    assert (by_id["short"].dimension, by_id["short"].severity) == ("robustness", "soft")
    assert (by_id["promise"].dimension, by_id["promise"].severity) == ("safety", "hard")


def test_counts_by_hand() -> None:
    made, known = two_personas()
    trials = score_source(made, known)
    assert count_outcomes(trials) == Outcomes(completed=6)
    # 24 selected: greet 5+1n, explain 4+1f+1u, short 5+1 soft, promise 4+1f+1n
    assert count_verdicts([(made, trials)]) == Verdicts(
        passed=18, failed=2, soft_failed=1, not_applicable=2, unmeasured=1, not_run=0
    )


def test_failures_count_as_their_items_do() -> None:
    # where gates decide, only a safety rubric fails its item, unless a gate counts breaches
    made, known = two_personas()
    for changes, hard, soft in (
        ({"decide": "items"}, 2, 1),
        ({"decide": "gates"}, 1, 2),
        ({"decide": "gates", "breaches_gated": True}, 0, 3),
    ):
        decided = replace(made, **changes)
        found = count_verdicts([(decided, score_source(decided, known))])
        assert (found.failed, found.soft_failed) == (hard, soft)


# ---- what was not measured, and what did not run


def test_nothing_ran() -> None:
    trials = [planned("p", number) for number in (1, 2)]
    made = source([rubric("r")], trials)
    scored = score_source(made, {})
    agent = task_figures(made, scored).agents[0]
    assert (agent.trials, agent.passed, agent.unmeasured, agent.pass_rate) == (2, 0, 2, None)
    assert agent.task_score_mean is None
    assert (agent.pass_hat_k["2"].value, agent.pass_hat_k["2"].value_pessimistic) == (None, 0.0)
    assert (agent.dimensions.completion, agent.dimensions.safety) == (None, None)
    assert count_outcomes(scored) == Outcomes(not_run=2)
    assert count_verdicts([(made, scored)]) == Verdicts(not_run=2)


def test_a_run_that_was_stopped() -> None:
    trials = [planned("p", number, rubrics=["r", "s"]) for number in (1, 2, 3)]
    made = source([rubric("r"), rubric("s")], trials)
    known = {
        trials[0].id: facts(trials[0], passed("r"), passed("s")),
        trials[1].id: facts(trials[1], passed("r")),  # stopped between its rubrics
        trials[2].id: TrialFacts(conversation(trials[2].id, "cancelled")),
    }
    scored = score_source(made, known)
    assert [each.score.passed for each in scored] == [True, None, None]
    assert scored[1].score.why == "s is unscored: not run"
    assert count_outcomes(scored) == Outcomes(completed=2, cancelled=1)
    assert count_verdicts([(made, scored)]) == Verdicts(passed=3, not_run=3)


def test_a_verdict_that_reads_not_run_is_unmeasured_all_the_same() -> None:
    trial = planned()
    odd = Verdict("r", "unscored", reason="not run", fault="judge_error")
    made = source([rubric("r")], [trial])
    scored = score_source(made, {trial.id: facts(trial, odd)})
    assert count_verdicts([(made, scored)]) == Verdicts(unmeasured=1)


@pytest.mark.parametrize(
    "outcome", ["simulator_error", "judge_error", "provider_error", "harness_error", "cancelled"]
)
def test_a_void_conversation_is_unmeasured(outcome: str) -> None:
    trial = planned()
    known = facts(trial, unscored("r", outcome), outcome=outcome)  # type: ignore[arg-type]
    made = source([rubric("r")], [trial])
    scored = score_source(made, {trial.id: known})
    assert scored[0].score.passed is None
    assert count_outcomes(scored).model_dump()[outcome] == 1
    assert count_verdicts([(made, scored)]) == Verdicts(unmeasured=1)


def test_an_agent_that_fell_over_has_not_passed() -> None:
    trial = planned(rubrics=["r", "promise"])
    known = facts(trial, failed("r"), silent("promise"), outcome="agent_error")
    made = source([rubric("r"), rubric("promise", "safety")], [trial], scoring=Scoring())
    agent = agent_of(made, {trial.id: known})
    assert (agent.passed, agent.unmeasured, agent.pass_rate) == (0, 0, 0.0)
    assert agent.task_score_mean == 0.0
    assert (agent.safety_breaches, agent.safety_exercised) == (0, 0)
    assert agent.dimensions.safety is None


def test_a_breach_counts_in_a_trial_that_is_unmeasured() -> None:
    trial = planned(rubrics=["r", "promise"])
    known = facts(trial, unscored("r"), failed("promise"))
    agent = agent_of(source([rubric("r"), rubric("promise", "safety")], [trial]), {trial.id: known})
    assert (agent.unmeasured, agent.safety_breaches, agent.safety_exercised) == (1, 1, 1)
    assert agent.dimensions.safety is None


def test_an_agent_in_this_process_is_not_isolated() -> None:
    trials = [planned("p", number) for number in (1, 2)]
    known = {each.id: facts(each, passed("r")) for each in trials}
    inside = conversation(trials[1].id, isolated=False)
    known[trials[1].id] = replace(known[trials[1].id], conversation=inside)
    assert not agent_of(source([rubric("r")], trials), known).isolated


# ---- selections


def test_only_selected_rubrics_of_selected_trials_count() -> None:
    trials = [planned("p", number, rubrics=["r", "s"]) for number in (1, 2, 3)]
    known = {each.id: facts(each, passed("r"), failed("s")) for each in trials}
    made = source(
        [rubric("r"), rubric("s")],
        trials,
        selected={trials[0].id: ["r"], trials[1].id: ["s", "r"]},
    )
    scored = score_source(made, known)
    task = task_figures(made, scored)
    assert task.selection == "selected rubrics"
    assert (task.agents[0].trials, task.agents[0].passed) == (2, 1)
    assert [(each.id, each.n, each.passed) for each in task.agents[0].rubrics] == [
        ("r", 2, 2),
        ("s", 1, 0),
    ]
    assert count_verdicts([(made, scored)]) == Verdicts(passed=2, failed=1)
    assert list(task.agents[0].pass_hat_k) == ["1", "2"]


def test_selecting_every_rubric_of_every_trial_is_no_selection() -> None:
    trials = [planned("p", 1, rubrics=["r", "s"])]
    made = source([rubric("r"), rubric("s")], trials, selected={trials[0].id: ["s", "r"]})
    assert task_of(made, {}).selection == "all"
    made = source([rubric("r"), rubric("s")], [*trials, planned("p", 2)], selected=made.selected)
    assert task_of(made, {}).selection == "selected rubrics"


def test_agents_stand_in_the_order_of_the_plan() -> None:
    trials = [planned("p", 1, agent=name) for name in ("new", "base")]
    known = {
        trials[0].id: facts(trials[0], passed("r")),
        trials[1].id: facts(trials[1], failed("r")),
    }
    task = task_of(source([rubric("r")], trials), known)
    assert [(each.name, each.passed) for each in task.agents] == [("new", 1), ("base", 0)]


def test_a_selection_without_the_rubric_that_decides_is_scored_by_its_hard_ones() -> None:
    trial = planned(rubrics=["reward", "s"])
    rubrics = [rubric("reward"), rubric("s", "robustness")]
    known = {trial.id: facts(trial, failed("reward"), passed("s"))}
    scoring = Scoring(pass_on="reward")
    whole = source(rubrics, [trial], scoring=scoring)
    part = source(rubrics, [trial], scoring=scoring, selected={trial.id: ["s"]})
    assert agent_of(whole, known).passed == 0
    assert (agent_of(part, known).passed, agent_of(part, known).unmeasured) == (1, 0)


# ---- decorated tests: the body is a rubric


def decorated() -> Source:
    trials = [planned("p", number, rubrics=["test_fee", "greet"]) for number in (1, 2, 3)]
    return source([rubric("test_fee"), rubric("greet")], trials, name="tests/test_fee.py::test_fee")


def test_a_body_counts_as_a_rubric() -> None:
    made = decorated()
    first, second, third = made.trials
    known = {
        first.id: facts(first, passed("test_fee"), passed("greet")),
        second.id: facts(second, failed("test_fee"), passed("greet")),
        third.id: facts(third, unscored("test_fee"), passed("greet")),
    }
    task = task_of(made, known)
    assert task.source == "tests/test_fee.py::test_fee"
    (agent,) = task.agents
    assert (agent.trials, agent.passed, agent.unmeasured) == (3, 1, 1)
    assert [(each.id, each.n, each.unscored) for each in agent.rubrics] == [
        ("test_fee", 2, 1),
        ("greet", 3, 0),
    ]


def test_a_body_that_was_skipped_is_not_applicable() -> None:
    made = decorated()
    first = made.trials[0]
    known = {first.id: facts(first, silent("test_fee"), passed("greet"))}
    scored = score_source(made, known)
    assert scored[0].score.passed is True
    assert count_verdicts([(made, scored[:1])]) == Verdicts(passed=1, not_applicable=1)


# ---- recordings


def test_the_original_task_id_of_a_recording_is_told() -> None:
    trial = replace(planned("a_task_12345678"), original="A task")
    (persona,) = agent_of(source([rubric("r")], [trial]), {}).personas
    assert (persona.id, persona.original) == ("a_task_12345678", "A task")


def test_the_airline_of_tau_bench() -> None:
    # 50 tasks x 4 trials, passed 0..4 times in 14, 12, 10, 4, 10 of them (notes/tau.md)
    passes = [0] * 14 + [1] * 12 + [2] * 10 + [3] * 4 + [4] * 10
    trials, known = [], {}
    for task, wins in enumerate(passes):
        for number in range(1, 5):
            trial = planned(f"{task}", number, rubrics=["reward"])
            verdict = passed("reward") if number <= wins else failed("reward")
            trials.append(trial)
            known[trial.id] = facts(trial, verdict)
    agent = agent_of(source([rubric("reward")], trials, scoring=Scoring(pass_on="reward")), known)
    assert [round(each.value or 0, 3) for each in agent.pass_hat_k.values()] == [
        0.42,
        0.273,
        0.22,
        0.2,
    ]
    assert [round(each.value or 0, 3) for each in agent.pass_at_k.values()] == [
        0.42,
        0.567,
        0.66,
        0.72,
    ]
    assert (agent.cases, agent.trials, agent.passed) == (50, 200, 84)


# ---- identities

statuses = st.sampled_from(["passed", "failed", "not_applicable", "unscored", "missing"])


@given(st.lists(st.lists(statuses, min_size=3, max_size=3), min_size=1, max_size=12), st.booleans())
def test_what_adds_up(rows: list[list[str]], declared: bool) -> None:
    names = ["c", "r", "s"]
    rubrics = [rubric("c"), rubric("r", "robustness"), rubric("s", "safety")]
    trials = [planned(f"p{n % 3}", n, rubrics=names) for n in range(len(rows))]
    made = {"passed": passed, "failed": failed, "not_applicable": silent, "unscored": unscored}
    known = {
        trial.id: facts(trial, *(made[s](n) for n, s in zip(names, row, strict=True) if s in made))
        for trial, row in zip(trials, rows, strict=True)
    }
    found = source(rubrics, trials, scoring=Scoring() if declared else None)
    scored = score_source(found, known)
    agent = task_figures(found, scored).agents[0]
    assert agent.trials == len(rows) == sum(each.trials for each in agent.personas)
    assert agent.passed == sum(each.passed for each in agent.personas) <= agent.trials
    assert agent.unmeasured == sum(each.unmeasured for each in agent.personas)
    assert sum(count_verdicts([(found, scored)]).model_dump().values()) == 3 * len(rows)
    assert sum(count_outcomes(scored).model_dump().values()) == len(rows)
    for each in agent.rubrics:
        assert each.n + each.not_applicable + each.unscored == agent.trials
    assert agent.safety_breaches == sum(row[2] == "failed" for row in rows)
    first = agent.pass_hat_k["1"]
    assert first.value == pytest.approx(agent.pass_at_k["1"].value)
    if first.value is not None and first.value_pessimistic is not None:
        assert first.value_pessimistic <= first.value + 1e-12


# ---- speed


def test_ten_thousand_verdicts_are_added_up_within_a_second() -> None:
    names = ["reward", "a", "b", "promise"]
    rubrics = [*(rubric(name) for name in names[:3]), rubric("promise", "safety")]
    trials = [planned(f"{n // 5}", n % 5 + 1, rubrics=names) for n in range(2500)]
    known = {each.id: facts(each, *(passed(name) for name in names)) for each in trials}
    made = source(rubrics, trials)
    began = time.process_time()
    scored = score_source(made, known)
    task = task_figures(made, scored)
    count_outcomes(scored)
    count_verdicts([(made, scored)])
    assert time.process_time() - began < 1
    assert task.agents[0].passed == 2500


def test_what_models_did_as_users_is_added_up() -> None:
    trials = [planned("p", number, rubrics=["r"]) for number in (1, 2, 3)]
    known = {each.id: facts(each, passed("r")) for each in trials}
    assert agent_of(source([rubric("r")], trials), known).simulator is None
    counts = [
        {"lines": 4, "asked_again": 2, "template": 1, "repeated": 1, "empty": 1},
        {"lines": 3, "asked_again": 1, "repeated": 1},
    ]
    for trial, each in zip(trials, counts, strict=False):
        talk = conversation(trial.id, fidelity=each)
        known[trial.id] = replace(known[trial.id], conversation=talk)
    found = agent_of(source([rubric("r")], trials), known).simulator
    assert found is not None
    assert found.model_dump() == {
        "model": None,
        "lines": 7,
        "asked_again": 3,
        "template": 1,
        "reasons": {"empty": 1, "repeated": 2},
    }
