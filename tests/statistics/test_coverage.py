"""How often the 95 % intervals hold the truth: simulated, and as the docs say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pytest_dialeval.statistics.bootstrap import paired_shifts
from pytest_dialeval.statistics.pass_k import CaseCount, pass_curve

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "comparing.md"
RUNS = 1500
# name: mean and spread of the cases' log-odds of passing, mean and spread of the change
KINDS = {
    "middling, unchanged": (0.0, 1.0, 0.0, 0.0),
    "middling, worse": (0.0, 1.0, -0.7, 0.7),
    "good, unchanged": (2.5, 1.0, 0.0, 0.0),
    "good, much worse": (3.0, 1.0, -1.5, 1.0),
}
CASES, TRIALS = (20, 50), (1, 4, 8)


def rates(kind: str, draw: np.random.Generator, shape: tuple[int, ...]) -> list[np.ndarray]:
    mean, spread, change, differing = KINDS[kind]
    before = draw.normal(mean, spread, shape)
    after = before + draw.normal(change, differing, shape)
    return [1 / (1 + np.exp(-each)) for each in (before, after)]


def covered(kind: str, cases: int, trials: int) -> float:
    """The share of simulated comparisons whose interval holds the true difference."""
    draw = np.random.default_rng(11)
    true = float(np.subtract(*rates(kind, draw, (400_000,))[::-1]).mean())
    before, after = rates(kind, draw, (cases, RUNS))
    shares = [draw.binomial(trials, each) / trials for each in (before, after)]
    # A column is a whole comparison: all of them share their draws of cases, as figures do.
    shifts = paired_shifts(shares[1] - shares[0], draws=2000)
    held = [each.interval.low <= true <= each.interval.high for each in shifts if each.interval]
    assert len(held) == RUNS
    return sum(held) / RUNS


def shown() -> dict[tuple[str, int, int], float]:
    """The table of the page: kind, cases, trials -> per cent."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [each.strip() for each in line.strip("|").split("|")]
        if cells[0] in KINDS:
            figures = iter(float(each) for each in cells[1:])
            found.update(
                {(cells[0], cases, trials): next(figures) for cases in CASES for trials in TRIALS}
            )
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("trials", TRIALS)
@pytest.mark.parametrize(("cases", "low", "high"), [(20, 0.92, 0.97), (50, 0.93, 0.97)])
def test_intervals_of_differences(
    kind: str, trials: int, cases: int, low: float, high: float
) -> None:
    share = covered(kind, cases, trials)
    assert low <= share <= high
    assert shown()[kind, cases, trials] == pytest.approx(100 * share, abs=0.4)


@pytest.mark.slow
@pytest.mark.parametrize("trials", TRIALS)
@pytest.mark.parametrize(("cases", "low", "high"), [(20, 0.92, 0.97), (50, 0.93, 0.97)])
def test_intervals_of_pass_1(trials: int, cases: int, low: float, high: float) -> None:
    draw = np.random.default_rng(12)
    true = float(rates("middling, unchanged", draw, (400_000,))[0].mean())
    runs = RUNS if trials > 1 else 12 * RUNS  # of 50 coins it is 93.5 %: close to the bound
    found = rates("middling, unchanged", draw, (runs, cases))[0]
    held = 0
    for passes in draw.binomial(trials, found).tolist():
        point = pass_curve([CaseCount(each, trials - each) for each in passes], k_max=1)[1]
        assert point.low is not None
        assert point.high is not None
        held += point.low <= true <= point.high
    assert low <= held / runs <= high


def test_the_page_has_the_whole_table() -> None:
    wanted = {(kind, cases, trials) for kind in KINDS for cases in CASES for trials in TRIALS}
    assert shown().keys() == wanted


def table() -> str:
    """The rows of the page: `python -m tests.statistics.test_coverage` prints them."""
    rows = []
    for kind in KINDS:
        figures = [f"{100 * covered(kind, c, k):.1f}" for c in CASES for k in TRIALS]
        rows.append(f"| {kind} | {' | '.join(figures)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
