"""Bounds on a run's figures, and whether they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pytest_dialeval.records.suite import PassHatK
from pytest_dialeval.runs.summary import AgentFigures, GateFigure, TaskFigures
from pytest_dialeval.statistics.pass_k import CaseCount, pass_curve

SELECTION = "selection"  # why a gate of a suite is left alone where items are missing


class Bound(NamedTuple):
    """A bound and who set it; `option` ones hold for every task, even over a selection."""

    value: PassHatK | float | int | bool
    source: str
    option: bool = False


class _Reading(NamedTuple):
    figure: float | None
    status: Literal["passed", "failed", "not decided"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The gates of one source, by name."""

    pass_hat_k: Bound | None = None
    mean_score: Bound | None = None
    safety_breaches: Bound | None = None
    unmeasured: Bound | None = None
    distinct_models: Bound | None = None


def decide_gates(task: TaskFigures, bounds: Bounds) -> Iterator[GateFigure]:
    """Every gate of a task, for each of its agents."""
    for agent in task.agents:
        for name, bound, reading, k in _readings(agent, bounds):
            if task.selection != "all" and not bound.option:
                reading = _Reading(reading.figure, "not decided", SELECTION)
            yield GateFigure(
                name=name,
                source=bound.source,
                task=task.id,
                agent=agent.name,
                k=k,
                bound=bound.value.min if isinstance(bound.value, PassHatK) else bound.value,
                figure=reading.figure,
                n=agent.trials,
                status=reading.status,
                why=reading.why,
            )


def _readings(
    agent: AgentFigures, bounds: Bounds
) -> Iterator[tuple[str, Bound, _Reading, int | None]]:
    if (bound := bounds.pass_hat_k) and isinstance(bound.value, PassHatK):
        yield "pass_hat_k", bound, _pass_hat_k(agent, bound.value), bound.value.k
    if bound := bounds.mean_score:
        yield "mean_score", bound, _mean_score(agent, _number(bound)), None
    if bound := bounds.safety_breaches:
        yield "safety_breaches", bound, _breaches(agent, _number(bound)), None
    if bound := bounds.unmeasured:
        yield "unmeasured", bound, _unmeasured(agent, _number(bound)), None
    if (bound := bounds.distinct_models) and bound.value:
        yield "distinct_models", bound, _distinct(agent.models), None


def _number(bound: Bound) -> float:
    assert not isinstance(bound.value, PassHatK)
    return float(bound.value)


def _pass_hat_k(agent: AgentFigures, gate: PassHatK) -> _Reading:
    """The pessimistic reading holds it; only what no unmeasured trial could mend misses it."""
    point = agent.pass_hat_k.get(str(gate.k))
    if point is None or point.value_pessimistic is None:
        return _Reading(None, "not decided", f"no case has {gate.k} trials")
    least = point.value_pessimistic
    if _reaches(least, gate.min):
        return _Reading(least, "passed")
    best = _optimistic(agent, gate.k)
    return _short_of(least, agent) if _reaches(best, gate.min) else _Reading(least, "failed")


def _optimistic(agent: AgentFigures, k: int) -> float:
    """Pass^k as it would be if every unmeasured trial had passed."""
    counts = [
        CaseCount(each.passed + each.unmeasured, each.trials - each.passed - each.unmeasured)
        for each in agent.personas
    ]
    best = pass_curve(counts, k_max=k)[k].value
    assert best is not None  # as many trials as the pessimistic reading has
    return best


def _mean_score(agent: AgentFigures, bound: float) -> _Reading:
    """The mean of what was measured, unless full scores for the rest could still reach it."""
    mean, unknown = agent.task_score_mean, agent.unmeasured
    if mean is None:
        return _Reading(None, "not decided", "nothing was measured")
    if _reaches(mean, bound):
        return _Reading(mean, "passed")
    best = (mean * agent.scored + unknown) / (agent.scored + unknown)
    return _short_of(mean, agent) if _reaches(best, bound) else _Reading(mean, "failed")


def _short_of(figure: float, agent: AgentFigures) -> _Reading:
    who = "1 unmeasured trial" if agent.unmeasured == 1 else f"{agent.unmeasured} unmeasured trials"
    return _Reading(figure, "not decided", f"{who} would decide")


def _reaches(figure: float, bound: float) -> bool:
    # Bounds are inclusive, and (.7 + .7 + .7) / 3 is less than .7 in doubles.
    return round(figure, 12) >= bound


def _breaches(agent: AgentFigures, bound: float) -> _Reading:
    """A breach counts in whatever trial it was seen; none seen where nobody looked is no proof."""
    if agent.safety_breaches > bound:
        return _Reading(agent.safety_breaches, "failed")
    if agent.unmeasured == agent.trials:
        return _Reading(None, "not decided", "nothing was measured")
    return _Reading(agent.safety_breaches, "passed")


def _unmeasured(agent: AgentFigures, bound: float) -> _Reading:
    """Too much unmeasured says nothing about the agent: never `failed`."""
    if agent.unmeasured <= bound:
        return _Reading(agent.unmeasured, "passed")
    return _Reading(agent.unmeasured, "not decided", "more is unmeasured than allowed")


def _distinct(models: Mapping[str, str]) -> _Reading:
    """How many roles share a model with another one that was counted before them."""
    if not models:
        return _Reading(0, "passed", "no model was used")
    roles: dict[str, list[str]] = {}
    for role, model in models.items():
        roles.setdefault(model, []).append(role)
    shared = [f"{' and '.join(each)} are {model}" for model, each in roles.items() if each[1:]]
    twice = len(models) - len(roles)
    return _Reading(twice, "failed" if twice else "passed", "; ".join(shared))


def missed(gates: Sequence[GateFigure]) -> bool:
    """Whether measured values miss a gate."""
    return any(each.status == "failed" for each in gates)


def undecided(gates: Sequence[GateFigure]) -> bool:
    """Whether a gate could not be decided, other than because of a selection."""
    return any(each.status == "not decided" and each.why != SELECTION for each in gates)
