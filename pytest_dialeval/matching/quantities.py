"""How much a number says: its sign, its scale, and where it ends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

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
_LATIN = "a-z\u00df-\u024f"
_NAME = re.compile(rf"[{_LATIN}0-9_-]*+")
_GLUED = re.compile(rf"[{_LATIN}_]+")
_LETTERS_BEFORE = re.compile(rf"([{_LATIN}_]+)-?$")
_NUMBER = re.compile(patterns.NUMBER)
_UNITS = re.compile(f"[{''.join(CHINESE_UNITS)}]")
_SHORT_SCALES = {"k": 10**3, "m": 10**6, "mn": 10**6, "b": 10**9, "bn": 10**9}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value (its digits where it is too long to be one, None where it is none) and its place."""

    value: Decimal | str | None
    start: int
    end: int
    unit: str = ""


def read_digits(place: Normal, start: int, end: int) -> Quantity:
    """The number whose digits stand at text[start:end]."""
    text = place.text
    if _is_in_name(text, start, end):
        rest = _NAME.match(text, end)
        return Quantity(None, start, rest.end() if rest else end)
    end = _before_full_width_comma(place, start, end)
    value, end = _value(text, start, end)
    if isinstance(value, str):
        return Quantity(value, start, end)
    scale, end = _scale(text, start, end)
    first = _signed(text, start)
    sign = 1 if first == start else -1
    return Quantity(sign * value * scale, first, end)


def _is_in_name(text: str, start: int, end: int) -> bool:
    """HAT136, W2378156, covid-19, 4WQ150; but not US$20, RMB20, 30GB."""
    before = _LETTERS_BEFORE.search(text, max(0, start - 12), start)
    if before and before[1] not in patterns.CURRENCY_CODES:
        return True
    after = _GLUED.match(text, end)
    return bool(after) and after[0] not in patterns.GLUED  # type: ignore[index]


def _before_full_width_comma(place: Normal, start: int, end: int) -> int:
    # In 有3，200和5 the comma separates; only between full-width digits does it group them.
    for at in range(start, end):
        if place.text[at] == ",":
            comma, digit = place.span(at, at + 1)[0], place.span(at - 1, at)[0]
            if place.original[comma] != "," and place.original[digit].isascii():
                return at
    return end


def _value(text: str, start: int, end: int) -> tuple[Decimal | str, int]:
    written = text[start:end].replace(",", "")
    if _UNITS.search(written):
        value = read_chinese(written)
        if value is not None:
            return value, end
        plain = _NUMBER.match(text, start)
        end = plain.end() if plain else end
        written = text[start:end].replace(",", "")
    if len(written) > _DIGITS_AT_MOST:
        return re.sub(r"\D", "", written), end
    return Decimal(written), end


def _signed(text: str, start: int) -> int:
    """Where the number begins, its minus included: -5, -$5, but not 3-5, A-5 or `- 5`."""
    at = start - 1 if start and text[start - 1] in patterns.CURRENCY else start
    if not at or text[at - 1] != "-":
        return start
    is_sign = at == 1 or text[at - 2] in " (:=,>~[\"'"
    return at - 1 if is_sign else start


def _scale(text: str, start: int, end: int) -> tuple[int, int]:
    match = patterns.SCALE.match(text, end)
    if match is None:
        return 1, end
    if match[1]:
        return ENGLISH_SCALES[match[1]], match.end()
    is_money = start and text[start - 1] in patterns.CURRENCY
    # 10k is ten thousand of anything; 10m may be metres.
    if match[0] == "k" or (is_money and match[0] in _SHORT_SCALES):
        return _SHORT_SCALES[match[0]], match.end()
    return 1, end


def read_vulgar(place: Normal, start: int, end: int) -> Quantity:
    """½, 1½, 2 ¾: the fraction and the whole number before it."""
    text = place.text
    if _is_in_name(text, start, end):
        return Quantity(None, start, end)
    line = text.index("\u2044", start, end)
    top = _numerator(place, start, line)
    by = Decimal(text[line + 1 : end])
    if not by:
        return Quantity(None, start, end)
    whole = text[start:top].replace(",", "").strip()
    value = Decimal(whole or 0) + Decimal(text[top:line].replace(",", "")) / by
    first = _signed(text, start)
    return Quantity(value if first == start else -value, first, end)


def _numerator(place: Normal, start: int, line: int) -> int:
    """Where it begins: in 1½, which reads 11⁄2 here, it is what came from the same character."""
    sign = place.span(line, line + 1)
    top = line - 1
    while top > start and place.text[top - 1] != " ":
        one_char = place.span(line - 1, line) == sign
        if one_char and place.span(top - 1, top) != sign:
            break
        top -= 1
    return top


def read_tenths(written: str, start: int, end: int) -> Quantity:
    """三成 is 30 %, 三成五 35 %."""
    whole, _, more = written.partition("成")
    tenths = _any_number(whole)
    if tenths is None:
        return Quantity(None, start, end)
    rest = Decimal(5) if more == "半" else Decimal(CHINESE_DIGITS.get(more, 0))
    return Quantity(tenths * 10 + rest, start, end, "%")


def read_spoken(text: str, form: str, match: re.Match[str]) -> Quantity:
    """The number that is written in words there."""
    start, end = match.span()
    if form == "words":
        return Quantity(read_english(match.group()), start, end)
    if form == "share":
        return _share(match.group(), start, end)
    if start and text[start - 1] in CHINESE_UNITS:  # 万一, 千一: no number begins here
        return Quantity(None, start, start + 1)
    return _chinese(text, start, end)


def _chinese(text: str, start: int, end: int) -> Quantity:
    written = text[start:end]
    if len(written) == 2 and all(CHINESE_DIGITS.get(each) for each in written):
        if text.startswith("折", end):  # 八五折
            value = Decimal(f"{CHINESE_DIGITS[written[0]]}.{CHINESE_DIGITS[written[1]]}")
            return Quantity(value, start, end)
        return Quantity(read_chinese(written[0]), start, start + 1)  # 三五天: three or five
    for size in range(len(written), 0, -1):
        value_read = read_chinese(written[:size])
        if value_read is not None:
            return Quantity(value_read, start, start + size)
    return Quantity(None, start, end)


def _share(written: str, start: int, end: int) -> Quantity:
    whole, _, part = written.partition("分之")
    value = Decimal(100) if part == "百" else _any_number(part)
    if whole in ("百", "千"):
        return Quantity(value, start, end, "%" if whole == "百" else "‰")
    by = _any_number(whole)
    if not by or value is None:
        return Quantity(None, start, end)
    return Quantity(value / by, start, end)


def _any_number(written: str) -> Decimal | None:
    written = written.replace(",", "")
    if written[:1].isdecimal():
        return Decimal(written) if len(written) <= _DIGITS_AT_MOST else None
    return read_chinese(written)
