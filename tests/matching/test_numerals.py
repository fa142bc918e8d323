from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.matching.numerals import read_chinese, read_english
from tests.matching.asking import unhurried


def chinese(number: int) -> str:
    """Written as a Chinese reader would expect it, below 10**12."""
    if number == 0:
        return "零"
    written = ""
    for size, unit in ((10**8, "亿"), (10**4, "万"), (1, "")):
        part, number = divmod(number, size)
        if part:
            if written and part < 1000:
                written += "零"
            written += below_ten_thousand(part) + unit
    return written


def below_ten_thousand(number: int) -> str:
    written, gap = "", False
    for size, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, number = divmod(number, size)
        if digit:
            written += ("零" if gap else "") + "零一二三四五六七八九"[digit] + unit
        gap = not digit and bool(written)
    return written


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("三百二十七", 327),
        ("两千", 2000),
        ("十", 10),
        ("十五", 15),
        ("一百二", 120),
        ("一百零二", 102),
        ("两万五", 25000),
        ("三千五", 3500),
        ("一万零五", 10005),
        ("一亿二千万", 120_000_000),
        ("一万亿", 10**12),
        ("3万5千", 35000),
        ("3万5", 35000),
        ("1.5亿", 150_000_000),
        ("二〇二四", 2024),
        ("三点一四", Decimal("3.14")),
        ("壹仟贰佰", 1200),
        ("零", 0),
    ],
)
def test_reads_chinese(written: str, value: object) -> None:
    assert read_chinese(written) == value


@pytest.mark.parametrize("written", ["百", "万", "千五", "十百", "点五", "三点"])
def test_refuses_what_is_no_number(written: str) -> None:
    assert read_chinese(written) is None


@unhurried
@given(st.integers(0, 10**12 - 1))
def test_reads_the_chinese_that_it_would_write(number: int) -> None:
    assert read_chinese(chinese(number)) == number


@unhurried
@given(st.integers(20, 99), st.integers(1, 9))
def test_reads_english_hundreds(rest: int, hundreds: int) -> None:
    tens = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    ones = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    written = f"{tens[rest // 10 - 2]}-{ones[rest % 10]}".rstrip("-")
    assert read_english(f"{ones[hundreds]} hundred and {written}") == 100 * hundreds + rest


def test_reads_english_thousands() -> None:
    assert read_english("two thousand three hundred and five") == 2305
    assert read_english("a hundred") == 100
    assert read_english("one million two hundred thousand") == 1_200_000
