"""Figures of a summary, for tests that need a few of them."""

from __future__ import annotations

from typing import Any

from pytest_dialeval.runs.summary import (
    AgentFigures,
    Dimensions,
    GateFigure,
    Outcomes,
    PassKFigure,
    RubricFigures,
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


def simulator(model: str | None = "openai:gpt-4o", **more: Any) -> SimulatorFigures:
    keys = {"lines": 60, "asked_again": 0, "template": 0, "reasons": {}, **more}
    return SimulatorFigures(model=model, **keys)
