"""A quote stands or it does not; what is kept is verbatim."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.grading.evidence import find_quote, misquoted
from pytest_dialeval.records.transcript import Artifact, ToolCall, Turn
from pytest_dialeval.records.verdict import Evidence

from .samples import CALL, talk

SAID = Turn(
    2, "agent", "It\u2019s a 12\u2011month plan,\nwith\u202fa fee of \u201cthirty\u201d dollars."
)


@pytest.mark.parametrize(
    ("quote", "verbatim", "start"),
    [
        ("a fee of", "a fee of", 27),
        ("it's a 12-month plan", "It\u2019s a 12\u2011month plan", 0),
        ("plan, with a fee", "plan,\nwith\u202fa fee", 16),
        ('"a fee of"', "a fee of", 27),
        ('" a fee of "', "a fee of", 27),
        ("  \u2018a fee of\u2019 ", "a fee of", 27),
        ("a fee of.", "a fee of", 27),
        ("a 12-month plan\u3002", "a 12\u2011month plan", 5),
        ('fee of "thirty"', "fee of \u201cthirty\u201d", 29),
        ("\uff46\uff45\uff45 of", "fee of", 29),
    ],
)
def test_quotes_compare_by_meaning_and_are_kept_verbatim(
    quote: str, verbatim: str, start: int
) -> None:
    assert find_quote(SAID, quote) == Evidence(2, verbatim, start)


@pytest.mark.parametrize(
    "quote", ["a fee of ten", "a fee ... dollars", "", "  ", ".", "\u201c\u201d"]
)
def test_what_is_not_there_or_says_nothing_is_no_evidence(quote: str) -> None:
    assert find_quote(SAID, quote) is None


def test_chinese() -> None:
    turn = Turn(1, "agent", "\u597d\u7684\uff0c\u5347\u7ea7\u662f\u514d\u8d39\u7684\u3002")
    assert find_quote(turn, "\u5347\u7ea7\u662f \u514d\u8d39\u7684") == Evidence(
        1, "\u5347\u7ea7\u662f\u514d\u8d39\u7684", 3
    )


def test_deeds_are_quoted_too() -> None:
    turn = Turn(4, "agent", "", tool_calls=(CALL,), artifacts=(Artifact("a.txt", "sum: 3"),))
    assert find_quote(turn, "lookup") == Evidence(4, "lookup", 0, "tool_calls")
    assert find_quote(turn, '"status": "late"') == Evidence(
        4, '"status": "late"', 1, "tool_results"
    )
    assert find_quote(turn, "sum: 3") == Evidence(4, "sum: 3", 0, "artifacts")


def test_words_come_before_deeds() -> None:
    turn = Turn(4, "agent", "I ran lookup", tool_calls=(CALL,))
    assert find_quote(turn, "lookup").part == "text"


def test_a_test_run_may_have_taken_another_time() -> None:
    call = ToolCall("run", {}, result="Ran 3 tests in 0.002s\n\nOK")
    turn = Turn(2, "agent", "I ran them.", tool_calls=(call,))

    found = find_quote(turn, "Ran 3 tests in 0.001s OK.")

    assert found is not None and found.stands_in(turn)
    assert (found.quote, found.part) == ("Ran 3 tests in 0.002s\n\nOK", "tool_results")
    assert find_quote(turn, "Ran 4 tests in 0.001s") is None
    assert find_quote(turn, "I ran them in 0.001s") is None


def test_the_first_misquote_is_found() -> None:
    transcript = talk("user: hi", "agent: hello")
    good = Evidence(2, "hello")
    assert misquoted([good, Evidence(2, "lo", 3)], transcript) is None
    for wrong in (Evidence(2, "hello", 1), Evidence(1, "hello"), Evidence(3, "hello")):
        assert misquoted([good, wrong, Evidence(9, "x")], transcript) == wrong


@given(st.text(max_size=60), st.data())
def test_found_quotes_stand(text: str, data: st.DataObject) -> None:
    turn = Turn(1, "agent", text)
    start = data.draw(st.integers(0, len(text)))
    quote = data.draw(st.one_of(st.text(max_size=5), st.just(text[start : start + 9])))
    found = find_quote(turn, quote)
    if found is not None:
        assert found.stands_in(turn)
        assert found.quote


@given(
    st.text(st.characters(categories=["L", "N", "Zs"], max_codepoint=0x17F), min_size=1), st.data()
)
def test_a_verbatim_quote_is_always_found(text: str, data: st.DataObject) -> None:
    turn = Turn(1, "agent", text)
    start = data.draw(st.integers(0, len(text) - 1))
    quote = text[start : start + 12]
    assert (find_quote(turn, quote) is not None) == any(map(str.isalnum, quote))
