"""What is read from responses, whole and streamed, however they differ."""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.models.endpoints import Features
from pytest_dialeval.models.event_stream import EventStream, looks_like_events
from pytest_dialeval.models.wire import (
    StreamReader,
    Unreadable,
    answer_of,
    error_of,
    read_whole,
    request_body,
    request_fields,
    usage_of,
)
from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelToolCall
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import Usage

from .server import call_to, chunk, completion, event, events_of

TOOL = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}
SCHEMA = {"title": "verdict", "type": "object"}


def streamed(*pieces: bytes) -> ChatAnswer:
    """What a stream of these bytes says."""
    reader = StreamReader()
    stream = EventStream(reader)
    for each in pieces:
        stream.feed(each)
    stream.close()
    return reader.answer()


# Requests


def test_only_what_was_asked_for_is_sent() -> None:
    fields = request_fields(call_to(""), Features(stream=False))
    assert fields == {"model": "m", "messages": ({"role": "user", "content": "Hello?"},)}


def full_call() -> ChatCall:
    call = call_to("", temperature=0.0, seed=0, max_tokens=50)
    return replace(call, tools=(TOOL,), schema=SCHEMA)


def test_everything_that_can_be_asked_for() -> None:
    assert json.loads(request_body(full_call(), Features())) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hello?"}],
        "temperature": 0.0,
        "seed": 0,
        "max_tokens": 50,
        "tools": [TOOL],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "schema": SCHEMA, "strict": True},
        },
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_what_an_endpoint_lacks_is_left_out() -> None:
    features = Features(
        schema="json_object",
        seed=False,
        temperature=False,
        stream_usage=False,
        max_tokens="max_completion_tokens",
    )
    fields = request_fields(full_call(), features)
    assert fields.keys().isdisjoint({"seed", "temperature", "stream_options", "max_tokens"})
    assert fields["max_completion_tokens"] == 50
    assert fields["response_format"] == {"type": "json_object"}
    assert "response_format" not in request_fields(full_call(), replace(features, schema=None))


@given(st.text())
def test_any_text_can_be_sent(text: str) -> None:
    messages = (MappingProxyType({"role": "user", "content": text}),)
    body = request_body(replace(call_to(""), messages=messages), Features())
    assert json.loads(body)["messages"] == [{"role": "user", "content": text}]


def test_lone_surrogates_can_be_sent() -> None:
    call = replace(call_to(""), messages=({"role": "user", "content": "\ud83d"},))
    assert json.loads(request_body(call, Features()))["messages"][0]["content"] == "\ud83d"


# Answers


def test_a_whole_answer() -> None:
    answer = read_whole(json.dumps(completion("Good day", "stop")).encode())
    expected = ChatAnswer("Good day", usage=Usage(input_tokens=11, output_tokens=7), model="m-2026")
    assert answer == expected


@given(st.text(), st.lists(st.integers(1, 50), max_size=40))
def test_a_stream_says_the_same_however_its_bytes_are_cut(text: str, cuts: list[int]) -> None:
    data = b"".join(events_of(text.replace(" ", "\u3000")))
    pieces, at = [], 0
    for each in cuts:
        pieces.append(data[at : at + each])
        at += each
    answer = streamed(*pieces, data[at:])
    assert answer.text == clean(text.replace(" ", "\u3000"))
    assert answer.usage == Usage(input_tokens=11, output_tokens=7)


def test_forms_of_events() -> None:
    said = [json.dumps(chunk({"content": word})) for word in ("one", "two", "three")]
    last = json.dumps(chunk({"content": "!"}, "stop"))
    text = (
        f": comment\r\n\r\nevent: message\r\nid: 7\r\ndata: {said[0]}\r\n\r\n"
        f"data:{said[1]}\n\n\n\nretry: 5\n\ndata: {said[2]}\ndata: {last}"
    )
    assert streamed(text.encode()).text == "onetwothree!"


def test_an_event_of_several_lines() -> None:
    lines = json.dumps(chunk({"content": "one"}, "stop"), indent=1).splitlines()
    assert streamed("".join(f"data: {each}\n" for each in lines).encode() + b"\n").text == "one"


def test_what_comes_after_done_is_not_read() -> None:
    late = event(chunk({"content": "more"}))
    assert streamed(*events_of("whole"), late).text == "whole"


def test_done_without_a_finish_reason_is_an_end() -> None:
    assert streamed(event(chunk({"content": "a"})), event("[DONE]")).text == "a"


@pytest.mark.parametrize(
    "pieces",
    [[], [event("[DONE]")], [event(chunk({"content": "a"}))], [b": ping\n\n"], [event("[1]")]],
)
def test_a_stream_that_is_cut_off_is_no_answer(pieces: list[bytes]) -> None:
    with pytest.raises(Unreadable):
        streamed(*pieces)


def test_halves_of_one_character_in_two_chunks() -> None:
    first, second = (
        '{"choices":[{"delta":{"content":"\\ud83d"}}]}',
        ('{"choices":[{"delta":{"content":"\\ude00"},"finish_reason":"stop"}]}'),
    )
    assert streamed(event(first), event(second)).text == "😀"
    assert streamed(event(first), event(chunk({}, "stop"))).text == "\ufffd"


def test_control_characters_are_taken_out_where_text_enters() -> None:
    assert answer_of(completion("a\x1b[31mb\r\nc")).text == "ab\nc"


def test_thinking_is_not_said() -> None:
    message = completion("yes", reasoning_content="hm", reasoning="hm")
    assert answer_of(message).text == "yes"


def test_content_in_parts() -> None:
    parts: Any = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    assert answer_of(completion(parts)).text == "ab"


def test_other_choices_than_the_first_are_not_mixed_in() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]}
    pieces = [chunk({"content": "yes"}), other, chunk({}, "stop")]
    assert streamed(*map(event, pieces)).text == "yes"


# Tool calls


def piece(text: str, **call: Any) -> dict[str, Any]:
    """A piece of a tool call in a stream."""
    function = {"arguments": text} | ({"name": call.pop("name")} if "name" in call else {})
    return chunk({"tool_calls": [{**call, "function": function}]})


def calls_in(*pieces: dict[str, Any]) -> tuple[ModelToolCall, ...]:
    return streamed(*map(event, [*pieces, chunk({}, "tool_calls")])).tool_calls


ONE = ModelToolCall("c1", "find", '{"a": 1}')
TWO = ModelToolCall("c2", "pay", '{"b": 2}')


@pytest.mark.parametrize(
    "pieces",
    [
        [
            piece("", index=0, id="c1", name="find"),
            piece('{"a"', index=0),
            piece("", index=1, id="c2", name="pay"),
            piece(": 1}", index=0, id=""),
            piece('{"b": 2}', index=1),
        ],
        # All under index 0, told apart by their ids.
        [
            piece('{"a": 1}', index=0, id="c1", name="find"),
            piece('{"b": 2}', index=0, id="c2", name="pay"),
        ],
        # No index at all.
        [
            piece('{"a": ', id="c1", name="find"),
            piece("1}"),
            piece('{"b": 2}', id="c2", name="pay"),
        ],
        # The id in every piece.
        [
            piece('{"a": ', index=0, id="c1", name="find"),
            piece("1}", index=0, id="c1"),
            piece('{"b": 2}', index=1, id="c2", name="pay"),
        ],
    ],
    ids=["by index", "by id", "no index", "repeated id"],
)
def test_tool_calls_are_put_together(pieces: list[dict[str, Any]]) -> None:
    assert calls_in(*pieces) == (ONE, TWO)


def test_arguments_that_are_no_text_or_no_json() -> None:
    assert calls_in(piece({"a": 1}, index=0, id="c1", name="find")) == (ONE,)  # type: ignore[arg-type]
    assert calls_in(piece('{"a": ', index=0, id="c1", name="x"))[0].arguments == '{"a": '


def test_calls_of_a_whole_answer_and_the_old_form() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}]
    found = answer_of(completion(None, "tool_calls", tool_calls=calls)).tool_calls
    assert found == (ModelToolCall("c1", "find", "{}"),)
    old = answer_of(completion(None, function_call={"name": "find", "arguments": "{}"}))
    assert old.tool_calls == (ModelToolCall("", "find", "{}"),)


# Usage


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({}, Usage()),
        ({"prompt_tokens": 3}, Usage(input_tokens=3)),
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4},
            Usage(9, 4, 2),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 0,
                "prompt_tokens_details": {"cached_tokens": 0},
            },
            Usage(9, 0, 0),
        ),
        ({"prompt_tokens": -1, "completion_tokens": "7"}, Usage()),
        ({"prompt_tokens": True, "completion_tokens": float("nan")}, Usage()),
        ({"prompt_tokens": 3.0, "prompt_tokens_details": None}, Usage(3)),
    ],
)
def test_usage_is_what_is_said_and_unknown_else(
    usage: dict[str, Any] | None, expected: Usage
) -> None:
    assert usage_of(usage) == expected


# Garbage

KEYS = (
    *("choices", "message", "delta", "content", "tool_calls", "index", "function", "id"),
    *("usage", "error", "finish_reason", "arguments", "prompt_tokens", "code"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(JSON)
def test_no_json_breaks_the_reader(body: object) -> None:
    for read in (
        lambda: answer_of(body),
        lambda: streamed(event(json.dumps(body)), event("[DONE]")),
    ):
        try:
            answer = read()
        except Unreadable:
            continue
        assert isinstance(answer.text, str)
    status, code, text = error_of(body)
    assert (status is None or 400 <= status < 600) and isinstance(code, str) and len(text) < 210


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    for read in (
        read_whole,
        streamed,
        lambda data: streamed(b"data:" + data),
    ):
        with pytest.raises(Unreadable):
            read(data)
    assert looks_like_events(data) in (True, False)


def test_what_a_body_is_is_said() -> None:
    said = {
        b"": "the answer is empty",
        b"<html>\n<h1>Bad\x1b[31m</h1>": "HTML instead of JSON: '<html> <h1>Bad</h1>'",
        b"nope": "the answer is not JSON: 'nope'",
        b"[1]": "not a chat completion but '[1]'",
        b'{"choices": []}': "choices is empty in the answer",
        b'{"hello": 1}': "no choices in the answer; it has hello",
        b'{"error": {"message": "busy", "code": 503}}': "an error instead of an answer: busy",
        b"[" * 100_000: "the answer is not JSON",
    }
    for data, text in said.items():
        with pytest.raises(Unreadable) as caught:
            read_whole(data)
        assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"error": {"message": "no", "code": "model_not_found"}}, (None, "model_not_found", "no")),
        ({"error": {"message": "no", "code": 429, "type": "rate"}}, (429, "rate", "no")),
        ({"error": "plain"}, (None, "", "plain")),
        ({"detail": "missing"}, (None, "", "missing")),
        ({"object": "error", "message": "no", "code": 404}, (404, "", "no")),
        ("text", (None, "", "text")),
        ([], (None, "", "[]")),
    ],
)
def test_errors_in_whatever_shape(body: object, expected: tuple[int | None, str, str]) -> None:
    assert error_of(body) == expected
