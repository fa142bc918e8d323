"""A calibration as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_dialeval.grading.calibration import RubricCalibration
from pytest_dialeval.records.text import visible
from pytest_dialeval.records.wording import plural
from pytest_dialeval.report.table import plain_table
from pytest_dialeval.runs.calibrating import SuiteCalibration
from pytest_dialeval.statistics.agreement import Share, Table
from pytest_dialeval.statistics.corrected import Corrected

_HEADERS = (
    "rubric",
    "labels of",
    "n",
    "agreement",
    "kappa",
    "sensitivity",
    "specificity",
    "people",
)


def calibration_lines(of: SuiteCalibration) -> Iterator[str]:
    """A table of one suite, what was left out, and pass rates corrected for the judge's errors."""
    yield visible(of.source)
    rows = [_row(each) for each in of.rubrics]
    yield from plain_table(_HEADERS, rows).split("\n")
    for each in of.rubrics:
        yield from _left_out(each)
    for rubric, rate in of.rates.items():
        yield f"{rubric}: {_corrected(rate)}"


def _row(of: RubricCalibration) -> list[str]:
    table = of.table
    return [
        of.rubric,
        of.part,
        str(table.n),
        _share(table.agreement()),
        _kappa(table),
        _share(table.sensitivity()),
        _share(table.specificity()),
        _share(of.people),
    ]


def _kappa(table: Table) -> str:
    kappa, around = table.kappa(), table.kappa_interval()
    if kappa is None:
        return "-"
    return (
        f"{kappa:.2f}" if around is None else f"{kappa:.2f} ({around.low:.2f} to {around.high:.2f})"
    )


def _share(share: Share) -> str:
    if share.value is None or share.low is None or share.high is None:
        return "-"
    return f"{share.value:.2f} ({share.low:.2f} to {share.high:.2f})"


def _left_out(of: RubricCalibration) -> Iterator[str]:
    counts = {name: getattr(of, name) for name in ("disputed", "undecided", "missing", "stale")}
    told = [f"{count} {name}" for name, count in counts.items() if count]
    if told:
        why = f" ({of.why_stale})" if of.stale else ""
        trials = plural(of.labels, "labelled trial")
        yield f"{of.rubric}, {of.part}: left out of {trials}: {', '.join(told)}{why}"


def _corrected(rate: Corrected) -> str:
    measured = "unknown" if rate.measured is None else f"{rate.measured:.3f}"
    if rate.value is None or rate.low is None or rate.high is None:
        return f"the judge's pass rate is {measured}; not corrected: {rate.why}"
    corrected = f"{rate.value:.3f}, 95 % from {rate.low:.3f} to {rate.high:.3f}"
    return f"the judge's pass rate is {measured}; corrected for its errors {corrected}"
