"""Which trials of two runs may trade places, were nothing changed: a case's, or a pair's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pytest_dialeval.runs.baseline import CaseResults

MIN_PAIRS = 20  # fewer pairs can't show what the trials of a case can: 4 lost of 4 are no find
T = TypeVar("T")
Reading = Callable[[CaseResults], Sequence[T | None]]  # of each trial; None: unmeasured


def strata(
    cases: Sequence[tuple[CaseResults, CaseResults]],
    before: Reading[T],
    after: Reading[T],
    *,
    paired: bool,
) -> list[tuple[list[T], list[T]]]:
    """Measured trials of both runs, in groups.

    With `paired`, trials of one number met the same user with the same draws, and what they have in
    common is no news: then each pair is a group, where there are enough of them.
    """
    if paired and all(first.trials == second.trials for first, second in cases):
        pairs = [
            ([a], [b])
            for first, second in cases
            for a, b in zip(before(first), after(second), strict=True)
            if a is not None and b is not None
        ]
        if len(pairs) >= MIN_PAIRS:
            return pairs
    whole = (
        ([a for a in before(first) if a is not None], [b for b in after(second) if b is not None])
        for first, second in cases
    )
    return [each for each in whole if each[0] and each[1]]
