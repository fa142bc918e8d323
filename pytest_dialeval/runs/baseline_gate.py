"""The baseline gate: whether this run is worse than the one that it is held against.

It asks about these cases, not about others like them: a suite's cases are written down, and an
agent that fails two users of twenty for good is worse, though another twenty might not show it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pytest_dialeval.records.wording import plural
from pytest_dialeval.runs.baseline import Baseline, CaseResults, TaskResults, measured
from pytest_dialeval.runs.comparable import Match, match_up, obstacles
from pytest_dialeval.runs.comparing import Values, passed, scores
from pytest_dialeval.runs.gates import SELECTION
from pytest_dialeval.runs.summary import GateFigure, TaskFigures
from pytest_dialeval.statistics.detectable import LOOKED_FOR, detectable
from pytest_dialeval.statistics.many_tests import holm
from pytest_dialeval.statistics.within_cases import Case, within_cases

# One-sided, over all baseline gates of a run: what a 95 % interval leaves on its lower side.
FALSE_ALARM = 0.025
_FIGURES: tuple[tuple[str, Values], ...] = (("pass rate", passed), ("task score", scores))
_ROUNDING = 1e-9
Status = Literal["passed", "failed", "not decided"]


@dataclass(frozen=True, slots=True)
class HeldAgainst:
    """What one source is held against; `baseline` is a text where there is none: why."""

    baseline: Baseline | str
    source: str  # who said so
    option: bool = False
    max_drop: float | None = None  # an engineering threshold in place of a test


class _Reading(NamedTuple):
    """What a figure makes of the run, with its unmeasured trials read in one way."""

    before: float
    after: float
    chance: float  # of such a fall where nothing changed

    @property
    def difference(self) -> float:
        return round(self.after - self.before, 12)


@dataclass(frozen=True, slots=True)
class _Trial:
    """One agent before the gate; `why` says why it can't be decided, where it can't."""

    task: str
    agent: str
    against: HeldAgainst
    n: int
    why: str = ""
    unmeasured: int = 0
    cases: str = ""  # how many, where not all are in both
    least: dict[str, _Reading] = field(default_factory=dict)  # figure -> unmeasured as failures
    best: dict[str, _Reading] = field(default_factory=dict)  # figure -> unmeasured as passes
    reachable: float = 1.0  # the chance of the deepest fall there can be
    needed: int = 0  # more trials that would find a fall of ten points

    def chance(self, readings: dict[str, _Reading]) -> float:
        """Of the less likely figure, for as many tries as there are figures."""
        found = [each.chance for each in readings.values()]
        return min(1.0, len(found) * min(found))


def baseline_gates(
    tasks: Sequence[TaskFigures],
    against: Sequence[HeldAgainst | None],
    this: Baseline,
) -> list[GateFigure]:
    """A row for each agent of each task that is held against something."""
    trials = [
        each
        for task, results, held in zip(tasks, this.tasks, against, strict=True)
        if held is not None
        for each in _trials(task, results, held, this)
    ]
    tested = [each for each in trials if not each.why and each.against.max_drop is None]
    least = holm([each.chance(each.least) for each in tested])
    best = holm([each.chance(each.best) for each in tested])
    decided = iter([_tested(*each, len(tested)) for each in zip(tested, least, best, strict=True)])
    return [_undecided(each) or _bounded(each) or next(decided) for each in trials]


def _trials(
    task: TaskFigures, results: TaskResults, held: HeldAgainst, this: Baseline
) -> Iterator[_Trial]:
    for agent in task.agents:
        blank = _Trial(task.id, agent.name, held, agent.trials)
        why = SELECTION if task.selection != "all" and not held.option else ""
        found = why or _match(results, agent.name, held, this)
        yield _with_why(blank, found) if isinstance(found, str) else _measured(blank, found)


def _with_why(blank: _Trial, why: str) -> _Trial:
    return _Trial(blank.task, blank.agent, blank.against, blank.n, why)


def _match(results: TaskResults, agent: str, held: HeldAgainst, this: Baseline) -> Match | str:
    """The agent in both runs, or why it can't be had."""
    if isinstance(held.baseline, str):
        return held.baseline
    for each in match_up(held.baseline, this).matches:
        if each.tasks[1] is results and each.agents[1].name == agent:
            against = obstacles(each, held.baseline, this)
            return f"not comparable: {'; '.join(against)}" if against else each
    tasks = [each.id for each in held.baseline.tasks]
    missing = f"agent {agent}" if results.id in tasks else f"task {results.id}"
    return f"not comparable: {held.baseline.run_id} has no {missing}"


def _measured(blank: _Trial, match: Match) -> _Trial:
    cases = match.cases()
    known = [each for pair in cases for each in pair[1].passed if each is not None]
    before = [each for pair in cases for each in pair[0].passed if each is not None]
    if not known or not before:
        return _with_why(blank, f"nothing was measured {'in the baseline' if known else 'here'}")
    least, best, deepest = (_readings(cases, value) for value in (_failed, _succeeded, _all_failed))
    planned = len(match.agents[1].cases)
    passes = [Case(measured(a.passed), measured(b.passed)) for a, b in cases]
    size = detectable(passes)
    return _Trial(
        blank.task,
        blank.agent,
        blank.against,
        blank.n,
        unmeasured=sum(each is None for pair in cases for each in pair[1].passed),
        cases="" if len(cases) == planned else f", over {len(cases)} of {plural(planned, 'case')}",
        least=least,
        best=best,
        reachable=blank.chance(deepest),
        needed=size.more_trials() if size else 0,
    )


def _readings(
    cases: Sequence[tuple[CaseResults, CaseResults]],
    value: Callable[[bool | None, float | None], float | None],
) -> dict[str, _Reading]:
    """Each figure that both runs have, of cases that both have."""
    found = {}
    for name, values in _FIGURES:
        made = [
            Case(measured(values(a)), measured(map(value, b.passed, values(b)))) for a, b in cases
        ]
        usable = [each for each in made if each.before and each.after]
        if usable:
            before, after = (_mean(map(_mean, runs)) for runs in zip(*usable, strict=True))
            found[name] = _Reading(before, after, within_cases(usable).fall)
    return found


def _failed(passed: bool | None, value: float | None) -> float | None:
    return 0.0 if passed is None else value


def _succeeded(passed: bool | None, value: float | None) -> float | None:
    return 1.0 if passed is None else value


def _all_failed(passed: bool | None, value: float | None) -> float | None:
    return None if passed is not None and value is None else 0.0


def _mean(values: Iterator[float] | Sequence[float]) -> float:
    found = list(values)
    return math.fsum(found) / len(found)


# ---- decisions


def _tested(trial: _Trial, least: float, best: float, tests: int) -> GateFigure:
    """Worse only where chance alone would seldom bring such a fall."""
    name, reading = min(trial.least.items(), key=lambda each: each[1].chance)
    told = f"{name} {reading.before:.3f} -> {reading.after:.3f}"
    chance = "p < 0.001" if least < 0.001 else f"p = {least:.3f}"
    if least <= FALSE_ALARM and best > FALSE_ALARM:
        return _figure(trial, "not decided", _unmeasured(trial), reading)
    if least <= FALSE_ALARM:
        return _figure(trial, "failed", f"{told}, {chance}{trial.cases}", reading)
    can_fall = any(each.before > 0 for each in trial.least.values())
    if can_fall and trial.reachable * tests > FALSE_ALARM:
        return _figure(trial, "not decided", _too_few(trial), reading)
    return _figure(trial, "passed", f"{told}, {chance}{trial.cases}", reading)


def _too_few(trial: _Trial) -> str:
    text = f"{plural(trial.n, 'trial')} could not show even a fall to 0"
    if not trial.needed:
        return text
    more = plural(trial.needed, "more trial")
    return f"{text}; {more} would be needed to see {100 * LOOKED_FOR:.0f} points"


def _undecided(trial: _Trial) -> GateFigure | None:
    return _figure(trial, "not decided", trial.why) if trial.why else None


def _bounded(trial: _Trial) -> GateFigure | None:
    """By the difference alone, which says nothing of chance; None where no bound is given."""
    if trial.against.max_drop is None:
        return None
    bound = -trial.against.max_drop - _ROUNDING
    name, reading = min(trial.least.items(), key=lambda each: each[1].difference)
    told = f"engineering threshold: {name} {reading.before:.3f} -> {reading.after:.3f}"
    if reading.difference >= bound:
        return _figure(trial, "passed", told + trial.cases, reading)
    if min(each.difference for each in trial.best.values()) >= bound:
        return _figure(trial, "not decided", _unmeasured(trial), reading)
    return _figure(trial, "failed", told + trial.cases, reading)


def _unmeasured(trial: _Trial) -> str:
    return f"{plural(trial.unmeasured, 'unmeasured trial')} would decide"


def _figure(trial: _Trial, status: Status, why: str, reading: _Reading | None = None) -> GateFigure:
    drop = trial.against.max_drop
    return GateFigure(
        name="baseline",
        source=trial.against.source,
        task=trial.task,
        agent=trial.agent,
        k=None,
        bound=0.0 if drop is None else -drop,
        figure=None if reading is None else reading.difference,
        n=trial.n,
        status=status,
        why=why,
    )
