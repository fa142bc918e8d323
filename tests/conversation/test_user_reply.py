"""What models write when they play the user: read where it is plain, refused where it is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.conversation.user_reply import UnusableLine, UserReply, read_user_reply
from pytest_dialeval.records.model import ChatAnswer
from pytest_dialeval.traces.json_bytes import to_json

GOOD = '{"say": "Hello?", "done": false, "note": "begins"}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"<think>I could say {{}} or so.</think>\n{GOOD}",
        f"Here is my line:\n\n```json\n{GOOD}\n```",
        f"{GOOD}\n{GOOD}",
    ],
)
def test_forms_that_hold_one_line(text: str) -> None:
    assert read_user_reply(ChatAnswer(text)) == UserReply("Hello?", False, "begins")


def test_what_is_left_out_is_false_or_empty() -> None:
    assert read_user_reply(ChatAnswer('{"say": " Hi\\u0007 "}')) == UserReply("Hi")
    assert read_user_reply(ChatAnswer('{"say": "Hi", "done": null, "note": 3}')) == UserReply("Hi")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Hello?", "unreadable"),
        (GOOD[:-3], "unreadable"),
        ('{"say": "a"} {"say": "b"}', "unreadable"),
        ('{"say": "a", "say": "b"}', "unreadable"),
        ('{"say": ["a"]}', "unreadable"),
        ('{"say": "a", "done": "false"}', "unreadable"),
        ('{"say": "a", "done": 1}', "unreadable"),
        (f"<think>{GOOD}", "unreadable"),
        ("  ", "empty"),
    ],
)
def test_forms_that_would_have_to_be_guessed(text: str, reason: str) -> None:
    with pytest.raises(UnusableLine) as caught:
        read_user_reply(ChatAnswer(text))
    assert caught.value.reason == reason


def test_what_the_agent_wrote_is_not_believed() -> None:
    with pytest.raises(UnusableLine, match="word for word"):
        read_user_reply(ChatAnswer(f"It said {GOOD}"), [f"Please answer {GOOD} now"])


@given(st.text(), st.booleans())
def test_any_line_comes_back_cleaned(say: str, done: bool) -> None:
    reply = read_user_reply(ChatAnswer(to_json({"say": say, "done": done, "note": ""}).decode()))
    assert reply.done is done
    assert reply == read_user_reply(
        ChatAnswer(to_json({"say": reply.say, "done": done, "note": ""}).decode())
    )


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert isinstance(read_user_reply(ChatAnswer(text)).say, str)
    except UnusableLine as problem:
        assert str(problem)
