"""Any text as a name."""

from __future__ import annotations

import re
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.records.slug import slug

words = st.text() | st.text("abAB01_-/. 你", max_size=60) | st.from_regex(r"[a-z0-9_]+")


@pytest.mark.parametrize("text", ["a", "0", "_", "hesitant", "a_1", "x" * 40, "task_20241130"])
def test_what_is_a_slug_stays(text: str) -> None:
    assert slug(text) == text


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("Task 7", "task_7_"),
        ("airline/12", "airline_12_"),
        ("  --x--  ", "x_"),
        ("x" * 41, "x" * 31 + "_"),
        ("你好", ""),
        ("", ""),
        ("é", ""),
        ("a\n", "a_"),
        ("__A__", "a_"),
    ],
)
def test_what_is_changed_ends_in_digits_of_its_hash(text: str, head: str) -> None:
    assert slug(text) == head + sha256(text.encode()).hexdigest()[:8]


@given(words)
def test_a_slug_is_short_plain_and_lasting(text: str) -> None:
    made = slug(text)
    assert re.fullmatch("[a-z0-9_]{1,40}", made)
    assert slug(made) == made
    assert made == text or re.search("(^|_)[0-9a-f]{8}$", made)


@given(st.lists(words, min_size=2, max_size=20, unique=True))
def test_different_texts_have_different_slugs(texts: list[str]) -> None:
    assert len({slug(each) for each in texts}) == len(texts)


def test_ten_thousand_alike_are_told_apart() -> None:
    # Birthday: 10 000 texts and 2^32 digests collide once in 86 tries; these never do.
    texts = [f"The customer's request No. {each} " + "x" * 40 for each in range(10_000)]
    assert len({slug(each) for each in texts}) == 10_000


def test_lone_surrogates_are_told_apart() -> None:
    assert slug("\udcff") != slug("\udcfe") != slug("?")
