"""Dates and times as they are written -> what they mean."""

from __future__ import annotations

import re

from pytest_dialeval.matching.figure_patterns import MONTH_STARTS
from pytest_dialeval.matching.numerals import read_chinese

Date = tuple[int | None, int, int]  # year, month, day
_PARTS = re.compile(r"\d+|[零〇一二两三四五六七八九十]+")
_HALVES = {"半": 30, "一刻": 15, "三刻": 45}


def read_date(form: str, written: str) -> Date | None:
    """The date, or None where there is no such day."""
    parts = [_int(each) for each in _PARTS.findall(written)]
    date: Date
    match form:
        case "ymd":
            date = (parts[0], parts[1], parts[2])
        case "zh_date":
            date = (parts[0] if len(parts) == 3 else None, parts[-2], parts[-1])
        case "mdy":
            date = _slashed(*parts)
        case _:
            date = (parts[1] if len(parts) == 2 else None, _month(written), parts[0])
    _, month, day = date
    return date if 1 <= month <= 12 and 1 <= day <= 31 else None


def read_time(written: str) -> int | None:
    """The minute of the day; without am, pm or 下午 the hour is taken as it stands."""
    hour_text, _, rest = written.partition("点" if "点" in written else ":")
    hours = _PARTS.findall(hour_text)
    hour = _int(hours[0]) if hours else 0
    minute = next((value for half, value in _HALVES.items() if rest.startswith(half)), None)
    if minute is None:
        minutes = _PARTS.findall(rest)
        minute = _int(minutes[0]) if minutes else 0
    if re.search(r"p\.?m|下午|傍晚|晚上", written) and hour < 12:
        hour += 12
    elif hour == 12 and re.search(r"a\.?m|凌晨", written):
        hour = 0
    return hour * 60 + minute if hour <= 24 and minute < 60 else None


def _slashed(first: int, second: int, year: int) -> Date:
    month, day = (second, first) if first > 12 else (first, second)
    return (year + 2000 if year < 100 else year, month, day)


def _month(written: str) -> int:
    return next(
        number
        for number, start in enumerate(MONTH_STARTS, start=1)
        if re.search(rf"(?<![a-z]){start}", written)
    )


def _int(written: str) -> int:
    value = read_chinese(written)
    return 0 if value is None else int(value)
