from __future__ import annotations

import datetime
import enum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dialeval.conversation.agent import Reply
from pytest_dialeval.conversation.answer import reply_from
from pytest_dialeval.errors import AgentFault, NotMeasured
from pytest_dialeval.records.transcript import Artifact, ToolCall, Usage
from pytest_dialeval.traces.codec import Turn, encode_turn
from pytest_dialeval.traces.json_bytes import to_json


class Colour(enum.StrEnum):
    RED = "red"


def test_a_string_is_the_text():
    assert reply_from("hello") == Reply("hello")


def test_an_empty_string_is_an_answer():
    assert reply_from("") == Reply("")


def test_text_is_cleaned():
    assert reply_from("a\x00b\ud800c\r\nd") == Reply("ab\ufffdc\nd")


def test_a_string_enum_becomes_a_plain_string():
    reply = reply_from(Colour.RED)
    assert (type(reply.text), reply.text) == (str, "red")


def test_a_million_characters_are_an_answer():
    assert len(reply_from("x" * 1_000_000).text) == 1_000_000


def test_more_than_sixteen_million_are_a_fault():
    with pytest.raises(AgentFault, match="16777217 characters"):
        reply_from("x" * (16 * 1024 * 1024 + 1))


def test_a_dict_may_hold_everything():
    reply = reply_from(
        {
            "text": "done",
            "tool_calls": [
                {"name": "pay", "arguments": {"sum": 3}, "id": "1", "result": {"ok": True}},
                ToolCall("look", error=True),
            ],
            "artifacts": [{"name": "bill", "text": "3 EUR"}],
            "usage": {"input_tokens": 5, "cost_usd": 0.5},
            "hang_up": True,
        }
    )
    assert reply == Reply(
        "done",
        (ToolCall("pay", {"sum": 3}, "1", '{"ok": true}'), ToolCall("look", error=True)),
        (Artifact("bill", "3 EUR"),),
        Usage(input_tokens=5, cost_usd=0.5),
        hang_up=True,
    )


def test_a_reply_object_is_checked_and_cleaned_too():
    reply = reply_from(Reply("a\x07", artifacts=(Artifact("n", "t\x07"),), usage=Usage(1)))
    assert reply == Reply("a", artifacts=(Artifact("n", "t"),), usage=Usage(1))
    with pytest.raises(AgentFault, match="text is None; it must be a str"):
        reply_from(Reply(None))  # type: ignore[arg-type]


def test_only_hanging_up_is_an_answer():
    assert reply_from({"hang_up": True}) == Reply(hang_up=True)


def test_none_is_told_apart_from_other_types():
    with pytest.raises(AgentFault, match=r"returned None \(is a `return` missing"):
        reply_from(None)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (42, "returned 42, which is of type int; an answer is a str, a Reply or a dict"),
        (b"hi", "returned b'hi', which is of type bytes"),
        (["hi"], "of type list"),
        ({}, "empty dict"),
        ({"txt": "hi"}, "key 'txt'; .*did you mean 'text'"),
        ({"text": 3}, "text is 3; it must be a str"),
        ({"hang_up": "yes"}, "hang_up is 'yes'; it must be True or False"),
        ({"tool_calls": {"name": "x"}}, "tool_calls is .*; it must be a list"),
        ({"tool_calls": ["pay"]}, r"tool_calls\[0\] is 'pay'; it must be a ToolCall or a dict"),
        ({"tool_calls": [{}]}, r"tool_calls\[0\].name is None"),
        ({"tool_calls": [{"name": "x", "args": 1}]}, "key 'args'"),
        ({"artifacts": [{"name": "x"}]}, r"artifacts\[0\].text is None"),
        ({"usage": {"input_tokens": -1}}, "usage.input_tokens is -1; it must be a number from 0"),
        ({"usage": {"cost_usd": float("nan")}}, "usage.cost_usd is nan"),
        ({"usage": {"input_tokens": True}}, "usage.input_tokens is True"),
        ({1: "x"}, "key 1"),
    ],
)
def test_what_is_wrong_is_named(value: Any, message: str):
    with pytest.raises(AgentFault, match=message):
        reply_from(value)


def test_a_long_value_is_shown_shortened():
    with pytest.raises(AgentFault) as caught:
        reply_from([0] * 100_000)
    assert len(str(caught.value)) < 400


def test_a_value_that_cannot_show_itself_is_said():
    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    with pytest.raises(AgentFault, match="<Shy whose repr raises RuntimeError>"):
        reply_from(Shy())


def test_not_measured_may_be_said_in_the_answer():
    with pytest.raises(NotMeasured, match="the server is down"):
        reply_from({"not_measured": "the server is down"})


def test_what_json_does_not_know_becomes_text():
    value = {"day": datetime.date(2024, 5, 1), 3: {1}, "big": 1 << 70, "nan": float("nan")}
    [call] = reply_from({"tool_calls": [{"name": "x", "arguments": value}]}).tool_calls
    assert call.arguments == {"day": "2024-05-01", "3": [1], "big": str(1 << 70), "nan": "nan"}


def test_a_number_that_python_does_not_write_in_decimal_becomes_text_too():
    call = {"name": "x", "arguments": {"n": 16**5_000, 16**5_000: 1}}
    [made] = reply_from({"tool_calls": [call]}).tool_calls
    text = "0x1" + "0" * 5_000
    assert made.arguments == {"n": text, text: 1}


def test_a_value_that_cannot_be_read_is_named_with_its_place():
    class Shy:
        def __str__(self) -> str:
            raise RuntimeError("no")

    place = (
        r"tool_calls\[0\]\.arguments can't be read: RuntimeError: no \(conversation/test_answer.py:"
    )
    with pytest.raises(AgentFault, match=place):
        reply_from({"tool_calls": [{"name": "x", "arguments": {"x": Shy()}}]})


def test_a_value_within_itself_is_a_fault():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(AgentFault, match="nested too deeply"):
        reply_from({"tool_calls": [{"name": "x", "arguments": loop}]})


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@settings(deadline=None)
@given(anything)
def test_any_value_is_a_reply_or_a_fault(value: object):
    try:
        reply = reply_from(value)
    except AgentFault:
        return
    assert isinstance(value, str | dict) and isinstance(reply, Reply)


@settings(deadline=None)
@given(anything)
def test_any_arguments_can_be_written_down(value: object):
    [call] = reply_from({"tool_calls": [{"name": "x", "arguments": value}]}).tool_calls
    assert to_json(encode_turn(Turn(1, "agent", tool_calls=(call,))))
