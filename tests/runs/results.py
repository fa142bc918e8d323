"""Results of runs, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_dialeval.runs.baseline import (
    AgentResults,
    Baseline,
    CaseResults,
    RubricContract,
    TaskResults,
)


def case(
    persona: str,
    passed: Sequence[bool | None],
    scores: Sequence[float | None] | None = None,
    **rubrics: Sequence[float | None],
) -> CaseResults:
    """Trials 1..n; without scores, 1 where it passed and 0 where not."""
    worth = [None if each is None else float(each) for each in passed]
    given = list(worth if scores is None else scores)
    return CaseResults(
        persona=persona,
        trials=list(range(1, len(passed) + 1)),
        passed=list(passed),
        scores=given,
        rubrics={name: list(each) for name, each in (rubrics or {"greet": worth}).items()},
    )


def trials(passed: int, failed: int = 0, unmeasured: int = 0) -> list[bool | None]:
    return [True] * passed + [False] * failed + [None] * unmeasured


def agent(*cases: CaseResults, name: str = "clerk", **more: Any) -> AgentResults:
    given = {"version": None, "use": "scripted", "models": {}, **more}
    return AgentResults(name=name, cases=list(cases), **given)


def contract(digest: str = "ab", judge: str | None = None) -> RubricContract:
    return RubricContract(dimension="completion", digest=digest, judge=judge)


def task(
    *agents: AgentResults, rubrics: Mapping[str, RubricContract] | None = None, **more: Any
) -> TaskResults:
    names = {name for each in agents for one in each.cases for name in one.rubrics}
    given = {
        "id": "shop",
        "version": "1",
        "source": "shop.dialeval.yaml",
        "seed": "shop",
        "files": {"shop.dialeval.yaml": "aa"},
        "scoring": "no hard rubric failed",
        "rubrics": {name: contract() for name in sorted(names)} if rubrics is None else rubrics,
        **more,
    }
    return TaskResults(agents=list(agents), **given)


def results(*tasks: TaskResults, run_id: str = "run", **more: Any) -> Baseline:
    given = {"label": None, "created": None, "plugin_version": "1", "settings": {}, **more}
    return Baseline(run_id=run_id, tasks=list(tasks), **given)


def run_of(*cases: CaseResults, run_id: str = "run", **more: Any) -> Baseline:
    """One task, one agent."""
    return results(task(agent(*cases), **more), run_id=run_id)
