"""How often the baseline gate is wrong, and how often right."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from pytest_dialeval.runs.baseline import Baseline
from pytest_dialeval.runs.baseline_gate import HeldAgainst, baseline_gates
from pytest_dialeval.runs.summary import (
    AgentFigures,
    Dimensions,
    GateFigure,
    TaskFigures,
)

from .results import agent, case, results, run_of, task, trials


def figures(of: Baseline) -> list[TaskFigures]:
    """What the gate reads of a summary: names, numbers of trials."""
    return [
        TaskFigures(
            id=each.id,
            version=each.version,
            title="",
            source=each.source,
            selection="all",
            agents=[
                AgentFigures.model_construct(
                    name=one.name,
                    trials=sum(len(case.trials) for case in one.cases),
                    dimensions=Dimensions(completion=None, robustness=None, safety=None),
                )
                for one in each.agents
            ],
        )
        for each in of.tasks
    ]


def gates(before: Baseline, after: Baseline, max_drop: float | None = None) -> list[GateFigure]:
    held = HeldAgainst(before, "s.dialeval.yaml", max_drop=max_drop)
    return baseline_gates(figures(after), [held] * len(after.tasks), after)


def test_two_users_of_twenty_lost_for_good_are_worse() -> None:
    before = run_of(*(case(f"p{each}", trials(4)) for each in range(20)))
    lost = [case(f"p{each}", trials(*((0, 4) if each < 2 else (4, 0)))) for each in range(20)]
    [found] = gates(before, run_of(*lost))
    assert found.status == "failed"
    assert found.figure == pytest.approx(-0.1)
    assert found.why.startswith("pass rate 1.000 -> 0.900, p ")


def test_rows_stand_in_the_order_of_tasks_and_agents() -> None:
    whole = results(
        task(agent(case("p", trials(8)), name="a"), agent(case("p", trials(8)), name="b")),
        task(agent(case("p", trials(8)), name="a"), id="bank", source="b"),
    )
    found = gates(whole, whole)
    assert [(each.task, each.agent) for each in found] == [
        ("shop", "a"),
        ("shop", "b"),
        ("bank", "a"),
    ]


def test_only_some_tasks_are_held_against_something() -> None:
    whole = results(
        task(agent(case("p", trials(8)))), task(agent(case("p", trials(8))), id="b", source="b")
    )
    held = HeldAgainst(whole, "x")
    [found] = baseline_gates(figures(whole), [None, held], whole)
    assert found.task == "b"


@pytest.mark.parametrize(("after", "status"), [(19, "passed"), (18, "failed")])
def test_a_threshold_is_inclusive(after: int, status: str) -> None:
    before, now = run_of(case("p", trials(20))), run_of(case("p", trials(after, 20 - after)))
    [found] = gates(before, now, max_drop=0.05)
    assert (found.status, found.bound) == (status, -0.05)


def test_nothing_but_scores_missing_in_some_trials() -> None:
    scores = [1.0, None, 1.0, None]
    before = run_of(case("p", trials(4), scores), case("q", trials(4)))
    after = run_of(case("p", trials(4), scores[::-1]), case("q", trials(4)))
    [found] = gates(before, after)
    assert (found.status, found.figure) == ("passed", 0)


@pytest.mark.slow
def test_an_unchanged_agent_passes_and_a_worsened_one_fails() -> None:
    """Suites of several sizes: false alarms in 1 of 40 at most, a fall by half is found."""
    draw = np.random.default_rng(4)
    numbers = count()
    for cases, k in ((3, 8), (10, 4)):
        rates = draw.beta(9, 1, cases)

        def run(worth: float, k: int = k, rates: np.ndarray = rates) -> Baseline:
            made = [
                case(f"p{at}", [bool(each) for each in draw.random(k) < rate * worth])
                for at, rate in enumerate(rates)
            ]
            return run_of(*made, seed=str(next(numbers)))

        same = [gates(run(1), run(1))[0].status for _ in range(120)]
        worse = [gates(run(1), run(0.4))[0].status for _ in range(20)]
        assert same.count("failed") <= 8, (cases, k)  # 120/40 and three standard errors
        assert worse.count("failed") >= 18, (cases, k)


def test_a_baseline_without_trials_decides_nothing() -> None:
    now = run_of(case("p", trials(8)))
    for empty, why in (
        (run_of(case("p", [])), "nothing was measured in the baseline"),
        (run_of(), "not comparable: rubric is graded only after: greet; no case is in both runs"),
        (results(), "not comparable: run has no task shop"),
    ):
        [found] = gates(empty, now)
        assert (found.status, found.why) == ("not decided", why)
