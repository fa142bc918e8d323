from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.matching.ambiguity import TooAmbiguous
from pytest_dialeval.matching.pattern import SEARCHED_AT_MOST, pattern
from tests.matching.asking import ask, quotes, score, unhurried, view


def test_it_matches_and_quotes() -> None:
    result = ask("regex", r"order \d+", view("a: hi", "a: your Order 7, order 42"))
    assert (result.score, quotes(result)) == (1, ["order 42"])
    assert (result.evidence[0].turn, result.evidence[0].start) == (2, 14)


def test_kinds_of_dashes_and_widths_compare_by_meaning_unless_verbatim() -> None:
    line = "a: in 10\u201112 days，ｏｋ"
    assert quotes(ask("regex", r"\d+-\d+ days,ok", view(line))) == ["10\u201112 days，ｏｋ"]
    assert score("regex", {"pattern": r"\d+-\d+", "verbatim": True}, line) == 0
    assert score("regex", {"pattern": "，", "verbatim": True}, line) == 1


def test_case_matters_unless_the_pattern_says_otherwise() -> None:
    assert score("regex", "^[a-z ]+$", "a: Hello") == 0
    assert score("regex", "(?i)^[a-z ]+$", "a: Hello") == 1


def test_only_chosen_turns_are_searched() -> None:
    assert score("regex", {"pattern": "x", "turns": "last"}, "a: x", "a: y") == 0
    assert score("regex", {"pattern": "x", "by": "user"}, "a: x") is None


@pytest.mark.parametrize(
    "written",
    [
        "(a+)+", "(a*)*b", "(a|a)*", "(a|ab?)*c", r"(\w+\s*)+$", "(.*a){20}", "(x+x+)+y",
        r"^(([a-z])+.)+[A-Z]", r"(\d{1,3},?)*x", "(a|b|ab)*c", r"(?:\s*\S+\s*)*x", "(?=(a+)+b)c",
        "(a{1,2}){1,50}", "a.*b.*c.*d", "((a?)*b)*c", r"(?:(?:(?:\b)*){4,}){4,}!",
        r"(?:(?:(?:(?:\b)?){3}){3}){3}!", "(?:(?=a)*)*b", "()+a",
    ],
)  # fmt: skip
def test_patterns_that_might_run_for_ever_are_refused(written: str) -> None:
    with pytest.raises(TooAmbiguous):
        pattern(written)


@pytest.mark.parametrize(
    "written",
    [
        r"\d{3}-\d{4}", r"(\d{3}-){2}\d{4}", "a.*b", "a.*b.*c", r"(\d+,)*\d+", r"(?:\w+\s)*x",
        r"\*\*|^\s*[-*#]\s|https?://", r"!{2,}|\b[A-Z]{6,}\b", r"[\w.+-]+@[\w-]+\.[\w.]+",
        r"(?:\d{1,3}\.){3}\d{1,3}", r"\s+$", "(?:foo|bar|baz)+", "(?=.*a)(?=.*b).*", "(a*+)*b",
        r"(\w+) \1", "(a?)*b", "(?s).*foo.*", "您好.*?再见", "(?:[一-龥]{2,4}、)+", "[[a]", "",
        r"(?:\b)?a", "(?:(?!x).)*x", "(?:$|a)b",
    ],
)  # fmt: skip
def test_ordinary_patterns_are_let_pass(written: str) -> None:
    assert pattern(written).window >= 1000


@pytest.mark.parametrize("written", ["(", "a{1,99999999999}", "[z-a]", r"\p", "(?P<a>", "*"])
def test_what_is_no_pattern_is_told(written: str) -> None:
    with pytest.raises(ValueError, match="no regular expression"):
        pattern(written)


@pytest.mark.parametrize(
    "written",
    [r"\s+$", ".*x", r"(?:\w+ )*!", pytest.param("a.*b.*c", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("unit", ["ab", " "])
def test_long_texts_end_in_time(written: str, unit: str) -> None:
    start = time.process_time()
    score("regex", written, "a: " + unit * 500_000)
    assert time.process_time() - start < 30


def test_a_match_is_found_across_windows_and_at_the_end_only_where_it_is() -> None:
    assert quotes(ask("regex", "a.*b", view("a: " + "x" * 5_500 + "a--b" + "y" * 20_000))) == [
        "a--b"
    ]
    assert score("regex", "x+$", "a: " + "x" * 9_000 + "y") == 0
    assert score("regex", "x+$", "a: y" + "x" * 9_000) == 1


def test_what_is_too_long_is_searched_at_its_beginning_and_says_so() -> None:
    text = "x" * SEARCHED_AT_MOST + "needle"
    result = ask("regex", "needle", view(f"a: {text}"))
    assert result.score == 0
    assert f"only the first {SEARCHED_AT_MOST} characters of turn 1" in result.reason


SIMPLE = st.recursive(
    st.sampled_from(["a", "b", ".", r"\d", r"\w", "[ab]", r"\b", "^", "$", "ab"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?", "{4,}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)


@unhurried
@given(SIMPLE, st.text(alphabet="ab1 ", max_size=12))
def test_what_is_let_pass_finds_what_python_finds(written: str, text: str) -> None:
    try:
        compiled = pattern(written)
    except TooAmbiguous:
        return
    expected = re.search(written, text)
    assert compiled.first(text) == (expected.span() if expected else None)


@unhurried
@given(SIMPLE)
def test_what_is_let_pass_is_quick_on_texts_that_almost_match(written: str) -> None:
    try:
        compiled = pattern(f"{written}!")
    except TooAmbiguous:
        return
    start = time.process_time()
    for text in ("a" * 200, "ab" * 100, "1" * 200):
        compiled.first(text)
    assert time.process_time() - start < 5
