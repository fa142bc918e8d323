"""Design rule 7: every draw is a hash of what it is for."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.planning.draw import Draw

DRAW = Draw("seed", "upgrade", "hesitant", 1)
parts = st.tuples(st.text(), st.text(), st.text(), st.integers(1, 99))
purposes = st.text()
indexes = st.integers() | st.text()


def at(unit: float) -> Draw:
    """A draw whose every number is this one."""

    class Fixed(Draw):
        __slots__ = ()

        def unit(self, purpose: str, index: int | str = 0) -> float:
            return unit

    return Fixed("s", "t", "p", 1)


BIGGEST = ((1 << 53) - 1) / (1 << 53)


def test_numbers_that_must_never_change() -> None:
    # A changed hash would change every simulated user of every suite.
    assert DRAW.unit("say:start") == 0.13936831164526142
    assert DRAW.unit("say:start", 1) == 0.48557994441465135
    assert Draw("种子", "升级", "犹豫", 2).unit("noise", "a") == 0.8690776896962418


def test_a_word_that_stands_in_no_text() -> None:
    first, second = DRAW.word("nonce"), DRAW.word("nonce", 1)
    assert len(first) == len(second) == 14
    assert DRAW.unseen_word("nonce", []) == first
    assert DRAW.unseen_word("nonce", ["x", f"<<<{first.upper()} end"]) == second


def test_units_are_uniform() -> None:
    # 10 000 draws in 20 bins of 500 each: chi-square with 19 degrees of freedom stays below 43.8
    # in 999 of 1000 sets of honest numbers, and these numbers are always the same ones.
    units = [
        Draw("s", "t", "p", trial).unit("say", i) for trial in range(1, 101) for i in range(100)
    ]
    bins = Counter(int(each * 20) for each in units)
    assert sum((bins[place] - 500) ** 2 / 500 for place in range(20)) < 43.8
    assert all(0 <= each < 1 for each in units)
    assert len(set(units)) == len(units)


@pytest.mark.parametrize("step", ["trial", "index", "purpose"])
def test_neighbours_are_independent(step: str) -> None:
    # The correlation of 4000 pairs of independent numbers is below 0.05 (three deviations).
    def unit(place: int) -> float:
        if step == "trial":
            return Draw("s", "t", "p", place).unit("say")
        return DRAW.unit("say", place) if step == "index" else DRAW.unit(f"say:{place}")

    pairs = [(unit(place) - 0.5, unit(place + 1) - 0.5) for place in range(1, 4001)]
    covariance = sum(a * b for a, b in pairs) / len(pairs)
    assert abs(covariance * 12) < 0.05


def test_the_agent_is_no_part_of_a_draw() -> None:
    assert [each.name for each in dataclasses.fields(Draw)] == ["seed", "task", "persona", "trial"]


@given(parts, purposes, indexes)
def test_the_same_question_has_the_same_answer(
    who: tuple[str, str, str, int], purpose: str, index: int | str
) -> None:
    unit = Draw(*who).unit(purpose, index)
    assert 0 <= unit < 1
    assert Draw(*who).unit(purpose, index) == unit


@given(st.lists(st.tuples(parts, purposes, indexes), min_size=2, max_size=6, unique=True))
def test_different_questions_have_different_answers(
    questions: list[tuple[tuple[str, str, str, int], str, int | str]],
) -> None:
    answers = {Draw(*who).unit(purpose, index) for who, purpose, index in questions}
    assert len(answers) == len(questions)


def test_parts_are_kept_apart() -> None:
    words = ["", "a", "b", "ab", '"', '","', "a,b", "\\", "1"]
    seen = {
        Draw(seed, task, persona, 1).unit(purpose)
        for seed, task, persona, purpose in product(words, repeat=4)
    }
    assert len(seen) == len(words) ** 4
    assert DRAW.unit("p", 1) != DRAW.unit("p", "1")
    assert Draw("s", "t", "p", 11).unit("x", 1) != Draw("s", "t", "p", 1).unit("x", 11)


def test_text_that_is_no_unicode_can_be_drawn_for() -> None:
    assert Draw("\udcff", "t", "p", 1).unit("x") != Draw("?", "t", "p", 1).unit("x")


# ---- choice


def test_a_choice_is_as_likely_as_another() -> None:
    chosen = Counter(DRAW.choice("abc", "say", each) for each in range(3000))
    # 1000 each; three deviations are 77
    assert all(abs(chosen[letter] - 1000) < 77 for letter in "abc")


@pytest.mark.parametrize("length", [1, 2, 3, 7, 10, 49, 1000, 99_999])
def test_the_smallest_and_the_biggest_number_choose_the_ends(length: int) -> None:
    options = range(length)
    assert at(0.0).choice(options, "x") == 0
    assert at(BIGGEST).choice(options, "x") == length - 1


def test_a_choice_of_nothing_is_refused() -> None:
    with pytest.raises(IndexError):
        DRAW.choice([], "x")


# ---- weighted


def test_weights_are_what_they_say() -> None:
    drawn = Counter(DRAW.weighted([1, 0, 3], "next", each) for each in range(4000))
    assert drawn[1] == 0
    assert abs(drawn[0] - 1000) < 83  # three deviations of 27.4
    assert drawn[0] + drawn[2] == 4000


@pytest.mark.parametrize(
    ("weights", "first", "last"),
    [
        ([1.0], 0, 0),
        ([0, 1], 1, 1),
        ([1, 0], 0, 0),
        ([0, 2, 0, 3, 0], 1, 3),
        ([0.1] * 10, 0, 9),
        ([1e-300, 1e-300], 0, 1),
        ([1e300, 1.0], 0, 0),
        ([5, 5], 0, 1),
    ],
)
def test_the_ends_of_weights(weights: list[float], first: int, last: int) -> None:
    assert at(0.0).weighted(weights, "x") == first
    assert at(BIGGEST).weighted(weights, "x") == last


@given(
    st.lists(st.integers(0, 9) | st.floats(0, 1e6), min_size=1).filter(any),
    st.floats(0, BIGGEST),
)
def test_nothing_without_weight_is_drawn(weights: list[float], unit: float) -> None:
    place = at(unit).weighted(weights, "x")
    assert weights[place] > 0


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.integers(0, 999))
def test_a_place_owns_its_share_of_the_line(weights: list[int], thousandth: int) -> None:
    place = at(thousandth / 1000).weighted(weights, "x")
    mark = thousandth * sum(weights) / 1000
    below, above = sum(weights[:place]), sum(weights[: place + 1])
    assert below <= mark + 1e-9
    assert mark - 1e-9 < above


def test_a_number_is_on_the_grid_of_doubles() -> None:
    assert math.frexp(BIGGEST)[0] < 1
    assert all(DRAW.unit("x", each) * (1 << 53) % 1 == 0 for each in range(100))
