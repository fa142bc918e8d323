"""`placeholder`: no template is left unfilled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated

import pydantic
from pydantic_core import PydanticCustomError

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.normal import normal
from pytest_dialeval.matching.params import Where, Words, always, as_list, scope
from pytest_dialeval.matching.pattern import SEARCHED_AT_MOST, Pattern, pattern
from pytest_dialeval.matching.regex import Regex, unsearched
from pytest_dialeval.matching.view import View
from pytest_dialeval.matching.wording import QUOTED_AT_MOST, ids, not_searched
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import Evidence, MatcherResult
from pytest_dialeval.records.wording import plural

_NOUN = (
    "name|first name|last name|date|time|amount|price|number|phone|email|address|company|product"
    "|order|link|url|agent|customer|client|user|title"
)
_NOUN_ZH = (
    "姓名|名字|名称|称呼|日期|时间|金额|价格|数字|数量|号码|电话|地址|公司|产品|课程|链接|订单号"
)
_UNIT_ZH = "元|块|天|日|月|年|小时|分钟|先生|女士|老师|同学|个|人|万|折|次|%"

# Each with what a text must have one of, as it stands or in small letters, so that most texts are
# passed by at once. No letter has a second form that `(?i)` takes for it (s, k and i have).
# What people mean so (xxxx1234, [1], <b>, a Markdown link) is let pass.
BUILT_IN = (
    ("{", r"\$\{[^{}\n]{1,60}\}|\{\{[^{}\n]{1,60}\}\}"),
    ("{", r"(?<![\${\\])\{[A-Za-z_\u4e00-\u9fff][\w.\-]{0,40}\}(?!\})"),
    ("%", r"%\([A-Za-z_]\w{0,40}\)[sdf]|(?<![\w%])%[sd](?!\w)"),
    (
        "[<",
        r"(?i)[\[<]\s?(?:(?:your|insert|enter|the|customer|client|user|agent|company)[ _'s]{0,3})*"
        rf"(?:{_NOUN})(?:[ _](?:here|{_NOUN}))?\s?[\]>](?!\()",
    ),
    ("[<", r"(?i)[\[<]\s?(?:your|insert|enter)\s[^\]>\n]{1,40}[\]>](?!\()"),
    (
        "[<【",
        rf"[\[<【](?:请?填写|请?输入|插入|此处|您的|你的|客户|用户)?(?:{_NOUN_ZH})[\]>】](?![:：])",
    ),
    ("[<【", r"[\[<【](?:请?填写|请?输入|插入|此处)[^\]>】\n]{0,20}[\]>】]"),
    (
        "XYZx×＊*",
        rf"(?<![A-Za-z0-9])(?:[XYZ]|[Xx]{{2,4}}|[×＊*]{{2,4}})\s?(?={_UNIT_ZH})",
    ),
    ("Xx某", r"(?<![\w*\-])(?:X{2,}|x{3,})(?![\w\-]|\s?[\d*])|某某"),
    ("_", r"(?<=\S)[ \t]?_{3,}|_{3,}[ \t]?(?=[^\s_])"),
    (("TODO", "FIXME", "TBD", "lorem"), r"\b(?:TODO|FIXME|TBD)\b|(?i:lorem ipsum)"),
    (
        ("undef", "null", "none", "nan"),
        r"(?i)\b(?:dear|hello|hi|尊敬的|您好)[,，]?\s?(?:undefined|null|none|nan)\b"
        r"|[$¥€£](?:NaN|null)\b",
    ),
)
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


Patterns = Annotated[
    list[Regex], pydantic.BeforeValidator(as_list, json_schema_input_type=str | list[str])
]


class PlaceholderParams(Where):
    """`patterns` are looked for too; `built_in: false` leaves the others out; `allow` excuses."""

    patterns: Patterns = pydantic.Field(
        [], description="regular expressions that are looked for too"
    )
    built_in: bool = pydantic.Field(
        True, description="whether the usual ones ({name}, [Your Name], TODO, ...) are looked for"
    )
    allow: Words | None = pydantic.Field(None, description="texts that look like one and are not")

    @pydantic.model_validator(mode="after")
    def _looks_for_something(self) -> PlaceholderParams:
        if not self.built_in and not self.patterns:
            raise PydanticCustomError("placeholder", "built_in: false leaves no pattern to find")
        return self


def placeholder() -> Matcher:
    """0 where a template is left unfilled even once; fenced code does not count."""
    return Matcher("placeholder", PlaceholderParams, _match, always, scope, "patterns", _is_slow)


def _is_slow(params: PlaceholderParams) -> bool:
    return any(pattern(each).slow for each in params.patterns)


def _match(view: View, params: PlaceholderParams) -> MatcherResult:
    turns = params.searched(view)
    expected = "no unfilled placeholder"
    if not turns:
        return not_searched(expected, params)
    built_in = BUILT_IN if params.built_in else ()
    patterns = [(held, pattern(each)) for held, each in built_in]
    patterns += [("", pattern(each)) for each in params.patterns]
    allowed = {normal(each).text for each in params.allow or ()}
    found = [hit for turn in turns for hit in _hits(turn, patterns, allowed)]
    if not found:
        reason = "no searched turn has one" + unsearched(turns)
        return MatcherResult(1.0, reason, expected, searched=ids(turns))
    more = f", and {plural(len(found) - 1, 'more')}" if len(found) > 1 else ""
    reason = f"turn {found[0].turn} has {found[0].quote!r}{more}"
    return MatcherResult(0.0, reason, expected, tuple(found[:QUOTED_AT_MOST]), ids(turns))


def _hits(
    turn: Turn, patterns: Sequence[tuple[Sequence[str], Pattern]], allowed: set[str]
) -> Iterator[Evidence]:
    text = _without_code(turn.text[:SEARCHED_AT_MOST])
    # What a pattern needs is looked for as it stands and in small letters.
    holds = f"{text}\n{text.lower()}".__contains__
    spans = sorted(
        {
            span
            for held, each in patterns
            if not held or any(map(holds, held))
            for span in each.matches(text)
        }
    )
    reached = 0
    for start, end in spans:
        quote = turn.text[start:end]
        if start >= reached and end > start and normal(quote).text.strip() not in allowed:
            yield Evidence(turn.id, quote, start)
            reached = end


def _without_code(text: str) -> str:
    # Spaces keep every other character at its place.
    return _FENCED.sub(lambda code: " " * len(code.group()), text) if "```" in text else text
