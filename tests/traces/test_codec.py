import json

import pytest
from hypothesis import given

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.transcript import Turn, Usage
from pytest_dialeval.traces.codec import decode_turn, encode_turn
from pytest_dialeval.traces.json_bytes import from_json, to_json
from tests.traces.conversations import ANSWER, QUESTION, turn_tuples


@given(turn_tuples())
def test_every_turn_comes_back(turns):
    for turn in turns:
        assert decode_turn(from_json(to_json(encode_turn(turn)))) == turn


def test_defaults_are_left_out():
    assert encode_turn(Turn(1, "user", "Hi", 1)) == {
        "id": 1,
        "speaker": "user",
        "round": 1,
        "text": "Hi",
    }


def test_the_form_of_a_full_turn():
    assert json.loads(to_json(encode_turn(ANSWER))) == {
        "id": 3,
        "speaker": "agent",
        "round": 1,
        "text": "免费的。",
        "tool_calls": [
            {"name": "price", "arguments": {"course": "进阶课"}, "id": "c1", "result": "0"}
        ],
        "usage": {"input_tokens": 120, "output_tokens": 9, "cost_usd": 0.0004},
    }
    assert encode_turn(QUESTION)["probe"] == "price"


def test_a_result_that_is_empty_differs_from_none():
    data = {"id": 1, "speaker": "agent", "tool_calls": [{"name": "a", "result": ""}, {"name": "b"}]}
    turn = decode_turn(data)
    assert [each.result for each in turn.tool_calls] == ["", None]


def test_unknown_usage_is_not_zero():
    turn = decode_turn({"id": 1, "speaker": "agent", "usage": {"output_tokens": 3}})
    assert turn.usage == Usage(output_tokens=3)


def test_unknown_fields_are_passed_over():
    assert decode_turn({"id": 1, "speaker": "user", "mood": "sour"}) == Turn(1, "user")


def test_text_is_cleaned_where_it_enters():
    turn = decode_turn(
        {
            "id": 1,
            "speaker": "agent",
            "text": "a\x1b[31mb\r\n",
            "state": "s\x00",
            "tool_calls": [{"name": "t", "arguments": {"k\x07": ["v\x07"]}, "result": "r\x7f"}],
        }
    )
    assert (turn.text, turn.state) == ("ab\n", "s")
    assert (turn.tool_calls[0].arguments, turn.tool_calls[0].result) == ({"k": ["v"]}, "r")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": None}, "'id' is missing"),
        ({"id": "1"}, "'id' is '1'; it must be a whole number"),
        ({"id": True}, "'id' is True"),
        ({"id": 0}, "'id' counts from 1"),
        ({"round": -1}, "'round' from 0"),
        ({"speaker": "bot"}, "'speaker' is 'bot'; it is 'agent' or 'user'"),
        ({"text": ["a"]}, "'text' is a list (['a']); it must be text"),
        ({"tool_calls": {"name": "x"}}, "'tool_calls' is an object"),
        ({"tool_calls": ["x"]}, "it is a list of objects"),
        ({"tool_calls": [{"id": "x"}]}, "'name' is missing"),
        ({"tool_calls": [{"name": "x", "error": "yes"}]}, "'error' is 'yes'"),
        ({"artifacts": [{"name": 4}]}, "'name' is 4; it must be text"),
        ({"latency": "1s"}, "'latency' is '1s'; it must be a number"),
        ({"usage": 5}, "'usage' is 5; it is an object"),
        ({"usage": {"output_tokens": 1.5}}, "'output_tokens' is 1.5; it must be a whole number"),
    ],
)
def test_a_wrong_field_is_named_with_its_value(change, said):
    with pytest.raises(TranscriptError) as caught:
        decode_turn({"id": 1, "speaker": "user", **change})
    assert said in str(caught.value)
