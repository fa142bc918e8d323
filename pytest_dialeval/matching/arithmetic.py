"""Which numbers can be worked out from others, in as many steps as it takes.

Sums, differences and products of two numbers, shares of one, and sums of a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import combinations

from pytest_dialeval.matching.figures import Figure

# Pairs of numbers are tried against each other; among too many anything would be some sum.
OPERANDS_AT_MOST = 30


def worked_out(
    foreign: Sequence[Figure], stated: Sequence[Figure], operands: Iterable[Decimal]
) -> list[Figure]:
    """Those of `foreign` that follow from the others stated, and what follows from them."""
    wanted: dict[Decimal, list[Figure]] = {}
    for each in foreign:
        if isinstance(each.value, Decimal):
            wanted.setdefault(abs(each.value), []).append(each)
    if not wanted:
        return []
    unknown, workings = set(foreign), _Workings(operands)
    places = {each: place for place, each in enumerate(stated)}
    fresh = [each for each in stated if each not in unknown]
    values = {*workings.among_operands(), *workings.add(fresh, places)}
    found: list[Figure] = []
    while values:
        known = [each for value in values for each in wanted.pop(value, ())]
        found += known
        values = workings.add([each for each in known if each in places], places)
    return found


class _Workings:
    """Grows with what is known; each pair is tried once, so that long texts stay cheap."""

    def __init__(self, operands: Iterable[Decimal]) -> None:
        self._operands = set(operands)
        self._row: list[tuple[int, Decimal]] = []  # the first in the text: place, value
        self._shares: list[Decimal] = []

    def among_operands(self) -> Iterator[Decimal]:
        for one, other in combinations(self._operands, 2):
            yield from _pair(one, other)

    def add(self, known: Sequence[Figure], places: dict[Figure, int]) -> set[Decimal]:
        """What can be worked out now and could not be before."""
        numbers = [(places[each], each.value) for each in known if isinstance(each.value, Decimal)]
        shares = [
            each.value for each in known if each.unit == "%" and isinstance(each.value, Decimal)
        ]
        before = set(self._row)
        self._row = sorted([*self._row, *numbers])[:OPERANDS_AT_MOST]
        fresh = {value for place, value in self._row if (place, value) not in before}
        values = set(self._with(fresh)) if fresh else set()
        values.update(_shares(fresh, self._shares))
        values.update(_shares({value for _, value in self._row}, shares))
        self._shares += shares
        return values

    def _with(self, fresh: set[Decimal]) -> Iterator[Decimal]:
        row = [value for _, value in self._row]
        for one in fresh:
            yield one * one
            yield one + one
            for other in {*row, *self._operands} - {one}:
                yield from _pair(one, other)
        for start, total in enumerate(row):
            for each in row[start + 1 :]:
                total += each
                yield abs(total)


def _pair(one: Decimal, other: Decimal) -> tuple[Decimal, Decimal, Decimal]:
    return abs(one + other), abs(one - other), abs(one * other)


def _shares(numbers: Iterable[Decimal], shares: Sequence[Decimal]) -> Iterator[Decimal]:
    """So much of each number, and the number less or more by it."""
    for one in numbers:
        for share in shares:
            for whole in (-100, 0, 100):
                yield abs(one * (whole + share)) / 100
