from __future__ import annotations

from typing import Any

import pytest

from pytest_dialeval.matching.view import View
from pytest_dialeval.records.transcript import ToolCall, Turn
from tests.matching.asking import turns, view

TALK = turns("u: hi", "a: hello", "u: fee?", "a: none", "u: bye", "a: goodbye")


@pytest.mark.parametrize(
    ("by", "which", "after", "ids"),
    [
        ("agent", "all", None, (2, 4, 6)),
        ("user", "all", None, (1, 3, 5)),
        ("any", "all", None, (1, 2, 3, 4, 5, 6)),
        ("agent", "first", None, (2,)),
        ("agent", "last", None, (6,)),
        ("agent", "next", None, (2,)),
        ("agent", "all", 3, (4, 6)),
        ("agent", "after_trigger", 3, (4, 6)),
        ("agent", "next", 3, (4,)),
        ("agent", "first", 3, ()),
        ("agent", "first", 1, (2,)),
        ("agent", "last", 3, (6,)),
        ("agent", "last", 6, ()),
        ("user", "next", 3, (5,)),
        ("any", "next", 3, (4,)),
    ],
)
def test_the_turns_that_are_searched(
    by: Any, which: Any, after: int | None, ids: tuple[int, ...]
) -> None:
    searched = View(TALK, after=after).searched(by, which)
    assert tuple(each.id for each in searched) == ids


def test_a_bare_tool_call_is_nothing_said_but_silence_is() -> None:
    call = Turn(1, "agent", "", tool_calls=(ToolCall("look_up"),))
    silence = Turn(2, "agent", " ")
    talk = View((call, silence))
    assert talk.searched() == (call, silence)
    assert talk.searched(said=True) == (silence,)
    assert talk.searched(turns="first", said=True) == (silence,)


def test_upto_keeps_everything_but_later_turns() -> None:
    whole = view("u: a", "a: b", language="zh", variables={"x": 1}, prompt="p", recorded={"r": 1})
    part = whole.upto(1)
    assert [each.id for each in part.turns] == [1]
    assert (part.language, part.variables, part.prompt) == ("zh", {"x": 1}, "p")
    assert part.recorded == {"r": 1}
