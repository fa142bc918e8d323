"""Numbers that claim nothing: list markers, 第一步, `one moment`, two of something small."""

from __future__ import annotations

import re
from decimal import Decimal

from pytest_dialeval.matching import figure_patterns as patterns
from pytest_dialeval.matching.figures import Figure

_LABELS_UP_TO = 50
_HAN_NUMERAL = re.compile("[零〇一二两三四五六七八九十]$")
# With one of these even 1 is a claim: a time, a price, a weight.
_MEASURED = re.compile(
    r"\s?-?(?:business |working |full |more |calendar )?"
    r"(?:second|minute|min|hour|hr|day|night|week|month|year|decade|percent|dollar|buck|cent|euro"
    r"|pound|yuan|usd|eur|gbp|rmb|cny|mile|meter|metre|kilometer|km|kg|kilo|gram|lb|ounce|oz|gb|mb"
    r"|tb|degree|time|star|am|pm|a\.m|p\.m)s?(?![a-z])|\s?[%°]"
    r"|\s?个?(?:工作日|自然日|分钟|小时|钟头|秒|天|日|号|周|星期|礼拜|月|年|元|块钱|角|毛钱|美元|欧元"
    "|万|亿|折|倍|公里|千米|米|公分|厘米|公斤|千克|斤|吨|岁|兆|成|分|点[钟半整]|[%‰°]|g[bB]?)"
)
_IDLE_ONE = re.compile(r"\s(?:second|minute|sec|min|moment)\b")
# After one character a measure word tells a number from a word that begins so (四川, 一起, 三轮).
_COUNTED = re.compile(
    "[个位名种件份项条步次遍点人口家张本台辆只门节章页层间单笔封套副双对组批类档级款样句段首"
    "场趟轮班堂]"
)


def counts_nothing(text: str, figure: Figure, counts_up_to: int) -> bool:
    """Whether the number at that place of the normalised text is no claim to be checked."""
    value = figure.value
    if not isinstance(value, Decimal):
        return False
    if figure.label:
        return abs(value) <= _LABELS_UP_TO
    written = text[figure.start : figure.end]
    if written == "one" and _IDLE_ONE.match(text, figure.end):
        return True
    measured = bool(figure.unit) or bool(_MEASURED.match(text, figure.end))
    measured = measured or _is_price(text, figure.start)
    if len(written) == 1 and _HAN_NUMERAL.match(written):
        if not measured and not _COUNTED.match(text, figure.end):
            return True
    return not measured and value == int(value) and 0 <= value <= counts_up_to


def _is_price(text: str, start: int) -> bool:
    return start > 0 and text[start - 1] in patterns.CURRENCY
