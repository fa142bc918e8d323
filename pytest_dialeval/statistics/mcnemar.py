"""Two runs over the same trials: whether those that changed changed in one direction."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pairs:
    """Trials held in both runs and measured in both, by what they were before and after."""

    both: int = 0
    lost: int = 0  # passed before alone
    gained: int = 0  # passed after alone
    neither: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Pairs:
        """Counts (before, after)."""
        found = Counter(pairs)
        return cls(
            both=found[True, True],
            lost=found[True, False],
            gained=found[False, True],
            neither=found[False, False],
        )

    @property
    def n(self) -> int:
        return self.both + self.lost + self.gained + self.neither

    def p(self) -> float:
        """Exact and two-sided (McNemar 1947, Psychometrika 12:153; its binomial form).

        It tells whether these trials changed; it says nothing of other cases.
        """
        changed, fewer = self.lost + self.gained, min(self.lost, self.gained)
        ways = sum(math.comb(changed, each) for each in range(fewer + 1))
        return min(1.0, 2 * (ways / (1 << changed)))  # whole numbers divide rightly at any size
