"""Text is cleaned once, where it enters."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.records.text import clean, clean_value, visible


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain 文字 😀", "plain 文字 😀"),
        ("\x1b[31mtractor\x1b[0m", "tractor"),
        ("\x1b[38;5;196mred", "red"),
        ("\x9b1mbold", "bold"),
        ("\x1b]0;title\x07said", "said"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bno command", "no command"),
        ("a\x00b\x08c", "abc"),
        ("one\r\ntwo\rthree\nfour", "one\ntwo\nthree\nfour"),
        ("tab\tstays", "tab\tstays"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("\x85next\x7f", "next"),
    ],
)
def test_what_is_left(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@given(st.text(st.characters()))
def test_cleaning_twice_changes_nothing_and_leaves_nothing_raw(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    once.encode("utf-8")
    assert not any(ord(each) < 32 and each not in "\n\t" for each in once)


@pytest.mark.parametrize("piece", ["\x9d", "\x1b]", "\x9b", "\x9b0", "\x1b[", "\x9d" + "a" * 50])
def test_a_million_beginnings_of_commands_take_no_quadratic_time(piece: str) -> None:
    began = time.process_time()
    clean(piece * (1_000_000 // len(piece)))
    assert time.process_time() - began < 5  # it took minutes


def test_strings_inside_data_are_cleaned_too() -> None:
    assert clean_value({"k\x00": ["\x1b[1ma", 1, None, ("b\x07",)]}) == {"k": ["a", 1, None, ["b"]]}


BIDI = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]


# A word with one of them in it looks like the word; tags hide a sentence.
UNSEEN = [0xAD, 0x180E, 0x200B, *range(0x2060, 0x2065), 0xFEFF]


@pytest.mark.parametrize("code", [*BIDI, *UNSEEN], ids=hex)
def test_what_turns_reading_round_is_seen_in_a_terminal_and_kept_elsewhere(code: int) -> None:
    text = f"pay {chr(code)}001 $"
    assert visible(text) == f"pay \\u{code:04x}001 $"
    assert clean(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "שלום, עולם",
        "مرحبا بالعالم",
        "می\u200cخواهم",
        "半价",
    ],
)
def test_letters_and_joiners_stay(text: str) -> None:
    assert visible(text) == text


def test_tags_are_seen_in_a_terminal() -> None:
    assert visible("ok\U000e0041") == "ok\\U000e0041"


@given(st.text(st.characters()))
def test_the_terminal_gets_clean_text_with_nothing_that_turns_it_round(text: str) -> None:
    shown = visible(text)
    assert not set(map(chr, BIDI)) & set(shown)
    assert visible(shown) == shown == clean(shown)
