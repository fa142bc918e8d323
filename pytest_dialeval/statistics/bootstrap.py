"""How far a difference between two runs may be from the truth: cases drawn again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from pytest_dialeval.statistics import student
from pytest_dialeval.statistics.intervals import (
    CONFIDENCE,
    MIN_CASES,
    Interval,
    clopper_pearson,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DRAWS = 10_000
SEED = 20_260_101  # any fixed number: equal runs must give equal intervals
_NO_SPREAD = 1e-9
_AT_ONCE = 8_000_000  # cells of drawn cases that are held in memory


@dataclass(frozen=True, slots=True)
class Shift:
    """A mean difference over cases; `interval` and `p` are None below 10 cases."""

    value: float | None
    cases: int
    interval: Interval | None = None
    p: float | None = None


def paired_shifts(
    differences: Any, *, draws: int = DRAWS, seed: int = SEED, confidence: float = CONFIDENCE
) -> list[Shift]:
    """One shift a column of `differences`: cases x figures, each in [-1, 1], nan where unknown.

    Whole cases are drawn with replacement (Efron 1979, Ann. Stat. 7:1; clusters as in Davison and
    Hinkley 1997, section 3.8), the same ones for every figure. The interval is the expanded
    percentile interval (Hesterberg 2015, Am. Stat. 69:371), which is as wide for few cases as
    Student's is. `p` is the share of draws that stray from the mean as far as 0 does, widened
    alike, two-sided.
    """
    import numpy as np

    table = np.asarray(differences, dtype=float)
    known = ~np.isnan(table)
    cases = known.sum(axis=0)
    filled = np.where(known, table, 0.0)
    means = filled.sum(axis=0) / np.maximum(cases, 1)
    wide = bool((cases >= MIN_CASES).any())
    drawn = _drawn(filled, known, draws, seed) if wide else None
    found = []
    for at, n in enumerate(map(int, cases)):
        column = table[known[:, at], at]
        if drawn is None or n < MIN_CASES:
            found.append(Shift(float(means[at]) if n else None, n))
        elif float(np.ptp(column)) < _NO_SPREAD:
            found.append(_unvaried(float(means[at]), n, confidence))
        else:
            found.append(_shift(float(means[at]), n, drawn[:, at], confidence))
    return found


def _drawn(filled: Floats, known: Any, draws: int, seed: int) -> Floats:
    """Draws x figures: the mean differences of as many cases drawn with replacement."""
    import numpy as np

    counted = known.astype(float)
    whole = bool(known.all())  # then every draw has as many cases, and one product will do
    means = np.empty((draws, filled.shape[1]))
    begin = 0
    for weights in _weights(len(filled), draws, seed):
        end = begin + len(weights)
        known_cases = float(len(filled)) if whole else weights @ counted
        with np.errstate(invalid="ignore", divide="ignore"):  # a draw without a known case
            means[begin:end] = (weights @ filled) / known_cases
        begin = end
    return means


def _weights(cases: int, draws: int, seed: int) -> Iterator[Floats]:
    """How often each case is drawn, some draws at a time."""
    import numpy as np

    generator = np.random.default_rng(seed)
    rows = max(1, _AT_ONCE // cases)
    for begin in range(0, draws, rows):
        count = min(rows, draws - begin)
        chosen = generator.integers(0, cases, (count, cases))
        chosen += np.arange(count)[:, None] * cases
        flat = np.bincount(chosen.ravel(), minlength=count * cases)
        yield flat.reshape(count, cases).astype(float)


def _shift(mean: float, cases: int, drawn: Floats, confidence: float) -> Shift:
    import numpy as np
    from scipy.special import ndtr

    drawn = drawn[~np.isnan(drawn)]
    t = student.two_sided(cases - 1, confidence) * (cases / (cases - 1)) ** 0.5
    tail = float(ndtr(-t))
    low, high = (float(each) for each in np.quantile(drawn, [tail, 1 - tail]))
    wider = t / NormalDist().inv_cdf(0.5 + confidence / 2)
    farther = int((np.abs(drawn - mean) * wider >= abs(mean) - _NO_SPREAD).sum())
    p = (1 + farther) / (1 + len(drawn))
    return Shift(mean, cases, Interval(low, high), p)


def _unvaried(mean: float, cases: int, confidence: float) -> Shift:
    """All cases say the same: a further one may not, by the exact bound for 0 of n."""
    may_differ = clopper_pearson(0, cases, confidence=confidence).high
    low, high = max(-1.0, mean - may_differ), min(1.0, mean + may_differ)
    p = 1.0 if abs(mean) < _NO_SPREAD else 2.0 ** (1 - cases)  # the sign test
    return Shift(mean, cases, Interval(low, high), p)
