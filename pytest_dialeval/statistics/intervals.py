"""How far a figure may be from the truth, given so many cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from pytest_dialeval.statistics import student

MIN_CASES = 10  # below it no interval is given: "too few cases"
CONFIDENCE = 0.95
# Equal shares that were computed in two ways differ by rounding; that is no spread.
_NO_SPREAD = 1e-9


class Interval(NamedTuple):
    low: float
    high: float


def wilson(successes: float, n: int, *, confidence: float = CONFIDENCE) -> Interval:
    """The score interval of a proportion (Wilson 1927, JASA 22:209).

    `successes` may be a sum of shares. Shares of 0..1 with mean p vary by p(1 - p) at most (Bhatia
    and Davis 2000, Amer. Math. Monthly 107:353), the variance used here: the interval of their
    mean is then wide rather than narrow.
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"{successes!r} successes of {n!r} are no proportion")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / n
    scale = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At 0 and n the bound is the share itself; rounding must not move it off.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(low, high)


def clopper_pearson(successes: int, n: int, *, confidence: float = CONFIDENCE) -> Interval:
    """The exact interval of a proportion (Clopper and Pearson 1934, Biometrika 26:404).

    It never covers less than it says, so it is wider than Wilson's.
    """
    from scipy.special import betaincinv

    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"{successes!r} successes of {n!r} are no proportion")
    tail, failures = (1 - confidence) / 2, n - successes
    low = 0.0 if successes == 0 else float(betaincinv(successes, failures + 1, tail))
    high = 1.0 if failures == 0 else float(betaincinv(successes + 1, failures, 1 - tail))
    return Interval(low, high)


def newcombe(
    before: tuple[int, int], after: tuple[int, int], *, confidence: float = CONFIDENCE
) -> Interval:
    """The interval of a difference of two independent proportions, each (successes, n).

    Newcombe 1998, Stat. Med. 17:873, method 10: Wilson's bounds of both, put together.
    """
    shares = [successes / n for successes, n in (before, after)]
    first, second = (wilson(*each, confidence=confidence) for each in (before, after))
    difference = shares[1] - shares[0]
    down = math.hypot(shares[1] - second.low, first.high - shares[0])
    up = math.hypot(second.high - shares[1], shares[0] - first.low)
    return Interval(difference - down, difference + up)


def clustered_t(
    values: Sequence[float],
    counts: Sequence[int] | None = None,
    *,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Student's interval of the mean over cases (Student 1908, Biometrika 6:1), one value a case.

    The case is what was sampled: its trials share a task and a persona, so they are summed up in
    one value and never counted apart (clustered errors as in Miller 2024, arXiv:2411.00640, with
    clusters of equal weight). `counts` says how many cases have each value. The bounds may leave
    [0, 1].
    """
    weights = counts or [1] * len(values)
    cases = sum(weights)
    if cases < 2:
        raise ValueError(f"a spread needs two cases or more, not {cases!r}")
    mean = _weighted_mean(values, weights)
    square = math.fsum(n * (each - mean) ** 2 for each, n in zip(values, weights, strict=True))
    error = math.sqrt(square / (cases - 1) / cases)
    half = student.two_sided(cases - 1, confidence) * error
    return Interval(mean - half, mean + half)


def over_cases(
    values: Sequence[float],
    counts: Sequence[int] | None = None,
    *,
    confidence: float = CONFIDENCE,
) -> Interval | None:
    """The interval of a mean of shares over cases; None where there are too few to say.

    Student's, except where it fails visibly: all cases agree (its width is 0, as if nothing could
    differ in the next case), or it leaves [0, 1]. There Wilson's on cases takes its place.
    """
    weights = counts or [1] * len(values)
    cases = sum(weights)
    if cases < MIN_CASES:
        return None
    found = clustered_t(values, weights, confidence=confidence)
    if found.high - found.low > _NO_SPREAD and found.low >= 0 and found.high <= 1:
        return found
    mean = min(1.0, max(0.0, _weighted_mean(values, weights)))
    return wilson(min(float(cases), mean * cases), cases, confidence=confidence)


def _weighted_mean(values: Sequence[float], weights: Sequence[int]) -> float:
    # fsum: the order of the cases must not show in the last digit.
    return math.fsum(n * each for each, n in zip(values, weights, strict=True)) / sum(weights)
