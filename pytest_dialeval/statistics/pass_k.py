"""Pass^k and pass@k: how far an agent can be relied on, over the cases of a task."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

from pytest_dialeval.statistics.intervals import MIN_CASES, Interval, over_cases, wilson

Reading = Literal["hat", "at"]


@dataclass(frozen=True, slots=True)
class CaseCount:
    """The trials of one case."""

    passed: int
    failed: int
    unmeasured: int = 0

    def __post_init__(self) -> None:
        if min(self.passed, self.failed, self.unmeasured) < 0:
            raise ValueError(f"{self!r}: a count is 0 or more")

    @classmethod
    def of(cls, trials: Iterable[bool | None]) -> CaseCount:
        """Counts what `TrialScore.passed` says of each trial."""
        found = Counter(trials)
        return cls(passed=found[True], failed=found[False], unmeasured=found[None])


@dataclass(frozen=True, slots=True)
class PassK:
    """One point of a curve: a mean over the cases that have k trials or more.

    `value` leaves unmeasured trials out, `value_pessimistic` counts them as failures; either is
    None where no case has enough trials for it. `low` and `high` go with `value` and are None
    below 10 cases. `cases` of `of_cases` are in the mean of `value`.
    """

    value: float | None
    value_pessimistic: float | None
    low: float | None
    high: float | None
    cases: int
    of_cases: int


def pass_hat_k(n: int, c: int, k: int) -> float:
    """The chance that k of n trials, c of which passed, all passed: C(c,k) / C(n,k).

    Unbiased for "k of k pass" (Yao and others 2024, arXiv:2406.12045); (c/n)^k is not.
    """
    _check(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that one of k trials passed at least: 1 - C(n-c,k) / C(n,k).

    Unbiased for "one of k passes" (Chen and others 2021, arXiv:2107.03374).
    """
    _check(n, c, k)
    every = math.comb(n, k)
    return (every - math.comb(n - c, k)) / every


def pass_curve(
    counts: Sequence[CaseCount], *, reading: Reading = "hat", k_max: int | None = None
) -> dict[int, PassK]:
    """Pass^k ("hat") or pass@k ("at") for k = 1..k_max, by default the most trials of any case."""
    if reading not in ("hat", "at"):
        raise ValueError(f"{reading!r} is no reading; it is 'hat' or 'at'")
    cases = Counter((each.passed, each.failed, each.unmeasured) for each in counts)
    measured, planned = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for (passed, failed, unmeasured), number in cases.items():
        measured[passed + failed, passed] += number
        planned[passed + failed + unmeasured, passed] += number
    if k_max is None:
        k_max = max((n for n, _ in planned), default=0)
    columns = _columns(measured, reading)
    pessimistic = None if planned == measured else _columns(planned, reading)
    curve = {}
    for k in range(1, k_max + 1):
        column = next(columns)
        curve[k] = _point(column, next(pessimistic) if pessimistic else column, len(counts))
    return curve


@dataclass(frozen=True, slots=True)
class _Column:
    """What the cases with k trials or more show, equal cases together."""

    shares: Sequence[float]
    cases: Sequence[int]
    one_trial: bool  # every case has just one

    def total(self) -> float:
        # fsum: the order of the cases must not show in the last digit.
        return math.fsum(n * each for each, n in zip(self.shares, self.cases, strict=True))

    def mean(self) -> float | None:
        return self.total() / sum(self.cases) if self.cases else None

    def interval(self) -> Interval | None:
        if self.one_trial and sum(self.cases) >= MIN_CASES:
            return wilson(self.total(), sum(self.cases))
        return over_cases(self.shares, self.cases)


def _columns(histogram: Counter[tuple[int, int]], reading: Reading) -> Iterator[_Column]:
    """The columns for k = 1, 2, ... without end; their work adds up to the trials at most.

    A share for k is the one for k - 1 times (m - k + 1) / (n - k + 1), where m trials are drawn
    from: those that passed for Pass^k, those that failed for the complement of pass@k.
    """
    rows = sorted(
        (n, n - c if reading == "at" else c, cases) for (n, c), cases in histogram.items()
    )
    one_trial = all(n <= 1 for n, _, _ in rows)
    chances = [1.0] * len(rows)
    for drawn in count():
        first = next((at for at, row in enumerate(rows) if row[0] > drawn), len(rows))
        rows, chances = rows[first:], chances[first:]
        chances = [
            chance * max(0, m - drawn) / (n - drawn)
            for chance, (n, m, _) in zip(chances, rows, strict=True)
        ]
        shares = [1.0 - each for each in chances] if reading == "at" else chances
        yield _Column(shares, [cases for _, _, cases in rows], one_trial)


def _point(column: _Column, pessimistic: _Column, of_cases: int) -> PassK:
    interval = column.interval()
    return PassK(
        value=column.mean(),
        value_pessimistic=pessimistic.mean(),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        cases=sum(column.cases),
        of_cases=of_cases,
    )


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n:
        raise ValueError(f"{c!r} of {n!r} trials cannot have passed")
    # k = 0 would be 1 for every agent: a gate that cannot fail.
    if not 1 <= k <= n:
        raise ValueError(f"k={k!r} needs 1 <= k <= n; there are n={n!r} trials")
