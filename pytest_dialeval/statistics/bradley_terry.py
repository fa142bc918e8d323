"""Bradley-Terry strengths: what all matches say together, whatever their order."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_dialeval.statistics import student
from pytest_dialeval.statistics.elo import SCALE, START, Game
from pytest_dialeval.statistics.intervals import CONFIDENCE, MIN_CASES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_STEPS = 100
_CLOSE = 1e-10  # of natural strengths: far below a thousandth of a rating point
# Why there is no number: no finite strength makes such results likeliest.
Apart = Literal["", "never loses", "never wins", "not linked to the others"]


@dataclass(frozen=True, slots=True)
class Strength:
    """A rating on Elo's scale, the mean of all being `start`.

    `value` is None where `apart` says why; low and high are None where clusters are too few.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    apart: Apart = ""


def bradley_terry(
    games: Sequence[Game],
    clusters: Sequence[Hashable] | None = None,
    *,
    start: float = START,
    scale: float = SCALE,
    confidence: float = CONFIDENCE,
    min_clusters: int = MIN_CASES,
) -> dict[str, Strength]:
    """The strengths that make the games likeliest (Bradley and Terry 1952, Biometrika 39:324).

    A tie is half a win for each. Intervals are by the sandwich estimator (White 1982, Econometrica
    50:1), with games of one cluster summed up first; by default each game is its own cluster.
    """
    names = sorted({each for game in games for each in game[:2]})
    groups = range(len(games)) if clusters is None else clusters
    if len(groups) != len(games):
        raise ValueError(f"{len(games)} games have {len(groups)} clusters: give one for each")
    for left, right, points in games:
        if points not in (0.0, 0.5, 1.0) or left == right:
            raise ValueError(f"{left!r} against {right!r}: {points!r} points; give 1, 0.5 or 0")
    linked = _linked(names, games)
    inside = [index for index, game in enumerate(games) if {*game[:2]} <= linked]
    apart = {each: Strength(None, apart=_why(each, games)) for each in names if each not in linked}
    if not linked:
        return apart
    fit = _Fit.of(sorted(linked), [games[each] for each in inside])
    found = fit.strengths([groups[each] for each in inside], start, scale, confidence, min_clusters)
    return {each: apart.get(each) or found[each] for each in names}


def overlap(one: Strength, other: Strength) -> bool | None:
    """Whether the intervals of two overlap; None where one of them has none."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return None
    return one.low <= other.high and other.low <= one.high


@dataclass(frozen=True, slots=True)
class _Fit:
    """Agents and games as numbers."""

    names: Sequence[str]
    left: Any  # index of each game's left side
    right: Any
    points: Any

    @classmethod
    def of(cls, names: Sequence[str], games: Sequence[Game]) -> _Fit:
        import numpy as np

        place = {name: index for index, name in enumerate(names)}
        return cls(
            names,
            np.array([place[each[0]] for each in games], dtype=np.intp),
            np.array([place[each[1]] for each in games], dtype=np.intp),
            np.array([each[2] for each in games], dtype=np.float64),
        )

    def strengths(
        self,
        clusters: Sequence[Hashable],
        start: float,
        scale: float,
        confidence: float,
        min_clusters: int,
    ) -> Mapping[str, Strength]:
        """By name, on Elo's scale; without an interval below `min_clusters` clusters."""
        points_each = scale / math.log(10)
        natural, inverse = self._fitted()
        values = start + points_each * natural
        many = len(set(clusters))
        if many < max(2, min_clusters):
            return {
                name: Strength(float(each)) for name, each in zip(self.names, values, strict=True)
            }
        half = (
            points_each
            * self._errors(natural, inverse, clusters)
            * student.two_sided(many - 1, confidence)
        )
        return {
            name: Strength(float(value), float(value - each), float(value + each))
            for name, value, each in zip(self.names, values, half, strict=True)
        }

    def _fitted(self) -> tuple[Any, Any]:
        """Strengths that sum to 0 and the inverse of the information, by Newton's method."""
        import numpy as np

        size = len(self.names)
        natural: Array = np.zeros(size)
        for _ in range(_STEPS):
            expected = self._expected(natural)
            gradient = np.bincount(self.left, self.points - expected, size)
            gradient -= np.bincount(self.right, self.points - expected, size)
            inverse = _inverse(self._information(expected))
            step = inverse @ gradient
            # A step across the whole scale would overshoot where nearly all games are wins.
            largest = float(np.abs(step).max(initial=0.0))
            natural = natural + step * min(1.0, 2.0 / largest if largest else 1.0)
            natural -= natural.mean()
            if largest < _CLOSE:
                break
        return natural, _inverse(self._information(self._expected(natural)))

    def _expected(self, natural: Array) -> Array:
        from scipy.special import expit

        found: Array = expit(natural[self.left] - natural[self.right])
        return found

    def _information(self, expected: Array) -> Array:
        import numpy as np

        size = len(self.names)
        found = np.zeros((size, size))
        weight = expected * (1 - expected)
        np.add.at(found, (self.left, self.left), weight)
        np.add.at(found, (self.right, self.right), weight)
        np.add.at(found, (self.left, self.right), -weight)
        np.add.at(found, (self.right, self.left), -weight)
        return found

    def _errors(self, natural: Array, inverse: Array, clusters: Sequence[Hashable]) -> Array:
        """Standard errors: what each cluster pulls, between two inverses of the information."""
        import numpy as np

        place: dict[Hashable, int] = {}
        rows = np.array([place.setdefault(each, len(place)) for each in clusters], dtype=np.intp)
        pull = self.points - self._expected(natural)
        pulls = np.zeros((len(place), len(self.names)))
        np.add.at(pulls, (rows, self.left), pull)
        np.add.at(pulls, (rows, self.right), -pull)
        few = len(place) / (len(place) - 1)  # clusters: each has pulled the fit its way
        spread = inverse @ (pulls.T @ pulls) @ inverse * few
        found: Array = np.sqrt(np.clip(np.diag(spread), 0.0, None))
        return found


def _inverse(information: Array) -> Array:
    """The inverse among strengths that sum to 0: all of them moved alike changes no game.

    That direction is known, so it is taken out exactly; a pseudo-inverse has to guess it from
    rounding, and where it fails intervals are millions of points wide.
    """
    import numpy as np

    size = len(information)
    alike = np.full_like(information, float(np.trace(information)) / size**2)
    return np.asarray(np.linalg.inv(information + alike) - 1.0 / (size**2 * alike))


def _linked(names: Sequence[str], games: Sequence[Game]) -> set[str]:
    """The largest group in which everybody has beaten everybody else, if only through others.

    Only there strengths are finite (Ford 1957, Amer. Math. Monthly 64:28).
    """
    beaten: dict[str, set[str]] = {each: set() for each in names}
    beaten_by: dict[str, set[str]] = {each: set() for each in names}
    for left, right, points in games:
        if points > 0:
            beaten[left].add(right)
            beaten_by[right].add(left)
        if points < 1:
            beaten[right].add(left)
            beaten_by[left].add(right)
    left_over, best = set(names), set[str]()
    for name in names:
        if name in left_over:
            group = _reached(name, beaten) & _reached(name, beaten_by)
            left_over -= group
            best = group if len(group) > max(1, len(best)) else best
    return best


def _reached(name: str, ways: Mapping[str, set[str]]) -> set[str]:
    found, new = {name}, [name]
    while new:
        for each in ways[new.pop()] - found:
            found.add(each)
            new.append(each)
    return found


def _why(name: str, games: Sequence[Game]) -> Apart:
    own = [p if left == name else 1 - p for left, right, p in games if name in (left, right)]
    if all(each == 1 for each in own):
        return "never loses"
    return "never wins" if not any(own) else "not linked to the others"
