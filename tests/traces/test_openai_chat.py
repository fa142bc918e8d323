from pathlib import Path

import pytest

from pytest_dialeval.records.transcript import Artifact, ToolCall, Turn
from pytest_dialeval.traces.importers.openai_chat import read_openai
from tests.traces.asking import content, refused

PATH = Path("calls/monday.json")


def user(text, **more):
    return {"role": "user", "content": text, **more}


def agent(text, **more):
    return {"role": "assistant", "content": text, **more}


def call(name, arguments, identity="c1"):
    function = {"name": name, "arguments": arguments}
    return {"id": identity, "type": "function", "function": function}


def read(value):
    return read_openai(content(value), PATH).recordings


def turns(*messages):
    return read(list(messages))[0].transcript.turns


def refusal(value):
    return refused(read_openai, value, PATH)


def test_turns_are_the_messages_of_agent_and_user():
    read_turns = turns(
        {"role": "system", "content": "Be kind."},
        {"role": "developer", "content": "Be brief."},
        agent("Hello!"),
        user("A refund?"),
        agent("Yes."),
        agent("Anything else?"),
        user("No."),
    )
    assert read_turns == (
        Turn(1, "agent", "Hello!", 0),
        Turn(2, "user", "A refund?", 1),
        Turn(3, "agent", "Yes.", 1),
        Turn(4, "agent", "Anything else?", 1),
        Turn(5, "user", "No.", 2),
    )


def test_results_go_to_the_calls_that_they_answer():
    read_turns = turns(
        user("Two orders"),
        agent(None, tool_calls=[call("look", '{"id": 1}', "a"), call("look", '{"id": 2}', "b")]),
        {"role": "tool", "tool_call_id": "b", "content": "second"},
        {"role": "tool", "tool_call_id": "a", "content": ""},
        agent("Both", tool_calls=[call("close", "", "c")]),
    )
    assert read_turns[1] == Turn(
        2,
        "agent",
        "",
        1,
        tool_calls=(
            ToolCall("look", {"id": 1}, "a", ""),
            ToolCall("look", {"id": 2}, "b", "second"),
        ),
    )
    assert read_turns[2].tool_calls == (ToolCall("close", None, "c", None),)


def test_without_ids_results_come_by_name_and_order():
    def bare(name):
        return {"function": {"name": name, "arguments": "{}"}}

    read_turns = turns(
        agent("", tool_calls=[bare("a"), bare("b"), bare("a")]),
        {"role": "tool", "name": "b", "content": "1"},
        {"role": "tool", "content": "2"},
        {"role": "tool", "tool_call_id": "made-up", "content": "3"},
    )
    assert [each.result for each in read_turns[0].tool_calls] == ["2", "1", "3"]


def test_an_id_that_is_used_again_means_the_latest_message():
    read_turns = turns(
        agent(None, tool_calls=[call("a", "{}", "0"), call("b", "{}", "1")]),
        {"role": "tool", "tool_call_id": "0", "content": "x"},
        agent(None, tool_calls=[call("c", "{}", "1")]),
        {"role": "tool", "tool_call_id": "1", "content": "y"},
    )
    assert [each.result for turn in read_turns for each in turn.tool_calls] == ["x", None, "y"]


def test_the_legacy_function_call():
    read_turns = turns(
        agent(None, function_call={"name": "look", "arguments": '{"id": 7}'}),
        {"role": "function", "name": "look", "content": "found"},
    )
    assert read_turns[0].tool_calls == (ToolCall("look", {"id": 7}, "", "found"),)


def test_a_custom_tool_takes_text():
    custom = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    assert turns(agent(None, tool_calls=[custom]))[0].tool_calls == (
        ToolCall("sql", "select 1", "c"),
    )


@pytest.mark.parametrize(
    ("given", "read_as"),
    [
        ('{"a": [1]}', {"a": [1]}),
        ("{a: 1}", "{a: 1}"),
        ("", None),
        ("null", None),
        ({"a": 1}, {"a": 1}),
        ('{"a": NaN}', {"a": None}),
        ('{"order": 123456789012345678901}', {"order": 123456789012345678901}),
        ('{"a": "\\u0007x"}', {"a": "x"}),
        ("[" * 5000, "[" * 5000),
    ],
)
def test_arguments_that_are_no_json_stay_raw(given, read_as):
    assert turns(agent(None, tool_calls=[call("t", given)]))[0].tool_calls[0].arguments == read_as


def test_content_in_parts():
    read_turns = turns(
        user(
            [
                {"type": "text", "text": "See"},
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                {"type": "text", "text": "this"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ]
        ),
        agent([{"type": "refusal", "refusal": "I cannot."}]),
        agent(None, refusal="No."),
        agent(None, audio={"id": "x", "transcript": "Spoken."}),
        agent([]),
    )
    assert [each.text for each in read_turns] == ["See\nthis", "I cannot.", "No.", "Spoken.", ""]
    assert read_turns[0].artifacts == (
        Artifact("image_url", "https://example.org/a.png", "image_url"),
        Artifact("image_url", "", "image_url"),
    )


def test_results_that_are_no_text():
    read_turns = turns(
        agent(None, tool_calls=[call("t", "{}", each) for each in "abc"]),
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "parts"}]},
        {"role": "tool", "tool_call_id": "b", "content": {"found": True}},
        {"role": "tool", "tool_call_id": "c", "content": None},
    )
    assert [each.result for each in read_turns[0].tool_calls] == ["parts", '{"found":true}', ""]


def test_text_is_cleaned_once_where_it_enters():
    assert turns(user("a\r\nb\x00\x1b[1m"))[0].text == "a\nb"
    assert turns(user("x"), agent("\ud83d"))[1].text == "\ufffd"


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ([user("a")], ["monday"]),
        ({"messages": [user("a")]}, ["monday"]),
        ([[user("a")], [user("b")]], ["monday-1", "monday-2"]),
        ([{"messages": [user("a")]}, {"messages": [user("b")]}], ["monday-1", "monday-2"]),
        ([{"task_id": "x", "messages": [user("a")]}], ["x"]),
        ([{"metadata": {"task_id": 7}, "messages": [user("a")]}], ["7"]),
        (b'{"role":"user","content":"a"}', ["monday"]),
        (b'{"role":"user","content":"a"}\n{"role":"assistant","content":"b"}', ["monday"]),
        (
            b'[{"role":"assistant","content":null}]\n[{"role":"user","content":""}]',
            ["monday-1", "monday-2"],
        ),
        (b'{"messages":[{"role":"user","content":"a"}],"task_id":"x"}\n' * 2, ["x", "x"]),
        (b'[[{"role":"user","content":"a"}]]', ["monday"]),
    ],
)
def test_the_shapes_of_a_file(value, names):
    recordings = read(value)
    assert [each.task_id for each in recordings] == names
    assert [each.index for each in recordings] == list(range(len(names)))
    assert all(each.transcript.turns for each in recordings)


def test_what_stands_beside_the_messages_is_recorded():
    recording = read(
        {
            "messages": [user("a")],
            "task_id": "refund",
            "trial": 3,
            "model": "gpt-x",
            "reward": 0.5,
            "tools": [{"type": "function"}],
            "metadata": {"reward": 0.1, "solved": True, "note": "n" * 500, "seed": 4},
        }
    )[0]
    assert (recording.task_id, recording.trial, recording.agent) == ("refund", 3, "gpt-x")
    assert recording.transcript.recorded == {
        "reward": 0.5,
        "solved": True,
        "seed": 4,
        "model": "gpt-x",
    }
    assert recording.transcript.outcome == "completed"
    assert recording.path == str(PATH)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([user("a"), {"role": "bot", "content": "b"}], ": message 1: has role 'bot'; roles are"),
        ([user("a"), {"from": "human"}], ": message 1: has no role, only 'from'"),
        ([user("a"), "b"], ": message 1: is 'b'; a message is an object"),
        (
            [agent("a"), {"role": "user", "text": "b"}],
            ": message 1: has no 'content', only 'role', 'text'; give what was said",
        ),
        ([user(None)], ": message 0: has null for 'content'; give what was said"),
        (
            [{"role": "assistant", "tool_calls": []}],
            ": message 0: has no 'content', only 'role', 'tool_calls'; give what was said",
        ),
        ([user(5)], ": message 0: 'content' is 5; it must be text, null or parts"),
        ([user([{"type": "tool_use"}])], ": message 0: has a part of type 'tool_use'"),
        ([user([{"type": ["text"]}])], ": message 0: has a part of type ''"),
        (
            [user("a"), {"role": "tool", "tool_call_id": "z", "content": "r"}],
            ": message 1: is the result of call 'z', but no message before it makes that call",
        ),
        (
            [
                agent(None, tool_calls=[call("t", "{}", "z")]),
                {"role": "tool", "tool_call_id": "z", "content": "1"},
                {"role": "tool", "tool_call_id": "z", "content": "2"},
            ],
            ": message 2: is the result of call 'z', but no message before it makes that call "
            "(or it is answered already)",
        ),
        ([agent("", tool_calls={"a": 1})], ": message 0: 'tool_calls' is an object"),
        ([agent("", tool_calls=["t"])], ": message 0: a tool call is 't'"),
        ([agent("", tool_calls=[{"id": "1"}])], ": message 0: a tool call has no name"),
        ([[user("a")], []], ": conversation 1: has no messages"),
        ([{"messages": "hello"}], ": conversation 0: the messages are 'hello'"),
        ([{"messages": [user("a")]}, 5], ": conversation 1: is 5; a conversation is"),
        ([{"messages": [user("a")], "trial": "1"}], ": conversation 0: 'trial' is '1'"),
        ({"question": "?", "answer": "!"}, ": message 0: has no role, only 'question', 'answer'"),
        (5, ":1: is 5; a conversation is a list of messages"),
        (
            [{"task_id": "a", "messages": [user("a")]}, {"messages": [user("b")]}],
            ": 1 of 2 conversations have no usable task_id (text or a whole number): "
            "conversation 1; trials of",
        ),
        (
            [{"task_id": "a", "trial": 0, "messages": [user("a")]}] * 2,
            ": conversation 1: is trial 0 of task 'a', and so is",
        ),
        (b'{"messages":[{"role":"user"}]}\n{"messages":[{"ro', ":2: the file is cut off"),
    ],
)
def test_what_cannot_be_read_rightly_is_refused_by_place(value, said):
    assert refusal(value).startswith(said)


def test_trials_without_numbers_are_counted_by_their_place():
    recordings = read([{"task_id": "a", "messages": [user("a")]}] * 3)
    assert [(each.task_id, each.trial, each.index) for each in recordings] == [
        ("a", None, 0),
        ("a", None, 1),
        ("a", None, 2),
    ]
