from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.matching import placeholder
from tests.matching.asking import ask, quotes, score, view


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("您好，{name}先生", ["{name}"]),
        ("Dear ${user.name}, {{ date }}", ["${user.name}", "{{ date }}"]),
        ("Hello [Your Name], see [insert link here]", ["[Your Name]", "[insert link here]"]),
        ("Hi <customer name>", ["<customer name>"]),
        ("尊敬的[客户姓名]，【请填写日期】", ["[客户姓名]", "【请填写日期】"]),
        ("费用是X元，XX天内", ["X", "XX"]),
        ("it costs $XXX", ["XXX"]),
        ("%(name)s owes %s", ["%(name)s", "%s"]),
        ("your code is ____ now", [" ____"]),
        ("某某先生", ["某某"]),
        ("TODO: greet", ["TODO"]),
        ("Dear undefined,", ["Dear undefined"]),
        ("total: $NaN", ["$NaN"]),
    ],
)
def test_unfilled(text: str, hits: list[str]) -> None:
    result = ask("placeholder", None, view(f"a: {text}"))
    assert (result.score, quotes(result)) == (0, hits)


@pytest.mark.parametrize(
    "text",
    [
        "The card xxxx-1234, XXXX 7447 or ****1234",
        '{"name": "Ann", "age": 3}',
        "see [1], [the terms](https://a.b), [x] done, [ ] open",
        "<b>bold</b><br>",
        "size XXL, X光检查, Xbox, MAX",
        "【活动时间】：9月1日",
        "100%sure, 50% discount",
        "snake_case __init__",
        "a\n___\nb",
        "use it so:\n```\nprint(f'{name}') # TODO\n```\n",
        "the null hypothesis",
        "您好，请问是王先生吗",
    ],
)
def test_meant_so(text: str) -> None:
    assert quotes(ask("placeholder", None, view(f"a: {text}"))) == []


def test_own_patterns_come_on_top_or_alone() -> None:
    line = "a: {name} owes @@sum@@"
    assert quotes(ask("placeholder", ["@@\\w+@@"], view(line))) == ["{name}", "@@sum@@"]
    alone = {"patterns": ["@@\\w+@@"], "built_in": False}
    assert quotes(ask("placeholder", alone, view(line))) == ["@@sum@@"]


def test_what_is_allowed_is_no_hit() -> None:
    assert score("placeholder", {"allow": ["{name}"]}, "a: {Name}") == 1


def test_only_the_agent_is_looked_at() -> None:
    assert score("placeholder", None, "u: {name}", "a: hello") == 1
    assert score("placeholder", None, "u: {name}") is None


WORDS = ["TODO", "todo", "FIXME", "TBD", "Lorem Ipsum", "lorem", "Dear", "HELLO", "hi", "您好"]
NOTHING = [
    "undefined",
    "UNDEFINED",
    "NuLL",
    "none",
    "NaN",
    "nan",
    "unde\u0066ined",
    "\u0131",
    "\u017f",
]
SIGNS = [
    "$",
    "¥",
    "{name}",
    "{{x}}",
    "%s",
    "%(a)s",
    "[Your Name]",
    "<link>",
    "【姓名】",
    "XX",
    "xxx",
]
MORE = ["某某", "___", " ", " ", ",", "，", "\u212a", "元", "X", "a", "\n"]


@given(st.lists(st.sampled_from([*WORDS, *NOTHING, *SIGNS, *MORE]), max_size=8).map("".join))
def test_no_text_is_passed_by_that_a_pattern_would_find(text: str) -> None:
    """Most patterns are not tried where a text lacks what they must have; that changes nothing."""
    found = {
        span for _, each in placeholder.BUILT_IN for span in placeholder.pattern(each).matches(text)
    }
    hits = quotes(ask("placeholder", None, view(f"a: {text}"))) if text.strip() else []
    assert bool(hits) == any(end > start for start, end in found) or not text.strip()
