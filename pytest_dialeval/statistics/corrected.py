"""A rate that an imperfect rater measured, corrected for how often it errs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from pytest_dialeval.statistics.agreement import Table
from pytest_dialeval.statistics.intervals import CONFIDENCE
from pytest_dialeval.statistics.pass_k import CaseCount


@dataclass(frozen=True, slots=True)
class Corrected:
    """A share as measured and as corrected; `value` is None, and `why` says why, if unknown."""

    measured: float | None
    value: float | None
    low: float | None
    high: float | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Estimate:
    """A proportion pulled a little towards the middle, and what it stands on."""

    share: float
    n: float

    @classmethod
    def of(cls, hits: float, n: float, pull: float) -> _Estimate:
        return cls((hits + pull / 2) / (n + pull), n + pull)

    @property
    def variance(self) -> float:
        return self.share * (1 - self.share) / self.n


def corrected_rate(
    cases: Sequence[CaseCount], table: Table, *, confidence: float = CONFIDENCE
) -> Corrected:
    """(p + Sp - 1) / (Se + Sp - 1) of the rate p over all measured trials of these cases.

    Rogan and Gladen 1978, Am. J. Epidemiol. 107:71. The interval holds the noise of the trials and
    of the calibration: Lang and Reiczigel 2014, Prev. Vet. Med. 113:13. Trials of a case are no
    independent samples: they count as many as would spread as the cases do.
    """
    passed = sum(each.passed for each in cases)
    n = passed + sum(each.failed for each in cases)
    measured = passed / n if n else None
    if measured is None:
        return Corrected(None, None, None, None, "no trial was measured")
    if why := _useless(table, confidence):
        return Corrected(measured, None, None, None, why)
    sensitivity, specificity = table.sensitivity().value, table.specificity().value
    assert sensitivity is not None
    assert specificity is not None
    value = (measured + specificity - 1) / (sensitivity + specificity - 1)
    low, high = _bounds(measured, effective_trials(cases), table, confidence)
    value = _share(value)
    # Close to 0 and 1 the interval is not centred; it must still hold the value that it is of.
    return Corrected(measured, value, min(low, value), max(high, value))


def effective_trials(cases: Sequence[CaseCount]) -> float:
    """How many independent trials would spread as much as these cases do.

    The measured trials divided by the design effect (Kish 1965, Survey Sampling), from 1 to all of
    them; the number of cases where that cannot be estimated.
    """
    counted = [each for each in cases if each.passed + each.failed]
    sizes = [each.passed + each.failed for each in counted]
    n, groups = sum(sizes), len(counted)
    if n == 0:
        return 0.0
    share = sum(each.passed for each in counted) / n
    spread = share * (1 - share)
    if groups < 2 or spread == 0:
        return float(groups)
    residuals = (each.passed - size * share for each, size in zip(counted, sizes, strict=True))
    variance = math.fsum(each * each for each in residuals) * groups / (groups - 1) / n**2
    return min(float(n), spread / variance) if variance > 0 else float(n)


def _useless(table: Table, confidence: float) -> str:
    """Why nothing can be corrected by this table; empty where something can."""
    sensitivity, specificity = table.sensitivity(), table.specificity()
    if sensitivity.value is None or specificity.value is None:
        word = "met" if sensitivity.value is None else "not_met"
        return f"no label says {word}"
    # Pulled: a handful of labels, all agreed with, is no proof.
    estimates = [_Estimate.of(each.hits, each.n, 2) for each in (sensitivity, specificity)]
    error = math.sqrt(sum(each.variance for each in estimates))
    better = sum(each.share for each in estimates) - 1
    if better <= NormalDist().inv_cdf(0.5 + confidence / 2) * error:
        return "the labels do not show that the judge is better than chance"
    return ""


def _bounds(measured: float, trials: float, table: Table, confidence: float) -> tuple[float, float]:
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate = _Estimate.of(measured * trials, trials, z * z)
    yes, no = table.sensitivity(), table.specificity()
    sensitivity, specificity = _Estimate.of(yes.hits, yes.n, 2), _Estimate.of(no.hits, no.n, 2)
    better = sensitivity.share + specificity.share - 1
    value = (rate.share + specificity.share - 1) / better
    by_yes, by_no = value * sensitivity.variance, (1 - value) * specificity.variance
    shift = 2 * z * z * (by_yes - by_no)
    error = math.sqrt(rate.variance + value * by_yes + (1 - value) * by_no) / better
    return _share(value + shift - z * error), _share(value + shift + z * error)


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))
