"""Many tests at once: how sure each must be so that chance alone names none, or few."""

from __future__ import annotations

from collections.abc import Sequence


def benjamini_hochberg(values: Sequence[float]) -> list[float]:
    """Adjusted p: of those at 0.05 or below, a twentieth is there by chance, as expected.

    Benjamini and Hochberg 1995, J. R. Stat. Soc. B 57:289.
    """
    _check(values)
    order = sorted(range(len(values)), key=values.__getitem__, reverse=True)
    adjusted, least = [1.0] * len(values), 1.0
    for rank, at in enumerate(order):
        least = min(least, values[at] * (len(values) / (len(values) - rank)))
        adjusted[at] = least
    return adjusted


def holm(values: Sequence[float]) -> list[float]:
    """Adjusted p: that any at 0.05 or below is there by chance has a chance of 0.05.

    Holm 1979, Scand. J. Stat. 6:65.
    """
    _check(values)
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted, most = [1.0] * len(values), 0.0
    for rank, at in enumerate(order):
        most = max(most, min(1.0, values[at] * (len(values) - rank)))
        adjusted[at] = most
    return adjusted


def _check(values: Sequence[float]) -> None:
    for each in values:
        if not 0 <= each <= 1:  # nan too
            raise ValueError(f"{each!r} is no p")
