from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.matching.normal import _by_cluster, normal, typed
from tests.matching.asking import unhurried

TRICKY = st.text(
    alphabet=st.one_of(
        st.sampled_from(
            "aßİıﬁ①⁴½ \n\t\u3000\u200b\u200d\ufe0f\u0301\u0307免费，。“’‑—\u202fＡ１각\u1100\u1161"
        ),
        st.characters(exclude_categories=("Cs",)),
    ),
    max_size=40,
)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Hello  World", "hello world"),
        ("10\u201112 days", "10-12 days"),
        ("“it’s” «so» 「好」", '"it\'s" "so" "好"'),
        ("1\u202f000\u00a0km", "1 000 km"),
        ("ＡＢＣ１２３，：！", "abc123,:!"),
        ("−5 — x", "-5 - x"),
        ("straße", "strasse"),
        ("İSTANBUL", "istanbul"),
        ("\ufb01ne", "fine"),
        ("e\u0301te\u0301", "été"),
        ("\u1100\u1161", "가"),
        ("free\u200b\u2060dom\u00ad", "freedom"),
        ("\u202babc\u202c", "abc"),
        ("升级到 Pro 版", "升级到pro版"),
        ("您好， 欢迎", "您好,欢迎"),
        ("免\n费", "免 费"),
        ("退款 政策\r\n二", "退款政策 二"),
        ("10⁴ ①②", "10⁴ ①②"),
        ("1\ufe0f\u20e3", "1\u20e3"),
        ("发票 發票", "发票發票"),
    ],
)
def test_compares_by_meaning(written: str, text: str) -> None:
    assert normal(written).text == text


def test_keeps_accents_and_traditional_characters_apart() -> None:
    assert normal("café").text != normal("cafe").text
    assert normal("退费").text != normal("退費").text


def test_quotes_are_verbatim_where_folding_changes_the_length() -> None:
    place = normal("x\u200b  Straße\u0301 ﬁ")
    start = place.text.index("stra")
    assert place.quote(start, start + 4) == ("Stra", 4)
    start = place.text.index("ss")
    assert place.quote(start, start + 1)[0] == "ß"
    assert place.quote(start, start + 2)[0] == "ß"


def test_a_line_break_stays_known() -> None:
    place = normal("a  \n b c")
    assert (place.text, place.lined) == ("a b c", "a\nb c")


@unhurried
@given(TRICKY)
def test_every_place_leads_back_into_the_original(written: str) -> None:
    place = normal(written)
    reached = 0
    for at in range(len(place.text)):
        start, end = place.span(at, at + 1)
        assert 0 <= start < end <= len(written)
        assert start >= reached
        reached = start


@unhurried
@given(TRICKY)
def test_what_stands_at_a_place_folds_to_what_is_there(written: str) -> None:
    place = normal(written)
    for at, char in enumerate(place.text):
        quote, start = place.quote(at, at + 1)
        assert written.startswith(quote, start)
        assert char in normal(quote).text


@unhurried
@given(TRICKY)
def test_folding_again_changes_nothing(written: str) -> None:
    once = normal(written).lined
    assert normal(once).lined == once


@unhurried
@given(TRICKY)
def test_the_quick_way_and_the_long_way_agree(written: str) -> None:
    assert normal(written).lined == _by_cluster(written)[0]


@unhurried
@given(st.text(alphabet="ab \n\t", max_size=30))
def test_they_agree_on_the_way_back_of_plain_text(written: str) -> None:
    place = normal(written)
    spans = [place.span(at, at + 1) for at in range(len(place.text))]
    starts, ends = _by_cluster(written)[1]
    assert spans == list(zip(starts, ends, strict=True))


@unhurried
@given(TRICKY)
def test_typed_keeps_every_place(written: str) -> None:
    assert len(typed(written)) == len(written)


def test_typed_keeps_case_and_folds_marks() -> None:
    assert typed("Ａb\u2011“İ”\u3000") == 'Ab-"İ" '


def test_a_million_marks_take_no_quadratic_time() -> None:
    start = time.process_time()
    normal("\u0301\u0323" * 250_000)
    assert time.process_time() - start < 10
