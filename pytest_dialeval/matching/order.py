"""The longest part of a list of steps that happens in its order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
At = tuple[int, int]  # place of the turn or call, place within it


@dataclass(frozen=True, slots=True)
class Spot(Generic[T]):
    """One happening of a step."""

    start: At
    end: At
    what: T


@dataclass(frozen=True, slots=True)
class _Chain(Generic[T]):
    """Steps done one after the other; the newest first."""

    step: int
    spot: Spot[T]
    before: _Chain[T] | None


def in_order(steps: Sequence[Sequence[Spot[T]]]) -> list[tuple[int, Spot[T]]]:
    """The most steps that can be found one after the other: (number of the step, where).

    A missing step costs only itself; no two steps share their words.
    """
    best: list[_Chain[T] | None] = [None]  # the chain of each length that ends earliest
    for number, spots in enumerate(steps):
        soonest = _Soonest(spots)
        for length in range(len(best) - 1, -1, -1):
            chain = best[length]
            spot = soonest.after(chain.spot.end if chain else (0, 0))
            if spot is None:
                continue
            longer = _Chain(number, spot, chain)
            if length + 1 == len(best):
                best.append(longer)
            elif spot.end < best[length + 1].spot.end:  # type: ignore[union-attr]
                best[length + 1] = longer
    found: list[tuple[int, Spot[T]]] = []
    chain = best[-1]
    while chain is not None:
        found.append((chain.step, chain.spot))
        chain = chain.before
    return found[::-1]


class _Soonest(Generic[T]):
    """The happening that ends first among those that begin at a place or later."""

    def __init__(self, spots: Sequence[Spot[T]]) -> None:
        self._spots = sorted(spots, key=lambda each: each.start)
        for place in range(len(self._spots) - 2, -1, -1):
            if self._spots[place + 1].end < self._spots[place].end:
                self._spots[place] = self._spots[place + 1]
        self._starts = sorted(each.start for each in spots)

    def after(self, place: At) -> Spot[T] | None:
        at = bisect_left(self._starts, place)
        return self._spots[at] if at < len(self._spots) else None
