"""Whether an agent changed on these very cases: trials of a case may trade places between runs.

Where nothing changed, any trial of a case could as well have been held in the other run. The cases
themselves are taken as given, so one is enough; what is found says nothing of other cases. A pair
of trials that have more in common than their case is a case of its own here: for trials that passed
or failed, the exact test is then McNemar's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DRAWS = 10_000
SEED = 20_260_102
_DIGITS = 9
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
    columns = [([[each] for each in a], [[each] for each in b]) for a, b in cases]
    drawn, seen = _shuffles(columns, draws, seed)
    fall, rise = int((drawn <= seen).sum()), int((drawn >= seen).sum())
    return Chance((1 + fall) / (1 + len(drawn)), (1 + rise) / (1 + len(drawn)))


Rows = Sequence[Sequence[float]]  # trials x figures, nan where unknown


def joint_fall(
    cases: Sequence[tuple[Rows, Rows]], *, draws: int = DRAWS, seed: int = SEED
) -> tuple[float, int]:
    """How likely a fall as deep as the deepest of several figures is, and which one that is.

    The figures belong to the same trials and rise and fall together, which the shuffles show: one
    figure said twice costs nothing (the least p of Westfall and Young 1993, Resampling-Based
    Multiple Testing, section 2.3).
    """
    import numpy as np

    usable = [each for each in cases if len(each[0]) and len(each[1])]
    if not usable:
        return 1.0, 0
    drawn, seen = _shuffles(usable, draws, seed)
    every = np.vstack([seen, drawn])
    ranks = [np.searchsorted(np.sort(each), each, side="right") for each in every.T]
    least = np.min(ranks, axis=0)
    deepest = int(np.argmin([each[0] for each in ranks]))
    return float((least <= least[0]).mean()), deepest


def _shuffles(cases: Sequence[tuple[Rows, Rows]], draws: int, seed: int) -> tuple[Floats, Floats]:
    """The mean over cases of the difference of their means: draws x figures, and as it was seen.

    Pitman 1937, J. R. Stat. Soc. Suppl. 4:119. What was seen counts as one shuffle more (Phipson
    and Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9:39), so that no chance is 0.
    """
    import numpy as np

    trials = sum(len(before) + len(after) for before, after in cases)
    draws = min(draws, max(1_000, _WORK // trials))
    generator = np.random.default_rng(seed)
    if trials == 2 * len(cases):
        return _swaps(cases, draws, generator)
    drawn: Floats = np.zeros((1 + draws, len(cases[0][1][0])))
    for before, after in cases:
        values = np.array([*after, *before], dtype=float)
        n = len(after)
        order = np.argsort(generator.random((draws, len(values))), axis=1)[:, :n]
        drawn += _differences(values, np.vstack([np.arange(n), order]))
    drawn = np.round(drawn / len(cases), _DIGITS)  # sums in another order are no differences
    return drawn[1:], drawn[0]


def _swaps(
    pairs: Sequence[tuple[Rows, Rows]], draws: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """The same where each group is a pair: its difference keeps its sign, or not."""
    import numpy as np

    before, after = (np.array([pair[at][0] for pair in pairs], dtype=float) for at in (0, 1))
    apart = np.nan_to_num(after - before, nan=0.0)
    signs = 2.0 * generator.integers(0, 2, (draws, len(pairs))) - 1
    drawn = np.round(signs @ apart / len(pairs), _DIGITS)
    return drawn, np.round(apart.sum(axis=0) / len(pairs), _DIGITS)


def _differences(values: Floats, chosen: Any) -> Floats:
    """Means of the chosen trials less those of the rest; 0 where one of them is unknown."""
    import numpy as np

    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    sums, counts = filled[chosen].sum(axis=1), known[chosen].sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = sums / counts - (filled.sum(axis=0) - sums) / (known.sum(axis=0) - counts)
    known_apart: Floats = np.nan_to_num(apart, nan=0.0)
    return known_apart


def _sure(chance: float) -> float:
    return min(1.0, max(0.0, float(chance)))
