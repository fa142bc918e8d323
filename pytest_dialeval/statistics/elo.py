"""Elo ratings: each match moves both sides by what its outcome was worth more than expected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import TypeAlias

Game: TypeAlias = tuple[str, str, float]  # left, right, points of the left side: 1, 0.5 or 0
K, START, SCALE = 32.0, 1000.0, 400.0
PERMUTATIONS = 200
_POINTS = (0.0, 0.5, 1.0)


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
    place = {name: index for index, name in enumerate(names)}
    shuffled = sorted((place[left], place[right], points) for left, right, points in games)
    for left, right, points in shuffled:
        if points not in _POINTS or left == right:
            raise ValueError(_wrong(names[left], names[right], points))
    random, total = Random(0), [0.0] * len(names)
    for _ in range(permutations):
        random.shuffle(shuffled)
        for index, rating in enumerate(_replayed(shuffled, len(names), k, start, scale)):
            total[index] += rating
    return {name: total[index] / permutations for name, index in place.items()}


def _replayed(
    games: Iterable[tuple[int, int, float]], agents: int, k: float, start: float, scale: float
) -> list[float]:
    """elo() without names and checks: it runs hundreds of times over the same games."""
    ratings = [start] * agents
    for left, right, points in games:
        ours, theirs = ratings[left], ratings[right]
        moved = k * (points - _expected((theirs - ours) / scale))
        ratings[left] = ours + moved
        ratings[right] = theirs - moved
    return ratings


def _expected(behind: float) -> float:
    """The share of points expected of a side that is so many scales behind the other."""
    if behind > 300:  # a float can't hold more: nothing is expected
        return 0.0
    return float(1.0 / (1.0 + 10.0**behind))


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
