"""Whether an agent changed on these very cases: trials of a case may trade places between runs.

Where nothing changed, any trial of a case could as well have been held in the other run. The cases
themselves are taken as given, so one is enough; what is found says nothing of other cases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DRAWS = 10_000
SEED = 20_260_102
_TIE = 1e-9
_WORK = 20_000_000  # cells of shuffled trials in all; large runs are shuffled less often


class Case(NamedTuple):
    """What the trials of one case are worth, 0..1, before and after."""

    before: Sequence[float]
    after: Sequence[float]

    @property
    def binary(self) -> bool:
        return all(each in (0.0, 1.0) for each in (*self.before, *self.after))


@dataclass(frozen=True, slots=True)
class Chance:
    """How likely at least as much of a fall, or of a rise, is where nothing changed."""

    fall: float = 1.0
    rise: float = 1.0

    @property
    def either(self) -> float:
        """Two-sided."""
        return min(1.0, 2 * min(self.fall, self.rise))


def within_cases(cases: Sequence[Case], *, draws: int = DRAWS, seed: int = SEED) -> Chance:
    """Exact for trials that passed or failed, by seeded shuffles for scores between."""
    usable = [each for each in cases if each.before and each.after]
    if not usable:
        return Chance()
    if all(each.binary for each in usable):
        return _exact(usable)
    return _shuffled(usable, draws, seed)


def _exact(cases: Sequence[Case]) -> Chance:
    """Fisher's exact test, stratified by case.

    Gart 1970, Biometrika 57:471; for one case it is Fisher 1935, J. R. Stat. Soc. 98:39.
    """
    import numpy as np

    chances = np.ones(1)
    seen = least = 0
    for case in cases:
        passed = round(sum(case.before) + sum(case.after))
        chances = np.convolve(chances, _hypergeometric(passed, len(case.before), len(case.after)))
        seen += round(sum(case.after))
        least += max(0, passed - len(case.before))
    at = seen - least
    return Chance(_sure(chances[: at + 1].sum()), _sure(chances[at:].sum()))


def _hypergeometric(passed: int, before: int, after: int) -> Floats:
    """How likely each number of those that passed fell to the later run, from the least on."""
    import numpy as np

    counts = range(max(0, passed - before), min(passed, after) + 1)
    logs = [
        _log_comb(after, count)
        + _log_comb(before, passed - count)
        - _log_comb(before + after, passed)
        for count in counts
    ]
    chances: Floats = np.exp(np.array(logs))
    return chances


def _log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _shuffled(cases: Sequence[Case], draws: int, seed: int) -> Chance:
    """The mean over cases of the difference of their means, under seeded shuffles.

    Pitman 1937, J. R. Stat. Soc. Suppl. 4:119; the shuffle seen counts as one of them (Phipson and
    Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9:39), so that no chance is 0.
    """
    import numpy as np

    trials = sum(len(each.before) + len(each.after) for each in cases)
    draws = min(draws, max(1_000, _WORK // trials))
    generator = np.random.default_rng(seed)
    seen, drawn = 0.0, np.zeros(draws)
    for case in cases:
        values = np.array([*case.after, *case.before], dtype=float)
        n = len(case.after)
        keys = generator.random((draws, len(values)))
        chosen = np.argsort(keys, axis=1)[:, :n]
        drawn += _difference(values[chosen].sum(axis=1), values.sum(), n, len(values))
        seen += float(_difference(values[:n].sum(), values.sum(), n, len(values)))
    fall = int((drawn <= seen + _TIE).sum())
    rise = int((drawn >= seen - _TIE).sum())
    return Chance((1 + fall) / (1 + draws), (1 + rise) / (1 + draws))


def _difference(after: Floats, whole: float, n: int, of: int) -> Floats:
    return after / n - (whole - after) / (of - n)


def _sure(chance: float) -> float:
    return min(1.0, max(0.0, float(chance)))
