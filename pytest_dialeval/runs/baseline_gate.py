"""The baseline gate: whether this run is worse than the one that it is held against.

It asks about these cases, not about others like them: a suite's cases are written down, and an
agent that fails two users of twenty for good is worse, though another twenty might not show it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pytest_dialeval.records.wording import plural
from pytest_dialeval.runs.baseline import Baseline, CaseResults, TaskResults, measured
from pytest_dialeval.runs.comparable import Match, match_up, obstacles
from pytest_dialeval.runs.gates import SELECTION
from pytest_dialeval.runs.strata import strata
from pytest_dialeval.runs.summary import GateFigure, TaskFigures
from pytest_dialeval.statistics.detectable import LOOKED_FOR, detectable
from pytest_dialeval.statistics.many_tests import holm
from pytest_dialeval.statistics.within_cases import Case, joint_fall

# One-sided, over all baseline gates of a run: what a 95 % interval leaves on its lower side.
FALSE_ALARM = 0.025
_FIGURES = ("pass rate", "task score")
_ROUNDING = 1e-9
Row = list[float]  # a trial's figures
Status = Literal["passed", "failed", "not decided"]


@dataclass(frozen=True, slots=True)
class HeldAgainst:
    """What one source is held against; `baseline` is a text where there is none: why."""

    baseline: Baseline | str
    source: str  # who said so
    option: bool = False
    max_drop: float | None = None  # an engineering threshold in place of a test


class _Reading(NamedTuple):
    """What a run is worth beside its baseline, with its unmeasured trials read in one way."""

    means: dict[str, tuple[float, float]]  # figure -> before, after
    deepest: str  # the figure whose fall is the least likely
    chance: float  # of a fall like it where nothing changed

    def difference(self, figure: str) -> float:
        before, after = self.means[figure]
        return round(after - before, 12)

    def told(self, figure: str) -> str:
        before, after = self.means[figure]
        return f"{figure} {before:.3f} -> {after:.3f}"

    def worst(self) -> str:
        """The figure that fell farthest."""
        return min(self.means, key=self.difference)


@dataclass(frozen=True, slots=True)
class _Measured:
    """An agent's results before the gate."""

    least: _Reading  # unmeasured trials as failures
    best: _Reading  # as passes
    floor: float  # the chance of the deepest fall there can be
    unmeasured: int
    cases: str  # which are left out, where not all are in both
    needed: int  # more trials that would find a fall of ten points


@dataclass(frozen=True, slots=True)
class _Trial:
    """One agent before the gate; `found` says why it can't be decided, where it can't."""

    task: str
    agent: str
    against: HeldAgainst
    n: int
    found: _Measured | str


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
    tested = [found for each in trials if (found := _to_test(each))]
    least = iter(holm([each.least.chance for each in tested]))
    best = iter(holm([each.best.chance for each in tested]))
    return [
        _tested(each, found, next(least), next(best), len(tested))
        if (found := _to_test(each))
        else _other(each)
        for each in trials
    ]


def _to_test(trial: _Trial) -> _Measured | None:
    """What a test decides on; None where a bound does, or nothing can."""
    found = trial.found
    return None if isinstance(found, str) or trial.against.max_drop is not None else found


def _trials(
    task: TaskFigures, results: TaskResults, held: HeldAgainst, this: Baseline
) -> Iterator[_Trial]:
    for agent in task.agents:
        why = SELECTION if task.selection != "all" and not held.option else ""
        match = why or _match(results, agent.name, held, this)
        found = match if isinstance(match, str) else _measured(match)
        yield _Trial(task.id, agent.name, held, agent.trials, found)


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


def _measured(match: Match) -> _Measured | str:
    cases = match.cases()
    known = [[e for pair in cases for e in pair[at].passed if e is not None] for at in (0, 1)]
    if not all(known):
        return f"nothing was measured {'here' if known[0] else 'in the baseline'}"
    unmeasured = sum(each is None for pair in cases for each in pair[1].passed)
    least = _reading(cases, 0.0, paired=match.paired)
    lost = [(before, _all_failed(after)) for before, after in cases]
    size = detectable([Case(measured(a.passed), measured(b.passed)) for a, b in cases])
    return _Measured(
        least=least,
        best=_reading(cases, 1.0, paired=match.paired) if unmeasured else least,
        floor=_reading(lost, 0.0, paired=match.paired).chance,
        unmeasured=unmeasured,
        cases=_cases(match, len(cases)),
        needed=size.more_trials() if size else 0,
    )


def _cases(match: Match, both: int) -> str:
    """What the figures do not speak of: a persona that is gone can't become worse."""
    before, planned = (len(each.cases) for each in match.agents)
    here = "" if both == planned else f", over {both} of {plural(planned, 'case')}"
    gone = f", {plural(before - both, 'case')} of the baseline not here" if before > both else ""
    return here + gone


def _all_failed(case: CaseResults) -> CaseResults:
    """The case as it is where nothing passes; what had no score has none."""
    scores = [
        0.0 if score is not None or passed is None else None
        for score, passed in zip(case.scores, case.passed, strict=True)
    ]
    return case.model_copy(update={"passed": [False] * len(case.passed), "scores": scores})


def _reading(
    cases: Sequence[tuple[CaseResults, CaseResults]], unmeasured: float, *, paired: bool
) -> _Reading:
    """Of cases that both have; trials that this run did not measure are worth `unmeasured`."""

    def after(case: CaseResults) -> list[Row | None]:
        return _rows(case, unmeasured)

    whole = strata(cases, _rows, after, paired=False)
    means = {name: means for at, name in enumerate(_FIGURES) if (means := _means(whole, at))}
    kept = [at for at, name in enumerate(_FIGURES) if name in means]
    groups = strata(cases, _rows, after, paired=paired)
    chance, deepest = joint_fall([(_columns(a, kept), _columns(b, kept)) for a, b in groups])
    return _Reading(means, list(means)[deepest], chance)


def _columns(rows: Sequence[Row], kept: Sequence[int]) -> list[Row]:
    return [[row[at] for at in kept] for row in rows]


def _rows(case: CaseResults, unmeasured: float | None = None) -> list[Row | None]:
    """Passed and score a trial, nan where it has none; unmeasured ones are None, or worth that."""
    found: list[Row | None] = []
    for passed, score in zip(case.passed, case.scores, strict=True):
        if passed is not None:
            found.append([float(passed), math.nan if score is None else score])
        else:
            found.append(None if unmeasured is None else [unmeasured, unmeasured])
    return found


def _means(rows: Sequence[tuple[list[Row], list[Row]]], at: int) -> tuple[float, float] | None:
    """A figure before and after: the mean over the cases that both runs have it of."""
    pairs = []
    for pair in rows:
        before, after = ([row[at] for row in run if not math.isnan(row[at])] for run in pair)
        if before and after:
            pairs.append((_mean(before), _mean(after)))
    return (_mean([a for a, _ in pairs]), _mean([b for _, b in pairs])) if pairs else None


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


# ---- decisions


def _tested(trial: _Trial, found: _Measured, least: float, best: float, tests: int) -> GateFigure:
    """Worse only where chance alone would seldom bring such a fall."""
    name = found.least.deepest
    told = f"{found.least.told(name)}, {_chance(least)}{found.cases}"
    if least <= FALSE_ALARM:
        if best <= FALSE_ALARM:
            return _figure(trial, "failed", told, name)
        return _figure(trial, "not decided", _would_decide(found), name)
    can_fall = any(before > 0 for before, _ in found.least.means.values())
    if can_fall and found.floor * tests > FALSE_ALARM:
        return _figure(trial, "not decided", _too_few(trial.n, found), name)
    return _figure(trial, "passed", told, name)


def _chance(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _too_few(trials: int, found: _Measured) -> str:
    text = f"{plural(trials, 'trial')} could not show even a fall to 0"
    if not found.needed:
        return text
    more = plural(found.needed, "more trial")
    return f"{text}; {more} would be needed to see {100 * LOOKED_FOR:.0f} points"


def _other(trial: _Trial) -> GateFigure:
    """What can't be decided, and what a bound decides: it says nothing of chance."""
    found, drop = trial.found, trial.against.max_drop
    if isinstance(found, str):
        return _figure(trial, "not decided", found)
    assert drop is not None
    name = found.least.worst()
    told = f"engineering threshold: {found.least.told(name)}{found.cases}"
    if found.least.difference(name) >= -drop - _ROUNDING:
        return _figure(trial, "passed", told, name)
    if found.best.difference(found.best.worst()) >= -drop - _ROUNDING:
        return _figure(trial, "not decided", _would_decide(found), name)
    return _figure(trial, "failed", told, name)


def _would_decide(found: _Measured) -> str:
    return f"{plural(found.unmeasured, 'unmeasured trial')} would decide"


def _figure(trial: _Trial, status: Status, why: str, name: str | None = None) -> GateFigure:
    drop, found = trial.against.max_drop, trial.found
    return GateFigure(
        name="baseline",
        source=trial.against.source,
        task=trial.task,
        agent=trial.agent,
        k=None,
        bound=0.0 if drop is None else -drop,
        figure=found.least.difference(name) if name and isinstance(found, _Measured) else None,
        n=trial.n,
        status=status,
        why=why,
    )
