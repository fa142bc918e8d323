"""How far one rater of yes and no agrees with another, taken as the truth."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from statistics import NormalDist

from pytest_dialeval.statistics.intervals import CONFIDENCE, Interval, wilson

_NO_SPREAD = 1e-6  # a standard error that rounding alone can leave


@dataclass(frozen=True, slots=True)
class Share:
    """A proportion; `value` and the bounds are None where nothing was counted."""

    hits: int
    n: int
    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, hits: int, n: int, *, confidence: float = CONFIDENCE) -> Share:
        """With Wilson's interval."""
        if n == 0:
            return cls(hits, n, None, None, None)
        low, high = wilson(hits, n, confidence=confidence)
        return cls(hits, n, hits / n, low, high)


@dataclass(frozen=True, slots=True)
class Table:
    """Counts of a rater (positive: yes) against the truth (true: the rater is right)."""

    true_positive: int = 0
    false_positive: int = 0
    false_negative: int = 0
    true_negative: int = 0

    def __post_init__(self) -> None:
        if min(astuple(self)) < 0:
            raise ValueError(f"{self!r}: a count is 0 or more")

    @property
    def n(self) -> int:
        return sum(astuple(self))

    def agreement(self) -> Share:
        """How often both say the same."""
        return Share.of(self.true_positive + self.true_negative, self.n)

    def sensitivity(self) -> Share:
        """How often the rater says yes where yes is true."""
        return Share.of(self.true_positive, self.true_positive + self.false_negative)

    def specificity(self) -> Share:
        """How often the rater says no where no is true."""
        return Share.of(self.true_negative, self.true_negative + self.false_positive)

    def kappa(self) -> float | None:
        """Agreement beyond chance (Cohen 1960, Educ. Psychol. Meas. 20:37).

        None where both always say the same one word: chance alone would agree as well.
        """
        if self.n == 0 or self._chance() == 1:
            return None
        observed = (self.true_positive + self.true_negative) / self.n
        return (observed - self._chance()) / (1 - self._chance())

    def kappa_interval(self, *, confidence: float = CONFIDENCE) -> Interval | None:
        """Its large-sample interval (Fleiss, Cohen and Everitt 1969, Psychol. Bull. 72:323).

        None where it has no spread to estimate from: nobody disagrees, one of the two always says
        the same word, or kappa is None.
        """
        kappa = self.kappa()
        if kappa is None or kappa == 1:
            return None
        error = math.sqrt(self._kappa_variance(kappa))
        if error < _NO_SPREAD:
            return None
        half = NormalDist().inv_cdf(0.5 + confidence / 2) * error
        return Interval(max(-1.0, kappa - half), min(1.0, kappa + half))

    def _kappa_variance(self, kappa: float) -> float:
        rater, truth = self._margins()
        left = 1 - kappa
        agreed = (self.true_positive / self.n, self.true_negative / self.n)
        same = sum(
            share * (1 - (mine + theirs) * left) ** 2
            for share, mine, theirs in zip(agreed, rater, truth, strict=True)
        )
        # Rater yes, truth no, and the other way round: the margins cross.
        crossed = (
            self.false_positive / self.n * (truth[0] + rater[1]) ** 2
            + self.false_negative / self.n * (truth[1] + rater[0]) ** 2
        )
        chance = self._chance()
        spread = same + left**2 * crossed - (kappa - chance * left) ** 2
        return max(0.0, spread) / (self.n * (1 - chance) ** 2)

    def _margins(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The shares of yes and no: the rater's, and the truth's."""
        said = (self.true_positive + self.false_positive) / self.n
        true = (self.true_positive + self.false_negative) / self.n
        return (said, 1 - said), (true, 1 - true)

    def _chance(self) -> float:
        rater, truth = self._margins()
        return rater[0] * truth[0] + rater[1] * truth[1]
