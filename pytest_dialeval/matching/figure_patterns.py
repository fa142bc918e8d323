"""How numbers, dates, times and codes are written; all over normalised text."""

from __future__ import annotations

import re

from pytest_dialeval.matching.numerals import (
    CHINESE_DIGITS,
    CHINESE_UNITS,
    ENGLISH_SCALES,
    ENGLISH_WORDS,
)

_H = "".join(CHINESE_DIGITS)
_U = "".join(CHINESE_UNITS)
NUMBER = r"(?:\d{1,3}(?:,\d{3})++(?!\d)|\d++)(?:\.\d++)?+"
_HAN = rf"[{_H}十拾][{_H}{_U}]{{0,30}}"
_SMALL_HAN = "(?:[二三四五]?十[一二三四五六七八九]?|[零一二两三四五六七八九])"
_HOUR = rf"(?:\d{{1,2}}|{_SMALL_HAN})"

_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
MONTH_STARTS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_ONES = "|".join(sorted((word for word in ENGLISH_WORDS), key=len, reverse=True))
_TENS = "|".join(word for word, value in ENGLISH_WORDS.items() if value >= 20)
_SCALES = "|".join(ENGLISH_SCALES)
_ELEMENT = rf"(?:(?:{_TENS})[\s-](?:{_ONES})(?![a-z])|(?:{_ONES})(?![a-z]))"
_WORDS = (
    rf"(?<![a-z_])(?:{_ELEMENT}|an?(?=\s(?:{_SCALES})))"
    rf"(?:[\s-](?:{_SCALES})(?![a-z])(?:,?\s(?:and\s)?{_ELEMENT})?){{0,6}}"
)

# 成 that begins a word (三成员, 一成不变), and the 八成 and 九成 that mean "probably".
_NO_TENTHS = (
    "[员为立功果本都人年长分语品绩交份型套熟双千百群天就效因败见心器婚药全服仁名师团行章家色形]|不变"
    "|(?<=[八九]成)[是会要没在得能可应]"
)

# In order of precedence where two begin at the same place.
FIGURE = re.compile(
    # Most places can be passed by at a glance.
    rf"(?=[\d+(.{_H}十拾百千周星礼凌早上中下傍晚]|(?<![a-z_])[a-z])(?:"
    + "|".join(
        f"(?P<{name}>{pattern})"
        for name, pattern in {
            "link": r"https?://\S{1,2000}|www\.\S{1,2000}"
            r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}",
            "idiom": r"(?<!\d)24/7(?!\d)|(?<!\d)7 ?[x*] ?24(?!\d)|十分(?![钟之满])"
            r"|(?:周|星期|礼拜)[一二三四五六日天]",
            "ymd": r"(?<!\d)\d{4}(?P<_dash>[-/.])\d{1,2}(?P=_dash)\d{1,2}(?!\d)",
            "zh_date": rf"(?:(?:\d{{4}}|[{_H}]{{4}})年)?{_HOUR}月"
            r"(?:\d{1,2}|[二三]?十[一二三四五六七八九]?|[一二三四五六七八九])[日号]",
            "mdy": r"(?<![\d/])\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})(?![\d/])",
            "month_first": rf"(?<![a-z])(?:{_MONTHS})\.?\s\d{{1,2}}(?:st|nd|rd|th)?(?![:\d])"
            r"(?:,?\s\d{4}(?!\d))?",
            "day_first": rf"(?<!\d)\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?(?:{_MONTHS})(?![a-z])"
            r"(?:,?\s\d{4}(?!\d))?",
            "clock": r"(?<![\d:])\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?![\d:])"
            r"(?:\s?[ap]\.?m(?![a-z]))?",
            "ampm": r"(?<!\d)\d{1,2}\s?[ap]\.?m(?![a-z])",
            "zh_time": r"(?P<_day>凌晨|早上|早晨|上午|中午|下午|傍晚|晚上)"
            rf"{_HOUR}点(?:半|一刻|三刻|[整钟]|{_HOUR}(?:分(?!钟))?)?"
            rf"|{_HOUR}点(?:半|一刻|三刻|[整钟]|{_HOUR}分(?![钟之]))",
            "code": r"\+?\d++(?:-\d++){2,}|\(\d{3}\)\s?\d{3}-\d{4}|(?<!\d)0\d{2,3}-\d{7,8}(?!\d)"
            r"|(?<![\d.])\d++(?:\.\d++){2,}",
            # ½ is 1⁄2 here; what stands before its numerator is told by the original.
            "vulgar": r"(?:\d[\d,]{0,15} )?\d[\d,]{0,15}\u2044\d{1,4}",
            "tenths": rf"(?<![\d{_H}{_U}.])(?:\d{{1,2}}(?:\.\d)?|[一二两三四五六七八九十])成"
            rf"(?!{_NO_TENTHS})(?:[一二三四五六七八九半](?![{_U}个名位人天年月点分]))?",
            "share": rf"[百千]分之(?:{NUMBER}|{_HAN}(?:点[{_H}]{{1,10}})?|百)"
            rf"|(?:\d{{1,6}}|{_HAN})分之(?:\d{{1,6}}|{_HAN})",
            "mixed": rf"{NUMBER}[{_U}]{{1,3}}"
            rf"(?:\d{{1,4}}(?:[{_U}]{{1,3}}|(?![\d.,年月日]))){{0,6}}",
            "han": rf"{_HAN}(?:点[{_H}]{{1,10}})?",
            "number": rf"{NUMBER}|(?<![\w.])\.\d++",
            "words": _WORDS,
        }.items()
    )
    + ")"
)

# Without one of these there is nothing to read.
WORTH_READING = re.compile(rf"\d|[{_H}十拾]|(?:{_ONES}|{_SCALES})")

# 两年半, two and a half: the half belongs to the number; 两年半价 and 两个半年 are other words.
HALF = re.compile(
    "(?:个(?!半年)|年|天|周|倍|斤|块|米|公里|小时)半(?![价数途夜路载导推])| and a half(?![a-z])"
)
# A number that does not show its own digits.
IN_WORDS = re.compile(
    rf"[{_H}{_U}成\u2044]|\d[\s-]?[kmbht]|(?<![a-z])(?:{_ONES}|an?[\s-](?:{_SCALES}))(?![a-z])"
)

SCALE = re.compile(rf"[\s-]?({_SCALES})(?![a-z])|(?:k|m|mn|bn|b)(?![a-z])")
PERCENT = re.compile(r"\s?(?:%|percent(?![a-z])|per\s?cent(?![a-z]))|个百分点")
CURRENCY = "$€£¥₩₹￥"
CURRENCY_CODES = ("usd", "cny", "rmb", "eur", "gbp", "hkd", "jpy", "us", "hk", "rs")
# What may be glued to the digits of a number; any other letters make a name of it (4WQ150).
GLUED = frozenset(
    "k m mn b bn kg g mg t lb lbs oz km cm mm mi ft in kb mb gb tb mbps gbps kbps ms s sec secs"
    " min mins h hr hrs d day days w wk wks am pm x usd eur gbp rmb cny hkd yuan px pt v kw kwh wh"
    " mah ah hz khz mhz ghz ml l st nd rd th c f p".split()
)
LABEL_BEFORE = re.compile(
    r"(?:第|步骤|选项|方案|方式|问题|step|option|question|point|part|item|section|phase|chapter)"
    r"\s?#?$"
)
MARKER_BEFORE = re.compile(r"[\s>*#(（-]*$")
MARKER_AFTER = re.compile(r"[.):、](?!\d)(?=\s?\S)")
