"""Numbers written in words, Chinese and English."""

from __future__ import annotations

import re
from decimal import Decimal

_DIGITS = "零〇一二两三四五六七八九壹贰叁肆伍陆柒捌玖"
CHINESE_DIGITS = dict(zip(_DIGITS, map(int, "001223456789123456789"), strict=True))
_SMALL = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_BIG = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
CHINESE_UNITS = _SMALL | _BIG
_CHINESE_TOKEN = re.compile(r"\d+(?:\.\d+)?|.")

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    " fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
ENGLISH_WORDS = {word: value for value, word in enumerate(_ONES)} | {
    word: 10 * value for value, word in enumerate(_TENS, start=2)
}
ENGLISH_SCALES = {
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}


def read_chinese(written: str) -> Decimal | None:
    """三百二十七 = 327, 两万五 = 25000, 3万5千 = 35000, 二〇二四 = 2024, 三点五 = 3.5."""
    if not written:
        return None
    whole, point, decimals = written.partition("点")
    if point:
        before, after = read_chinese(whole), _digits(decimals)
        return None if before is None or not after else Decimal(f"{before}.{after}")
    if len(written) > 1 and (digits := _digits(written)):
        return Decimal(digits)
    tokens: list[str] = _CHINESE_TOKEN.findall(written)
    return _big(tokens, "亿億")


def _digits(written: str) -> str:
    """Digit by digit, empty where there is anything else."""
    if all(char in CHINESE_DIGITS for char in written):
        return "".join(str(CHINESE_DIGITS[char]) for char in written)
    return ""


def _big(tokens: list[str], unit: str) -> Decimal | None:
    """What stands before and after 亿, below that 万."""
    places = [place for place, token in enumerate(tokens) if token in unit]
    if not places:
        return _big(tokens, "万萬") if unit == "亿億" else _section(tokens)
    before, after = tokens[: places[-1]], tokens[places[-1] + 1 :]
    times = Decimal(_BIG[unit[0]])
    many = _big(before, "万萬") if unit == "亿億" else _section(before)
    if not before or many is None:
        return None
    if len(after) == 1 and len(after[0]) == 1 and (tenths := _one_digit(after[0])):
        return many * times + tenths * times / 10  # 两万五 is 25 000
    rest = _big(after, "万萬") if after else Decimal(0)
    return None if rest is None else many * times + rest


def _section(tokens: list[str]) -> Decimal | None:
    """Below 万: units must fall, each with its own digit."""
    total, last = Decimal(0), Decimal(10**4)
    digit: Decimal | None = None
    zero = False
    for token in tokens:
        unit = _SMALL.get(token)
        if unit is None:
            read = _one_digit(token)
            if digit is not None or read is None:
                return None
            zero, digit = (True, None) if not read and len(tokens) > 1 else (zero, read)
            continue
        if (digit is None and unit != 10) or unit >= last:
            return None
        total += (1 if digit is None else digit) * unit
        last, digit, zero = Decimal(unit), None, False
    if digit is None:
        return total
    # 一百二 is 120, 一百零二 is 102.
    is_short = 100 <= last < 10**4 and not zero
    return total + digit * (last / 10 if is_short else 1)


def _one_digit(token: str) -> Decimal | None:
    if token in CHINESE_DIGITS:
        return Decimal(CHINESE_DIGITS[token])
    return Decimal(token) if token[0].isdecimal() else None


def read_english(written: str) -> Decimal:
    """`twenty-five`, `two thousand three hundred and five`; any run of its words has a value."""
    total = section = 0
    for word in re.split(r"[\s-]+", written):
        if word in ENGLISH_WORDS:
            section += ENGLISH_WORDS[word]
        elif word == "hundred":
            section = (section or 1) * 100
        elif word in ENGLISH_SCALES:
            total, section = total + (section or 1) * ENGLISH_SCALES[word], 0
    return Decimal(total + section)
