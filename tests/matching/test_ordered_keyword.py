from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.matching.order import Spot, in_order
from tests.matching.asking import ask, quotes, score, unhurried, view


def test_steps_in_order_over_turns() -> None:
    result = ask(
        "ordered_keyword", ["您好", ["免费", "不收费"], "再见"], view("a: 您好", "a: 不收费，再见")
    )
    assert (result.score, quotes(result)) == (1, ["您好", "不收费", "再见"])


def test_a_missing_step_costs_only_itself() -> None:
    result = ask("ordered_keyword", ["one", "two", "three"], view("a: one", "a: three"))
    assert result.score == 2 / 3
    assert "not said: 'two'" in result.reason


def test_a_step_out_of_order_is_told_apart_from_a_missing_one() -> None:
    result = ask("ordered_keyword", ["one", "two"], view("a: two", "a: one"))
    assert result.score == 0.5
    assert "out of order" in result.reason


def test_two_steps_never_share_their_words() -> None:
    assert score("ordered_keyword", ["免费", "费用"], "a: 免费用") == 0.5
    assert score("ordered_keyword", ["a", "a"], "a: a") == 0.5
    assert score("ordered_keyword", ["a", "a"], "a: a a") == 1


def test_an_early_stray_mention_spoils_nothing() -> None:
    assert score("ordered_keyword", ["one", "two", "three"], "a: three", "a: one two three") == 1


def most(steps: list[list[tuple[int, int]]]) -> int:
    """The same by trying everything."""
    for size in range(len(steps), 0, -1):
        for chosen in combinations(steps, size):
            if fits(list(chosen), 0):
                return size
    return 0


def fits(steps: list[list[tuple[int, int]]], reached: int) -> bool:
    if not steps:
        return True
    return any(start >= reached and fits(steps[1:], end) for start, end in steps[0])


@unhurried
@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), max_size=4), max_size=5))
def test_no_better_choice_exists(drawn: list[list[tuple[int, int]]]) -> None:
    steps = [[(start, start + size) for start, size in step] for step in drawn]
    spots = [[Spot((0, start), (0, end), (start, end)) for start, end in step] for step in steps]
    found = in_order(spots)
    assert len(found) == most(steps)
    assert [number for number, _ in found] == sorted({number for number, _ in found})
    ends = [spot.end for _, spot in found]
    starts = [spot.start for _, spot in found]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
