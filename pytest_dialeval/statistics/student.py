"""Quantiles of Student's t for whole degrees of freedom.

scipy has them too, but importing scipy.special and numpy takes a run without latency 0.4 s of its
4 s, for one number.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_MANY = 1000  # degrees of freedom above which the expansion is as exact as a float
_CLOSE = 1e-12  # of the quantile; Newton's next step would be far below it
_STEPS = 100
# Cornish and Fisher's expansion in 1 / freedom (Abramowitz and Stegun 26.7.5): each polynomial of
# odd powers of z, the lowest first, and its divisor.
_EXPANSION = (
    ((1, 1), 4),
    ((3, 16, 5), 96),
    ((-15, 17, 19, 3), 384),
    ((-945, -1920, 1482, 776, 79), 92160),
)


@lru_cache(maxsize=64)
def two_sided(freedom: int, confidence: float) -> float:
    """The t within which the central share `confidence`, in (0, 1), of the distribution lies."""
    if freedom < 1 or not 0 < confidence < 1:
        raise ValueError(f"no quantile for {freedom!r} degrees of freedom, {confidence!r}")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    if freedom > _MANY:
        return _expanded(freedom, z, len(_EXPANSION))
    return _solved(freedom, confidence, _expanded(freedom, z, 1))


def _expanded(freedom: int, z: float, terms: int) -> float:
    sums = (
        math.fsum(factor * z ** (2 * power + 1) for power, factor in enumerate(factors)) / divisor
        for factors, divisor in _EXPANSION[:terms]
    )
    return z + math.fsum(each / freedom**power for power, each in enumerate(sums, 1))


def _solved(freedom: int, confidence: float, t: float) -> float:
    """Newton's method from below, where it cannot overshoot: the share is concave in t > 0."""
    for _ in range(_STEPS):
        step = (confidence - _share(freedom, t)) / (2 * _density(freedom, t))
        t += step
        if abs(step) <= _CLOSE * t:
            break
    return t


def _share(freedom: int, t: float) -> float:
    """P(|T| < t), a finite sum (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    hypotenuse = math.hypot(math.sqrt(freedom), t)
    sine, square = t / hypotenuse, freedom / hypotenuse**2
    odd = freedom % 2
    term, terms = 1.0, []
    for each in range(1 + odd, freedom, 2):
        terms.append(term)
        term *= square * each / (each + 1)
    if odd:
        angle = math.atan2(t, math.sqrt(freedom))
        return 2 / math.pi * (angle + sine * math.sqrt(square) * math.fsum(terms))
    return sine * math.fsum(terms)


def _density(freedom: int, t: float) -> float:
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    decay = (freedom + 1) / 2 * math.log1p(t * t / freedom)
    return math.exp(scale - decay) / math.sqrt(freedom * math.pi)
