from __future__ import annotations

import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.matching.figures import figures, numbers
from pytest_dialeval.matching.normal import normal
from tests.matching.asking import unhurried


def read(text: str) -> list[object]:
    return [each.value for each in figures(text)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("It costs $1327.00, or 481.5.", [1327, Decimal("481.5")]),
        ("1,000 and １，０００", [1000, 1000]),
        ("有3，200个", [3, 200]),
        ("1,2,3", [1, 2, 3]),
        ("1,0000", [1, 0]),
        ("三百二十七元，两千，3万，1.5亿", [327, 2000, 30000, 150_000_000]),
        ("百分之五 5% 5 percent 20个百分点", [5, 5, 5, 20]),
        ("三分之一", [Decimal(1) / 3]),
        ("$3M, 10k, 2 million, 10 m", [3_000_000, 10_000, 2_000_000, 10]),
        ("万一十分感谢，周五见", []),
        ("等十分钟", [10]),
        ("HAT136 W2378156 card_4421486 4WQ150 covid-19", []),
        ("30GB US$20 RMB20 5kg 2nd", [30, 20, 20, 5, 2]),
        ("see https://a.b/123 or me12@x.com", []),
        ("open 24/7", []),
        ("-5, -$55, 3-5, A-5", [-5, -55, 3, 5]),
        ("八五折 九折 三五天", [Decimal("8.5"), 9, 3, 5]),
        ("twenty-five of a hundred", [25, 100]),
        ("someone, often, phone", []),
        (".5 and 3.", [Decimal("0.5"), 3]),
        ("½ cup, 1½ h, 2 ¾, 1,000½", [*map(Decimal, ("0.5", "1.5", "2.75", "1000.5"))]),
        ("⅓ and -½, 3\u20444, 2 1\u20442", [Decimal(1) / 3, *map(Decimal, ("-.5", ".75", "2.5"))]),
        ("½% off, ½kg, x½, 1½–2", [Decimal("0.5"), Decimal("0.5"), Decimal("1.5"), 2]),
        ("1\u20440", []),
        ("三成，3成，三成五，两成半，十成", [30, 30, 35, 25, 100]),
        ("首付二成左右，九成新，八成用户", [20, 90, 80]),
        ("三成员，一成不变，八成是系统的问题，第三成功", [3, 1, 8, 3]),
        ("二十三成", [23]),
        ("两年半，一个半小时，3个半月，三天半", [*map(Decimal, ("2.5", "1.5", "3.5", "3.5"))]),
        ("两年半价，两个半年，一年半载", [2, 2, 1]),
        ("two and a half years, 2 and a half percent", [Decimal("2.5"), Decimal("2.5")]),
        ("two and a halfpenny, 2.5 and a half", [2, Decimal("2.5")]),
        ("10⁴ ①", [10]),
        ("٣", [3]),
    ],
)
def test_numbers(text: str, values: list[object]) -> None:
    assert read(text) == values
    assert all(each.kind == "number" for each in figures(text))


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("May 20, 2024", (2024, 5, 20)),
        ("20th of May", (None, 5, 20)),
        ("on 2024-05-20T10", (2024, 5, 20)),
        ("05/20/2024", (2024, 5, 20)),
        ("20/05/24", (2024, 5, 20)),
        ("5月20日", (None, 5, 20)),
        ("二〇二四年五月二十日", (2024, 5, 20)),
    ],
)
def test_dates(text: str, date: object) -> None:
    assert [(each.kind, each.value) for each in figures(text)] == [("date", date)]


@pytest.mark.parametrize(
    ("text", "minute"),
    [
        ("14:30", 870),
        ("2:30 PM", 870),
        ("2 p.m.", 840),
        ("12:15 am", 15),
        ("下午两点半", 870),
        ("三点五十分", 230),
        ("晚上八点", 1200),
        ("九点一刻", 555),
    ],
)
def test_times(text: str, minute: int) -> None:
    assert [(each.kind, each.value) for each in figures(text)] == [("time", minute)]


def test_no_such_day_or_hour_leaves_its_numbers() -> None:
    assert read("2024-99-99") == [2024, 99, 99]
    assert read("99:99") == [99, 99]


def test_codes() -> None:
    assert read("400-123-4567, (555) 010-9999, v1.2.3") == ["4001234567", "5550109999", "1.2.3"]
    assert read("9" * 40) == ["9" * 40]


def test_labels_are_marked() -> None:
    text = "1. First\n2) Second 7\n第三步 step 4 5\ufe0f\u20e3 (6) x"
    assert [each.value for each in figures(text) if each.label] == [1, 2, 3, 4, 5, 6]
    assert [each.value for each in figures(text) if not each.label] == [7]


def test_a_date_in_words_gives_its_numbers_but_another_does_not() -> None:
    assert [each.value for each in numbers("May 20, 2024 and 2024-05-21")] == [20, 2024]


@unhurried
@given(st.integers(0, 10**15), st.integers(0, 99))
def test_reads_what_is_written_in_figures(whole: int, cents: int) -> None:
    value = Decimal(f"{whole}.{cents:02}")
    for written in (f"{whole}.{cents:02}", f"{whole:,}.{cents:02}", f"${whole:,}.{cents:02}"):
        assert read(f"so {written} in all") == [value]
    wide = str(whole).translate({ord(str(digit)): 0xFF10 + digit for digit in range(10)})
    assert read(f"共{wide}个") == [whole]


@unhurried
@given(st.text(max_size=60))
def test_figures_stand_apart_in_order(text: str) -> None:
    reached = 0
    for each in figures(text):
        assert reached <= each.start < each.end <= len(normal(text).text)
        reached = each.end


LONG = ["1", "一", "1,000", "1-", "one ", "a@", "百分之", "1万", "点", "#1."]


@pytest.mark.parametrize("unit", [*LONG, "½", "1 ", "一成", "一个半"])
def test_long_texts_take_linear_time(unit: str) -> None:
    start = time.process_time()
    figures(unit * (100_000 // len(unit)))
    assert time.process_time() - start < 5
