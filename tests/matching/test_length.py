from __future__ import annotations

import pytest

from pytest_dialeval.matching.sentences import count_chars, count_sentences, count_words
from tests.matching.asking import ask, quotes, score, view


def test_the_ratio_of_turns_that_fit() -> None:
    result = ask("length", {"max_chars": 5}, view("a: 1234", "a: 123456", "u: 1234567", "a: 12345"))
    assert result.score == 2 / 3
    assert (quotes(result), result.evidence[0].turn) == (["123456"], 2)
    assert "turn 2 has 6 chars" in result.reason


@pytest.mark.parametrize(("size", "fits"), [(40, 1), (44, 1), (45, 0)])
def test_tolerance_widens_exactly(size: int, fits: float) -> None:
    assert score("length", {"max_chars": 40, "tolerance": 0.1}, "a: " + "字" * size) == fits


@pytest.mark.parametrize(("size", "fits"), [(9, 1), (8, 0)])
def test_tolerance_widens_downwards_too(size: int, fits: float) -> None:
    assert score("length", {"min_chars": 10, "tolerance": 0.1}, "a: " + "字" * size) == fits


def test_every_bound_counts() -> None:
    both = {"max_words": 3, "max_sentences": 1}
    assert score("length", both, "a: One two three.") == 1
    assert score("length", both, "a: One two three four.") == 0
    assert score("length", both, "a: One. Two.") == 0
    assert score("length", {"min_words": 2}, "a: no") == 0


def test_an_empty_answer_fits_below_but_not_above() -> None:
    assert score("length", {"max_chars": 5}, "a:") == 1
    assert score("length", {"min_chars": 1}, "a:") == 0


@pytest.mark.parametrize(
    ("text", "count"),
    [("  hi  ", 2), ("你好，世界", 5), ("e\u0301", 1), ("a\u200bb", 2), ("👍🏽", 2), ("", 0)],
)
def test_chars(text: str, count: int) -> None:
    assert count_chars(text) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It's a well-known 3.5 % fact.", 5),
        ("您好，免费升级", 6),
        ("升级到 Pro 版", 5),
        ("don’t — stop!", 2),
        ("안녕하세요 여러분", 2),
        ("...", 0),
    ],
)
def test_words(text: str, count: int) -> None:
    assert count_words(text) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Hello. How are you? Fine!", 3),
        ("It costs $3.50 at 10 a.m. today.", 1),
        ("Dr. Smith, e.g. the J. Smith, said no.", 1),
        ("您好。请问方便吗？好的！", 3),
        ("1. First\n2. Second", 2),
        ("嗯……好的", 1),
        ("Really?! Yes...", 2),
        ("no end", 1),
        ("He said “no.” Then left.", 2),
        ("。。。", 0),
        ("", 0),
    ],
)
def test_sentences(text: str, count: int) -> None:
    assert count_sentences(text) == count
