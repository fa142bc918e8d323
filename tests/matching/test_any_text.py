"""Whatever is said: no matcher raises, every quote stands, scores are what checks promise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.matching.compiling import compile_spec, spec_of
from pytest_dialeval.matching.trigger import fired
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.rubric import Trigger
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import ToolCall, Turn
from tests.matching.asking import MATCHERS, few

ASKED: list[tuple[str, Any]] = [
    ("keyword", {"any": ["免费", "refund", 327, "3天", "ß"], "by": "any"}),
    ("keyword", {"all": ["a", "您好", "$5"], "none": ["x y"], "turns": "last"}),
    ("ordered_keyword", [["a", "您"], "b", 3]),
    ("blacklist", {"phrases": ["退款", "refund", "i", "5%"], "unless_negated": True}),
    ("length", {"max_chars": 5, "min_words": 1, "max_sentences": 1, "tolerance": 0.1}),
    ("number_whitelist", {"user": True, "tools": True, "arithmetic": True, "allow": ["7"]}),
    ("placeholder", {"patterns": [r"\d+"], "allow": ["7"]}),
    ("pace", {"steps": ["a", "b", "c"]}),
    ("repetition", {"near": 0.5, "min_chars": 0}),
    ("regex", r"(?i)[a-z]+|\d*$"),
    ("language", "zh"),
    ("language", {"is": "en", "by": "any"}),
    ("tool_called", {"name": "find", "arguments": {"a": 1}}),
    ("tool_sequence", ["find", "find"]),
    ("json", {"keys": ["a.b"], "schema": {"type": "object"}}),
    ("recorded", {"field": "reward", "min": 0.5}),
    ("all", [{"keyword": ["a"]}, {"not": {"regex": "b"}}, {"any": ["placeholder", "repetition"]}]),
]
CHECKS = [compile_spec(spec_of(name, value, MATCHERS), MATCHERS) for name, value in ASKED]

PIECES = st.sampled_from(
    [
        *"退款 不能 保证 您好，免费 3天 三百二十七 $1,327.00 5% May 20, 2024 14:30".split(),
        *"refund can't no".split(),
        *"百分之 万 点 分之 HAT136 {name} 1. ``` a b . - ß İ ﷺ ①⁴ 👍🏽".split(),
        *("\u0301", "\u200b", "\u202b", "\u2011", "\n", " ", "[Your Name]"),
    ]
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=8).map("".join),
    st.lists(PIECES, max_size=8).map(" ".join),
    st.text(max_size=30),
).map(clean)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(TEXTS, inner, max_size=2)),
    max_leaves=4,
)
CALLS = st.builds(
    ToolCall,
    name=st.sampled_from(["find", "book"]),
    arguments=st.one_of(st.none(), st.dictionaries(st.sampled_from("ab"), VALUES), TEXTS),
    result=st.one_of(st.none(), TEXTS),
)


@st.composite
def views(draw: st.DrawFn) -> View:
    spoken = draw(
        st.lists(
            st.tuples(st.sampled_from(["agent", "user"]), TEXTS, st.lists(CALLS, max_size=2)),
            max_size=5,
        )
    )
    turns = tuple(
        Turn(number, speaker, text, tool_calls=tuple(calls))  # type: ignore[arg-type]
        for number, (speaker, text, calls) in enumerate(spoken, start=1)
    )
    return View(
        turns,
        after=draw(st.one_of(st.none(), st.integers(0, 6))),
        language=draw(st.sampled_from(["zh", "en", "xx"])),
        variables=draw(st.dictionaries(st.sampled_from("xy"), VALUES)),
        prompt=draw(TEXTS),
        recorded=draw(st.dictionaries(st.just("reward"), VALUES)),
    )


@pytest.mark.parametrize(
    "check", CHECKS, ids=[f"{name}-{at}" for at, (name, _) in enumerate(ASKED)]
)
@few
@given(view=views())
def test_no_text_confuses_a_matcher(check: Any, view: View) -> None:
    result = check(view)
    by_id = {turn.id: turn for turn in view.turns}
    assert all(each.stands_in(by_id[each.turn]) for each in result.evidence)
    assert set(result.searched) <= set(by_id)
    assert result.score is None or 0 <= result.score <= 1
    if check.boolean:
        assert result.score in (0, 1, None)
    assert result.score != 0 or result.evidence or result.searched or check.method == "recorded"
    assert check(view) == result


@few
@given(views())
def test_no_text_confuses_a_trigger(view: View) -> None:
    ids = {turn.id for turn in view.turns} | {None}
    assert fired(Trigger(user_keyword=("退款", "3天")), view, None) in ids
    for check in CHECKS[:4]:
        assert fired(Trigger(), view, check) in ids
