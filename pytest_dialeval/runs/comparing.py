"""Two runs side by side: how far the later one is from the earlier, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from pytest_dialeval.records.wording import plural
from pytest_dialeval.runs.baseline import Baseline, CaseResults, measured
from pytest_dialeval.runs.comparable import Change, Match, changes, match_up, obstacles
from pytest_dialeval.runs.strata import strata
from pytest_dialeval.statistics.bootstrap import DRAWS, paired_shifts
from pytest_dialeval.statistics.detectable import Detectable, detectable
from pytest_dialeval.statistics.intervals import CONFIDENCE, MIN_CASES, newcombe
from pytest_dialeval.statistics.many_tests import benjamini_hochberg
from pytest_dialeval.statistics.mcnemar import Pairs
from pytest_dialeval.statistics.pass_k import pass_hat_k
from pytest_dialeval.statistics.within_cases import Case, within_cases

Standing = Literal["better", "worse", "not separated"]
Basis = Literal["cases like these", "these cases"]
_CHANCE = 1 - CONFIDENCE


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure in both runs; means over the cases that both have, unmeasured trials left out."""

    name: str
    before: float | None
    after: float | None
    trials: tuple[int, int]  # measured
    cases: int
    value: float | None = None
    pessimistic: float | None = None  # unmeasured trials as failures; None: the same
    low: float | None = None  # 95 %; None: too few cases
    high: float | None = None
    p: float | None = None
    adjusted: float | None = None  # over the figures of its table
    basis: Basis = "these cases"  # what `p` speaks of
    p_here: float | None = None  # of these cases alone, where `p` is of cases like them

    @property
    def standing(self) -> Standing:
        """Better or worse only where p, as adjusted, and the interval agree."""
        p = self.p if self.adjusted is None else self.adjusted
        if self.value is None or p is None or p > _CHANCE or self._holds_zero():
            return "not separated"
        return "better" if self.value > 0 else "worse"

    def _holds_zero(self) -> bool:
        return self.low is not None and self.high is not None and self.low <= 0 <= self.high


@dataclass(frozen=True, slots=True)
class AgentComparison:
    """One agent of one task; `obstacles` leave the rest empty."""

    name: str
    changes: tuple[Change, ...]
    obstacles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    overall: tuple[Difference, ...] = ()
    rubrics: tuple[Difference, ...] = ()
    personas: tuple[Difference, ...] = ()
    pairs: Pairs | None = None  # None: trials of one number met different users
    detectable: Detectable | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The later run beside the earlier."""

    before: Baseline
    after: Baseline
    agents: tuple[AgentComparison, ...]
    notes: tuple[str, ...] = ()
    problem: str = ""  # why nothing could be compared

    @property
    def incomparable(self) -> bool:
        return bool(self.problem) or any(each.obstacles for each in self.agents)


def compare(
    before: Baseline,
    after: Baseline,
    *,
    against: str | None = None,
    agent: str | None = None,
    draws: int = DRAWS,
) -> Comparison:
    """Every task and agent that both have; RunError where a named agent is in none."""
    found = match_up(before, after, against=against, agent=agent)
    agents = tuple(_compared(each, before, after, draws) for each in found.matches)
    return Comparison(before, after, agents, found.alone, found.problem)


def _compared(match: Match, before: Baseline, after: Baseline, draws: int) -> AgentComparison:
    changed = tuple(changes(match, before, after))
    if against := tuple(obstacles(match, before, after)):
        return AgentComparison(match.name, changed, against)
    cases = match.cases()
    figures = list(_figures(match, cases))
    found = _differences(figures, draws, paired=match.paired)
    overall = tuple(each for each, figure in zip(found, figures, strict=True) if figure.overall)
    rubrics = [each for each, figure in zip(found, figures, strict=True) if not figure.overall]
    passes = [_case(pair, passed) for pair in cases]
    return AgentComparison(
        match.name,
        changed,
        notes=tuple(_notes(match, cases)),
        overall=overall,
        rubrics=_adjusted(rubrics),
        personas=_adjusted([_persona(pair) for pair in cases]),
        pairs=_pairs(cases) if match.paired else None,
        detectable=detectable(passes),
    )


def _notes(match: Match, cases: Sequence[tuple[CaseResults, CaseResults]]) -> Iterator[str]:
    if not match.paired:
        yield "seeds or users differ: cases are paired, their trials are not"
    for where, agent in zip(("before", "after"), match.agents, strict=True):
        if left := len(agent.cases) - len(cases):
            yield f"{plural(left, 'case')} only {where}, left out"
    if not any(measured(a.passed) and measured(b.passed) for a, b in cases):
        yield "no pass rate: no case has measured trials in both runs"
    for where, place in (("before", 0), ("after", 1)):
        unmeasured = sum(each is None for pair in cases for each in pair[place].passed)
        if unmeasured:
            yield f"{plural(unmeasured, 'trial')} unmeasured {where}"


# ---- figures: what one case is worth


Values = Callable[[CaseResults], Sequence[float | None]]


class _Figure(NamedTuple):
    """One line of a table: the values of a case's trials, and their sum in one number."""

    name: str
    cases: Sequence[tuple[CaseResults, CaseResults]]
    values: Values
    overall: bool
    k: int = 1  # Pass^k

    def worth(self, case: CaseResults, *, pessimistic: bool = False) -> float | None:
        values = self.values(case)
        if pessimistic:  # a trial may be measured and still have no score
            unknown = [each is None for each in case.passed]
            values = [0.0 if no else each for no, each in zip(unknown, values, strict=True)]
        known = measured(values)
        if len(known) < self.k:
            return None
        if self.k > 1:
            return pass_hat_k(len(known), round(sum(known)), self.k)
        return math.fsum(known) / len(known)


def passed(case: CaseResults) -> Sequence[float | None]:
    """1, 0 or None a trial."""
    return case.passed


def scores(case: CaseResults) -> Sequence[float | None]:
    """Task scores."""
    return case.scores


def _rubric(name: str) -> Values:
    """Its scores; a rubric that was nowhere scored in a case is not listed there."""
    return lambda case: case.rubrics.get(name) or [None] * len(case.trials)


def _figures(match: Match, cases: Sequence[tuple[CaseResults, CaseResults]]) -> Iterator[_Figure]:
    yield _Figure("pass rate", cases, passed, overall=True)
    yield _Figure("task score", cases, scores, overall=True)
    k = min(len(measured(each.passed)) for pair in cases for each in pair)
    if k > 1:
        yield _Figure(f"Pass^{k}", cases, passed, overall=True, k=k)
    for name in match.tasks[1].rubrics:
        yield _Figure(name, cases, _rubric(name), overall=False)


def _differences(figures: Sequence[_Figure], draws: int, *, paired: bool) -> list[Difference]:
    """All figures from one draw of cases."""
    worths = [[_both(figure, pair) for pair in figure.cases] for figure in figures]
    columns = [[_apart(each) for each in worth] for worth in worths]
    rows = list(zip(*columns, strict=True))
    found = []
    for figure, worth, shift in zip(figures, worths, paired_shifts(rows, draws=draws), strict=True):
        known = [(a, b) for a, b in worth if a is not None and b is not None]
        low, high = shift.interval or (None, None)
        made = Difference(
            figure.name,
            before=_mean([a for a, _ in known]),
            after=_mean([b for _, b in known]),
            trials=_measured_trials(figure),
            cases=shift.cases,
            value=shift.value,
            low=low,
            high=high,
            p=shift.p,
            basis="cases like these" if shift.p is not None else "these cases",
        )
        found.append(_tested_here(made, figure, paired=paired) if figure.k == 1 else made)
    return [_read_twice(each, figure) for each, figure in zip(found, figures, strict=True)]


def _both(
    figure: _Figure, pair: tuple[CaseResults, CaseResults], *, pessimistic: bool = False
) -> tuple[float | None, float | None]:
    before, after = (figure.worth(each, pessimistic=pessimistic) for each in pair)
    return before, after


def _apart(worth: tuple[float | None, float | None]) -> float:
    before, after = worth
    return math.nan if before is None or after is None else after - before


def _measured_trials(figure: _Figure) -> tuple[int, int]:
    before, after = (
        sum(len(measured(figure.values(pair[place]))) for pair in figure.cases) for place in (0, 1)
    )
    return before, after


def _tested_here(made: Difference, figure: _Figure, *, paired: bool) -> Difference:
    """With the chance on these cases alone: below 10 cases there is no other one."""
    if made.value is None or (made.cases >= MIN_CASES and not figure.overall):
        return made
    groups = strata(figure.cases, figure.values, figure.values, paired=paired)
    chance = within_cases([Case(*each) for each in groups]).either
    if made.p is None:
        return replace(made, p=chance)
    return replace(made, p_here=chance)


def _read_twice(made: Difference, figure: _Figure) -> Difference:
    """The other reading, where trials are unmeasured: as failures. Of a rubric there is none."""
    unknown = any(None in each.passed for pair in figure.cases for each in pair)
    if not figure.overall or not unknown:
        return made
    worth = [_both(figure, pair, pessimistic=True) for pair in figure.cases]
    return replace(made, pessimistic=_mean([e for e in map(_apart, worth) if not math.isnan(e)]))


def _case(pair: tuple[CaseResults, CaseResults], values: Values) -> Case:
    before, after = pair
    return Case(measured(values(before)), measured(values(after)))


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


# ---- one case, and pairs of trials


def _persona(pair: tuple[CaseResults, CaseResults]) -> Difference:
    """Its pass rate; its trials are independent of each other, given the case."""
    case = _case(pair, passed)
    before, after = (_mean(each) for each in case)
    made = Difference(pair[1].persona, before, after, (len(case.before), len(case.after)), cases=1)
    if before is None or after is None:
        return made
    low, high = newcombe(
        (round(sum(case.before)), len(case.before)), (round(sum(case.after)), len(case.after))
    )
    p = within_cases([case]).either
    return replace(made, value=after - before, low=low, high=high, p=p)


def _pairs(cases: Sequence[tuple[CaseResults, CaseResults]]) -> Pairs:
    """Trials of one number, measured in both runs."""
    found = []
    for before, after in cases:
        known = dict(zip(before.trials, before.passed, strict=True))
        for number, then in zip(after.trials, after.passed, strict=True):
            first = known.get(number)
            if first is not None and then is not None:
                found.append((first, then))
    return Pairs.of(found)


def _adjusted(table: Sequence[Difference]) -> tuple[Difference, ...]:
    """With p adjusted over those of the table that have one."""
    known = [each.p for each in table if each.p is not None]
    adjusted = iter(benjamini_hochberg(known))
    return tuple(
        each if each.p is None else replace(each, adjusted=next(adjusted)) for each in table
    )
