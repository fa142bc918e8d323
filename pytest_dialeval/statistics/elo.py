"""Elo ratings: each match moves both sides by what its outcome was worth more than expected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Game: TypeAlias = tuple[str, str, float]  # left, right, points of the left side: 1, 0.5 or 0
K, START, SCALE = 32.0, 1000.0, 400.0
PERMUTATIONS = 200
_AT_ONCE = 4_000_000  # games replayed side by side: 32 MB for each array of their places
_POINTS = (0.0, 0.5, 1.0)
_FAR = 300.0  # scales: ten to the power of more has no room in a float, and nothing is expected


def elo(
    games: Iterable[Game], *, k: float = K, start: float = START, scale: float = SCALE
) -> dict[str, float]:
    """The ratings after these games, in this order (Elo 1978, The Rating of Chessplayers).

    Both sides move by the ratings that they had before the game. The order matters: the same games
    in another order end elsewhere, see mean_elo().
    """
    _check(k, start, scale)
    ratings: dict[str, float] = {}
    get = ratings.get
    for left, right, points in games:
        if points not in _POINTS or left == right:
            raise ValueError(_wrong(left, right, points))
        ours, theirs = get(left, start), get(right, start)
        moved = k * (points - _expected((theirs - ours) / scale))
        ratings[left] = ours + moved
        ratings[right] = theirs - moved
    return ratings


def mean_elo(
    games: Sequence[Game],
    *,
    k: float = K,
    start: float = START,
    scale: float = SCALE,
    permutations: int = PERMUTATIONS,
) -> dict[str, float]:
    """The mean of the ratings over shuffled orders: what the games say without their order.

    Seeded; the order in which the games are given makes no difference.
    """
    _check(k, start, scale)
    names = sorted({each for game in games for each in game[:2]})
    if not names:
        return {}
    place = {name: index for index, name in enumerate(names)}
    # Sorted: shuffles begin from the same order whatever order the games come in.
    numbered = sorted((place[left], place[right], points) for left, right, points in games)
    for left, right, points in numbered:
        if points not in _POINTS or left == right:
            raise ValueError(_wrong(names[left], names[right], points))
    total = _replayed(numbered, len(names), permutations, k, scale)
    return {name: start + float(total[index]) / permutations for name, index in place.items()}


def _replayed(
    games: Sequence[tuple[int, int, float]], agents: int, permutations: int, k: float, scale: float
) -> Any:
    """elo() over shuffled orders side by side, from 0; the sum of each agent's ratings."""
    import numpy as np

    left, right, points = (np.array(each) for each in zip(*games, strict=True))
    bits = np.random.PCG64(0)  # its raw bits are the same in every version of numpy
    total = np.zeros(agents)
    batch = max(1, _AT_ONCE // len(games))
    for first in range(0, permutations, batch):
        rows = np.arange(min(batch, permutations - first))
        orders = np.array([bits.random_raw(len(games)).argsort(kind="stable") for _ in rows])
        ratings = np.zeros((len(rows), agents))
        for game in orders.T:  # the next one of each order
            ours, theirs = left[game], right[game]
            behind = (ratings[rows, theirs] - ratings[rows, ours]) / scale
            moved = k * (points[game] - 1.0 / (1.0 + 10.0 ** np.minimum(behind, _FAR)))
            ratings[rows, ours] += moved
            ratings[rows, theirs] -= moved
        total += ratings.sum(axis=0)
    return total


def _expected(behind: float) -> float:
    """The share of points expected of a side that is so many scales behind the other."""
    return float(1.0 / (1.0 + 10.0 ** min(behind, _FAR)))


def mean_over_tasks(ratings: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each agent's ratings over the tasks in which it has one."""
    found: dict[str, list[float]] = {}
    for task in ratings:
        for name, rating in task.items():
            found.setdefault(name, []).append(rating)
    return {name: math.fsum(each) / len(each) for name, each in found.items()}


def _check(k: float, start: float, scale: float) -> None:
    if not (math.isfinite(k) and k > 0 and math.isfinite(scale) and scale > 0):
        raise ValueError(f"k={k!r} and scale={scale!r} must be numbers above 0")
    if not math.isfinite(start):
        raise ValueError(f"start={start!r} must be a number")


def _wrong(left: str, right: str, points: float) -> str:
    if left == right:
        return f"{left!r} cannot play against itself"
    return f"{points!r} points of {left!r} against {right!r}: they are 1, 0.5 or 0"
