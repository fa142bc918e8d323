from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.matching.normal import normal
from pytest_dialeval.matching.phrase import first_said, phrase
from tests.matching.asking import turns, unhurried


def found(written: str, text: str) -> list[str]:
    place = normal(text)
    return [place.quote(each.start, each.end)[0] for each in phrase(written).places(place)]


@pytest.mark.parametrize(
    ("written", "text", "quotes"),
    [
        # words
        (
            "refund",
            "Refunds, refund's, re-fund, pre-refund, REFUND.",
            ["refund", "refund", "REFUND"],
        ),
        ("refundable", "non-refundable, fully-refundable", ["refundable"]),
        ("refund", "refund_policy _refund_ user_refund", ["refund"]),
        ("can", "can't cannot can", ["can"]),
        ("we", "we'll, We’re, owe", ["we", "We"]),
        ("don't", "don’t", ["don’t"]),
        ("refund policy", "refund\n  policy", ["refund\n  policy"]),
        ("c++", "C++", ["C++"]),
        ("app", "下载app吧 application", ["app"]),
        ("strasse", "Straße", ["Straße"]),
        ("istanbul", "İSTANBUL", ["İSTANBUL"]),
        ("café", "cafe\u0301 cafe", ["cafe\u0301"]),
        ("cafe", "cafe\u0301", []),
        ("👍", "👍🏽", ["👍"]),
        ("ok", "\u202bok\u202c!", ["ok"]),
        ("שלום", "אמר שלום לכם", ["שלום"]),
        # Chinese
        ("免费", "免 费，免\n费，免\u200b费", ["免 费", "免\u200b费"]),
        ("您好，欢迎", "您好, 欢迎", ["您好, 欢迎"]),
        ("退費", "退费", []),
        # numbers
        ("327", "$1327.00", []),
        ("327", "$327.00, 三百二十七, 3.27, 327th", ["327.00", "三百二十七", "327th"[:3]]),
        ("481.5", "$481.50", ["481.50"]),
        ("1000", "1,000.00 or １０００", ["1,000.00", "１０００"]),
        ("5", "5% 15 5.5", ["5%"]),
        ("5%", "5 percent, 百分之五, 5, 15%", ["5 percent", "百分之五"]),
        ("20", "May 20 2024; 2024-05-20; 14:20", ["20"]),
        ("136", "HAT136", []),
        # words with numbers in them
        ("3天", "三天 13天 十三天 2.3天 3 天", ["三天", "3 天"]),
        ("3 business days", "three business days, 13 business days", ["three business days"]),
        ("$50 credit", "a $50.00 credit, a €50 credit", ["$50.00 credit"]),
        ("10-12 days", "10\u201112 days", ["10\u201112 days"]),
        ("2到3个", "两到三个", ["两到三个"]),
        ("一样", "唯一一样", ["一样"]),
    ],
)
def test_where_it_stands(written: str, text: str, quotes: list[str]) -> None:
    assert found(written, text) == quotes


def test_the_earliest_word_of_the_earliest_turn_is_first() -> None:
    said = first_said(["two", "one"], turns("a: nothing", "u: one, two", "a: two"))
    assert said is not None
    assert (said.turn, said.quote, said.start) == (2, "one", 0)
    assert first_said(["three"], turns("a: one")) is None


@unhurried
@given(st.text(max_size=8), st.text(max_size=30), st.text(max_size=30))
def test_places_stand_in_the_text_apart(written: str, before: str, after: str) -> None:
    text = before + written + after
    place = normal(text)
    if not normal(written).text.strip():
        return
    reached = 0
    for each in phrase(written).places(place):
        assert reached <= each.start < each.end <= len(place.text)
        quote, start = place.quote(each.start, each.end)
        assert text.startswith(quote, start)
        reached = each.end


@unhurried
@given(
    st.sampled_from(["refund", "免费退款", "3天", "327", "it's", "10-12 days"]),
    st.text(max_size=20),
)
def test_what_is_said_between_spaces_is_found(written: str, around: str) -> None:
    letters = "".join(char for char in around if char in "abc，。!?")
    assert found(written, f"{letters} — {written} — {letters}")
