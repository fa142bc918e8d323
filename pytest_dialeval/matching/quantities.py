"""How much a number says: its sign, its scale, and where it ends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, DivisionByZero, InvalidOperation

from pytest_dialeval.matching import figure_patterns as patterns
from pytest_dialeval.matching.normal import Normal
from pytest_dialeval.matching.numerals import (
    CHINESE_DIGITS,
    CHINESE_UNITS,
    ENGLISH_SCALES,
    read_chinese,
    read_english,
)

# What is longer is no quantity, and turning it into one takes quadratic time.
_DIGITS_AT_MOST = 30
_LETTER = re.compile("[a-z_\u00df-\u024f]")
_LETTERS = re.compile("[a-z_\u00df-\u024f][\\w-]*?(?![a-z0-9_\u00df-\u024f-])")
_NAME = re.compile("[a-z0-9_\u00df-\u024f-]*+")
_LETTERS_BEFORE = re.compile("([a-z\u00df-\u024f]+)[-$]?$")
_SHORT_SCALES = {"k": 10**3, "m": 10**6, "mn": 10**6, "b": 10**9, "bn": 10**9}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value (digits where it is too long to be one, None where it is none) and its place."""

    value: Decimal | str | None
    start: int
    end: int
    unit: str = ""


def read_digits(place: Normal, start: int, end: int) -> Quantity:
    """The number whose digits stand at text[start:end]."""
    text = place.text
    if _is_in_name(text, start, end):
        return Quantity(None, start, _NAME.match(text, end).end())  # type: ignore[union-attr]
    end = _before_full_width_comma(place, start, end)
    written = text[start:end].replace(",", "")
    if len(written) > _DIGITS_AT_MOST:
        return Quantity(re.sub(r"\D", "", written), start, end)
    value = read_chinese(written) if written[-1] in CHINESE_UNITS or not _is_plain(written) else None
    if value is None:
        value = Decimal(written)
    sign, first = _sign(text, start)
    scale, end = _scale(text, start, end)
    return Quantity(sign * value * scale, first, end)


def _is_plain(written: str) -> bool:
    return not any(unit in written for unit in CHINESE_UNITS)
