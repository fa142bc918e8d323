"""The numbers, dates, times and codes in a text, read as what they mean (design rule 11)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from pytest_dialeval.matching import figure_patterns as patterns
from pytest_dialeval.matching.dates import Date, read_date, read_time
from pytest_dialeval.matching.normal import Normal, normal
from pytest_dialeval.matching.quantities import (
    Quantity,
    read_digits,
    read_spoken,
    read_tenths,
    read_vulgar,
)

Kind = Literal["number", "date", "time", "code"]
_DATES = ("ymd", "zh_date", "mdy", "month_first", "day_first")
_TIMES = ("clock", "ampm", "zh_time")
_PLAIN = re.compile(patterns.NUMBER)


@dataclass(frozen=True, slots=True)
class Figure:
    """One of them, at a place in the normalised text.

    The value of a date is (year or None, month, day), of a time its minute of the day, of a code
    its digits, of a number a Decimal.
    """

    kind: Kind
    value: Decimal | Date | int | str
    start: int
    end: int
    unit: str = ""  # % or ‰
    spoken: bool = False  # in words
    label: bool = False  # 第三步, step 3, a list's marker: it counts nothing


def figures(text: str) -> tuple[Figure, ...]:
    """All of them, from left to right; digits inside names (HAT136) and links are none."""
    return _short(text) if len(text) <= 20_000 else _long(text)


def numbers(text: str) -> tuple[Figure, ...]:
    """Those that are numbers; a date in words gives its day and its year."""
    return tuple(
        number
        for each in figures(text)
        for number in ((each,) if each.kind == "number" else _in_date(each, text))
    )


def _in_date(figure: Figure, text: str) -> Iterator[Figure]:
    written = normal(text).text[figure.start : figure.end]
    if figure.kind == "date" and not re.fullmatch(r"[\d/.-]+", written):
        for each in re.finditer(r"\d+", written):
            start, end = figure.start + each.start(), figure.start + each.end()
            yield Figure("number", Decimal(each.group()), start, end)


def _read(text: str) -> tuple[Figure, ...]:
    place = normal(text)
    found: list[Figure] = []
    at = 0 if patterns.WORTH_READING.search(place.text) else len(place.text)
    while match := patterns.FIGURE.search(place.text, at):
        figure, at = _read_match(place, match)
        if figure is not None:
            found.append(figure)
    return tuple(found)


_short = lru_cache(maxsize=1024)(_read)
_long = lru_cache(maxsize=4)(_read)


def _read_match(place: Normal, match: re.Match[str]) -> tuple[Figure | None, int]:
    """The figure, if it is one, and where to read on."""
    form, written = match.lastgroup or "", match.group()
    start, end = match.span()
    if form in ("link", "idiom"):
        return None, end
    if form == "code":
        return Figure("code", re.sub(r"[^\d.]", "", written), start, end), end
    if form in _DATES and (date := read_date(form, written)):
        return Figure("date", date, start, end), end
    if form in _TIMES and (time := read_time(written)) is not None:
        return Figure("time", time, start, end), end
    if form == "vulgar":
        return _number(place, start, read_vulgar(place, start, end), spoken=False)
    if form == "tenths":
        return _number(place, start, read_tenths(written, start, end), spoken=True)
    if form in ("share", "han", "words"):
        return _number(place, start, read_spoken(place.text, form, match), spoken=True)
    if form not in ("number", "mixed"):
        # No such day or hour; its digits are still numbers.
        end = plain.end() if (plain := _PLAIN.match(place.text, start)) else start
    if end == start:
        return None, start + 1
    return _number(place, start, read_digits(place, start, end), spoken=False)


def _number(
    place: Normal, start: int, read: Quantity, *, spoken: bool
) -> tuple[Figure | None, int]:
    if read.value is None:
        return None, read.end
    end, unit = read.end, ""
    if isinstance(read.value, str):
        return Figure("code", read.value, start, end), end
    value = read.value
    if value == int(value) and (half := patterns.HALF.match(place.text, end)):
        end = half.end()
        value += Decimal("0.5") if value >= 0 else Decimal("-0.5")
    if percent := patterns.PERCENT.match(place.text, end):
        end, unit = percent.end(), "%"
    label = _is_label(place, start, end)
    figure = Figure("number", value, read.start, end, read.unit or unit, spoken, label)
    return figure, end


def _is_label(place: Normal, start: int, end: int) -> bool:
    """第三步, step 3, and `3.` where a line begins."""
    text = place.text
    if text.startswith("\u20e3", end):  # a keycap, 3️⃣
        return True
    if patterns.LABEL_BEFORE.search(text, max(0, start - 12), start):
        return True
    if not patterns.MARKER_AFTER.match(text, end):
        return False
    if start and text[start - 1] == "(" and text.startswith(")", end):
        return True
    at = place.span(start, start + 1)[0]
    line = place.original[max(0, at - 12) : at].rpartition("\n")
    is_begun = bool(line[1]) or at <= 12
    return is_begun and bool(patterns.MARKER_BEFORE.match(line[2]))
