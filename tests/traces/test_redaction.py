"""No secret's value gets past the writer, however it is written."""

from __future__ import annotations

import base64
import json
from datetime import date
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.records.transcript import Artifact, ToolCall, Turn
from pytest_dialeval.traces.json_bytes import to_json
from pytest_dialeval.traces.reader import read_trace
from pytest_dialeval.traces.redaction import Redaction
from pytest_dialeval.traces.writer import TraceWriter

KEY = "sk-0123456789abcdef"
ODD = 'p@ss "word"/\\ü+1'
HIDDEN = "[redacted OPENAI_API_KEY]"
SECRETS = Redaction({"OPENAI_API_KEY": KEY, "DB_PASSWORD": ODD})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (KEY, HIDDEN),
        (f"a {KEY}b {KEY}", "a [redacted OPENAI_API_KEY]b [redacted OPENAI_API_KEY]"),
        (f"Bearer {KEY}", "Bearer [redacted OPENAI_API_KEY]"),
        (f"it is {ODD}!", "it is [redacted DB_PASSWORD]!"),
        (f"?p={quote(ODD, safe='')}", "?p=[redacted DB_PASSWORD]"),
        (base64.b64encode(KEY.encode()).decode(), "[redacted OPENAI_API_KEY]=="),
        (KEY[:-1], KEY[:-1]),
        (KEY.upper(), KEY.upper()),
        ("Authorization: Bearer abcdefgh.ijk", "Authorization: Bearer [redacted Authorization]"),
        (
            "{'authorization': 'Basic dXNlcjpwYXNz', 'x': 1}",
            "{'authorization': 'Basic [redacted Authorization]', 'x': 1}",
        ),
        ("authorization of bearer bonds", "authorization of bearer bonds"),
        ("Authorization is needed", "Authorization is needed"),
        ("", ""),
    ],
)
def test_what_is_hidden(text: str, shown: str) -> None:
    assert SECRETS.text(text) == shown
    assert SECRETS.text(shown) == shown


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "DASHSCOPE_APIKEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "TOKEN"),
        *("my_secret", "SMTP_PASSWORD", "AUTHORIZATION", "PROXY_AUTHORIZATION", "GATEWAY_CRED"),
    ],
)
def test_names_that_hold_secrets(name: str) -> None:
    redaction = Redaction.from_environment({name: KEY, "HOME": "/home/me"}, ["GATEWAY_CRED"])
    assert redaction.text(f"{KEY} /home/me") == f"[redacted {name}] /home/me"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("HOME", KEY), ("KEYBOARD", KEY), ("MONKEY", KEY), ("MAX_TOKENS", KEY)),
        *(("TOKENIZER", KEY), ("TOKEN_PATH", KEY), ("OPENAI_API_KEY", "EMPTY")),
        *(("MAX_TOKEN", "1024"), ("OPENAI_API_KEY", ""), ("OPENAI_API_KEY", " short  ")),
    ],
)
def test_values_that_are_none(name: str, value: str) -> None:
    text = f"the value {value} stays"
    assert Redaction.from_environment({name: value}).text(text) == text


def test_a_secret_that_begins_like_another() -> None:
    both = Redaction({"A_KEY": "abcdefgh", "B_KEY": "abcdefghijkl"})
    assert both.text("abcdefghijkl abcdefgh") == "[redacted B_KEY] [redacted A_KEY]"


def test_one_value_under_two_names_has_the_first() -> None:
    assert Redaction({"B": KEY, "A": KEY}).text(KEY) == "[redacted A]"


def test_a_header_is_hidden_without_its_scheme() -> None:
    redaction = Redaction({"PROXY_AUTHORIZATION": f"Bearer {KEY}"})
    assert redaction.text(f"token={KEY}") == "token=[redacted PROXY_AUTHORIZATION]"


class Holder:
    def __str__(self) -> str:
        return f"Holder({KEY})"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({KEY: [KEY, (KEY, 1)]}, {HIDDEN: [HIDDEN, [HIDDEN, 1]]}),
        ({1: None, "a": True, "b": 2.5}, {1: None, "a": True, "b": 2.5}),
        (10**30, 10**30),
        ({KEY}, [HIDDEN]),
        (Holder(), "Holder([redacted OPENAI_API_KEY])"),
        ({(KEY, 1): 0}, {"('[redacted OPENAI_API_KEY]', 1)": 0}),
        (ToolCall(KEY).name, HIDDEN),
        (date(2024, 1, 2), "2024-01-02"),
    ],
)
def test_values_at_any_depth(value: object, shown: object) -> None:
    assert SECRETS.value(value) == shown


def test_data_nested_without_end() -> None:
    value: object = KEY
    for _ in range(5000):
        value = [value]
    assert KEY.encode() not in to_json(SECRETS.value(value))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "a", KEY, f"x{KEY}y"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["a", KEY]), inner),
    max_leaves=20,
)


@given(json_values)
def test_no_value_keeps_a_secret_and_twice_is_once(value: object) -> None:
    once = SECRETS.value(value)
    assert KEY not in json.dumps(once)
    assert SECRETS.value(once) == once


@given(json_values)
def test_without_secrets_nothing_changes(value: object) -> None:
    assert Redaction({}).value(value) == value


def test_the_trace_writer_hides_what_the_environment_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    path = tmp_path / "t.jsonl"
    call = ToolCall("login", {"key": KEY, KEY: [ODD]}, result=f"welcome {KEY}")
    with TraceWriter(path) as trace:
        trace.start({"task": KEY})
        trace.turn(Turn(1, "agent", f"I use {KEY}", tool_calls=(call,)))
        trace.error("provider_error", f"401 for {KEY}")
        trace.log(f"sent {KEY}", headers={"Authorization": f"Bearer {KEY}"})
        trace.end("provider_error", reason=f"401 for {KEY}", recorded={"key": KEY})
    assert KEY not in path.read_text(encoding="utf-8")
    read = read_trace(path).transcript
    assert read.turns[0].text == "I use [redacted OPENAI_API_KEY]"
    assert read.reason == "401 for [redacted OPENAI_API_KEY]"


def test_the_trace_writer_takes_other_secrets(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with TraceWriter(path, redaction=SECRETS) as trace:
        trace.start({})
        trace.turn(Turn(1, "agent", ODD))
        trace.end("completed")
    assert read_trace(path).transcript.turns[0].text == "[redacted DB_PASSWORD]"


@pytest.mark.parametrize("length", [8, len(KEY) - 1])
def test_half_a_secret_before_the_dots_is_one_too(length: int) -> None:
    text = f"told {KEY[:length]}... and {KEY[:7]}... ..."
    assert SECRETS.text(text) == f"told [redacted OPENAI_API_KEY]... and {KEY[:7]}... ..."


def test_a_secret_is_known_as_json_writes_it() -> None:
    secret = 'pass"word\\with"all'
    clear = Redaction({"DB_PASSWORD": secret}).text(json.dumps({"said": secret}))
    assert json.loads(clear) == {"said": "[redacted DB_PASSWORD]"}


@pytest.mark.parametrize("depth", range(5))
def test_a_header_in_json_inside_of_json(depth: int) -> None:
    text = '{"Authorization": "Bearer abcdefghijkl.mno"}'
    for _ in range(depth):
        text = json.dumps(text)
    redaction = Redaction({})
    line = redaction.line({"result": text})
    assert line == to_json({"result": redaction.text(text)}) + b"\n"
    assert redaction.record(Artifact("a", text)) == Artifact("a", redaction.text(text))
    assert depth > 3 or b"abcdefghijkl" not in line


def in_json(text: str) -> str:
    return json.dumps({"body": text}, ensure_ascii=False)


def cut(text: str) -> str:
    return f"{text[:-3]}..."


HOLDING = [
    *(KEY, ODD, quote(ODD, safe=""), base64.b64encode(ODD.encode()).decode()),
    *("Authorization: Bearer abcdefgh.ijk", "AUTHORIZATION:\tBasic\nabcdefghijk"),
]
said = st.builds(
    lambda before, secret, within, after: before + within(secret) + after,
    st.sampled_from(["", "a\n", '"', "\\"]),
    st.sampled_from(HOLDING),
    st.sampled_from([str, in_json, cut, lambda text: cut(in_json(text))]),
    st.sampled_from(["", "z", "\n...", '"']),
)
headers = st.dictionaries(
    st.sampled_from(["Authorization", "proxy-authorization", "accept"]),
    st.sampled_from(["Bearer abcdefghijkl", "bearer short", "token of thanks"]),
)
events = st.recursive(
    said | st.integers() | headers,
    lambda inner: st.lists(inner) | st.dictionaries(said, inner) | st.tuples(inner),
    max_leaves=5,
)


@given(events)
def test_a_line_and_a_record_hide_all_that_a_value_does(event: object) -> None:
    clear = to_json(SECRETS.value(event))
    assert SECRETS.line(event) == clear + b"\n"
    assert to_json(SECRETS.record(event)) == clear


@pytest.mark.parametrize("name", ["Authorization", "authorization", "PROXY_AUTHORIZATION"])
def test_the_value_of_a_header_is_hidden_where_it_is_data(name: str) -> None:
    call = ToolCall("get", {"headers": {name: "Bearer abcdefghijkl", "accept": "Bearer token"}})
    hidden = {name: "Bearer [redacted Authorization]", "accept": "Bearer token"}
    assert SECRETS.value(call.arguments) == {"headers": hidden}
    assert SECRETS.record(call).arguments == {"headers": hidden}


def test_a_record_without_secrets_is_itself() -> None:
    turn = Turn(1, "agent", "Hello", tool_calls=(ToolCall("look", {"a": ["b"]}),))
    assert SECRETS.record(turn) is turn


def test_a_record_is_cleared_to_its_depth() -> None:
    call = ToolCall("login", {KEY: [KEY]}, result=f"welcome {KEY}")
    clear = SECRETS.record({"turns": (Turn(1, "agent", KEY, tool_calls=(call,)),), "n": 1})
    assert KEY not in repr(clear) and KEY not in str(clear["turns"][0].tool_calls)
    assert clear["n"] == 1
