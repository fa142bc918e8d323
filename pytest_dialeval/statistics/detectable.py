"""What a comparison of this size could have seen, and how many more trials would see more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, variance

from pytest_dialeval.statistics.intervals import CONFIDENCE, MIN_CASES
from pytest_dialeval.statistics.within_cases import Case

POWER = 0.8
LOOKED_FOR = 0.1  # ten points


@dataclass(frozen=True, slots=True)
class Detectable:
    """The least difference that such a comparison finds in 4 of 5 times."""

    difference: float
    error: float  # the standard error that it stands on
    trials: int  # of the later run

    def more_trials(self, difference: float = LOOKED_FOR) -> int:
        """How many more trials in each run would find that difference as often; 0: none."""
        if self.difference <= difference:
            return 0
        # The error falls with the root of the trials.
        return math.ceil(self.trials * ((self.difference / difference) ** 2 - 1))


def detectable(cases: Sequence[Case], *, power: float = POWER) -> Detectable | None:
    """None where nothing was measured in both runs.

    (z of the confidence + z of the power) standard errors (Bloom 1995, Eval. Rev. 19:547). The
    error is clustered by case from 10 cases on; below it is of the trials of these cases alone.
    """
    usable = [each for each in cases if each.before and each.after]
    if not usable:
        return None
    by_case = len(usable) >= MIN_CASES
    error = _between(usable) if by_case else _within(usable)
    normal = NormalDist()
    times = normal.inv_cdf(0.5 + CONFIDENCE / 2) + normal.inv_cdf(power)
    return Detectable(times * error, error, sum(len(each.after) for each in usable))


def _between(cases: Sequence[Case]) -> float:
    """By how the cases' differences spread; none seen in a few cases is no certainty."""
    means = [_mean(each.after) - _mean(each.before) for each in cases]
    return math.sqrt(variance(means) / len(means)) or _within(cases)


def _within(cases: Sequence[Case]) -> float:
    """By how trials of a case spread."""
    return math.sqrt(math.fsum(map(_noise, cases))) / len(cases)


def _noise(case: Case) -> float:
    """The variance of a case's difference; its share is pulled to the middle, as 4 of 4 are few.

    p(1 - p) bounds the variance of any values in 0..1 (Bhatia and Davis 2000).
    """
    before, after = len(case.before), len(case.after)
    total = math.fsum(case.before) + math.fsum(case.after)
    share = (total + 1) / (before + after + 2)
    return share * (1 - share) * (1 / before + 1 / after)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
