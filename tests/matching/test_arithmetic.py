"""What can be worked out: the same as by trying everything, and in time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from decimal import Decimal
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.matching.arithmetic import OPERANDS_AT_MOST, worked_out
from pytest_dialeval.matching.figures import Figure
from tests.matching.asking import ask, unhurried, view


def figure(value: object, at: int, unit: str = "") -> Figure:
    known = Decimal(str(value)) if isinstance(value, int | float) else value
    return Figure("number", known, at, at + 1, unit)  # type: ignore[arg-type]


def by_trying_everything(
    foreign: Sequence[Figure], stated: Sequence[Figure], operands: Sequence[Decimal]
) -> set[Figure]:
    """From scratch in every step."""
    left = list(foreign)
    while True:
        known = [each for each in stated if each not in left]
        row = [each.value for each in known if isinstance(each.value, Decimal)][:OPERANDS_AT_MOST]
        values = {each for one in row for each in (one * one, one + one)}
        for one, other in combinations({*row, *operands}, 2):
            values |= {abs(one + other), abs(one - other), abs(one * other)}
        for share in (each.value for each in known if each.unit == "%"):
            assert isinstance(share, Decimal)
            values |= {abs(one * (whole + share)) / 100 for one in row for whole in (-100, 0, 100)}
        values |= {
            abs(sum(row[start:end], Decimal(0)))
            for start in range(len(row))
            for end in range(start + 2, len(row) + 1)
        }
        found = [each for each in left if isinstance(each.value, Decimal)]
        found = [each for each in found if abs(each.value) in values]  # type: ignore[arg-type]
        if not found:
            return set(foreign) - set(left)
        left = [each for each in left if each not in found]


numbers = st.tuples(st.integers(-9, 60), st.sampled_from(["", "", "%"]), st.booleans())


@unhurried
@given(st.lists(numbers, max_size=60), st.lists(st.integers(0, 20), max_size=4))
def test_it_is_what_trying_everything_finds(
    drawn: list[tuple[int, str, bool]], operands: list[int]
) -> None:
    stated = [figure(value, at, unit) for at, (value, unit, _) in enumerate(drawn)]
    foreign = [each for each, (_, _, is_foreign) in zip(stated, drawn, strict=True) if is_foreign]
    allowed = [Decimal(each) for each in operands]
    found = worked_out(foreign, stated, allowed)
    assert len(found) == len(set(found))
    assert set(found) == by_trying_everything(foreign, stated, allowed)


def test_what_is_no_number_is_never_worked_out() -> None:
    code = figure("4711", 1)
    known = figure(4711, 0)
    assert worked_out([code], [known, code], [Decimal(0)]) == []


M = 10**20


@pytest.mark.parametrize(
    ("text", "score"),
    [
        (" ".join(map(str, range(1, 60_000))), 0),
        (" ".join(f"{each}%" for each in range(1, 60_000)), 0),
        (" ".join(str(M + each) for each in range(13_000, 0, -1)), 1),  # a step for each of them
    ],
    ids=["upwards", "shares", "a chain"],
)
def test_long_texts_end_in_time(text: str, score: int) -> None:
    began = time.process_time()
    talk = view(f"a: {text[:300_000]}", variables={"n": [1, M]})
    assert ask("number_whitelist", {"arithmetic": True}, talk).score == score
    assert time.process_time() - began < 15  # a quarter of it took two minutes
