"""No secret of a command line reaches a file."""

from __future__ import annotations

import pytest

from pytest_dialeval.runs.command_line import redacted, without_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("command:agent --api-key abc123", "command:agent --api-key ***"),
        ("command:agent --api-key=abc123 --fast", "command:agent --api-key=*** --fast"),
        ("command:agent --token 'a b c' x", "command:agent --token *** x"),
        ('command:agent -password "x y"', "command:agent -password ***"),
        ("OPENAI_API_KEY=sk-abc python agent.py", "OPENAI_API_KEY=*** python agent.py"),
        ("http://h/v1?api_key=abc&x=1", "http://h/v1?api_key=***&x=1"),
        ("https://me:pw@host/v1", "https://***@host/v1"),
        ("curl -H 'Authorization: Bearer abc.def'", "curl -H 'Authorization: Bearer ***'"),
        ("openai:sk-proj-0123456789abcdef", "openai:***"),
        ("x ghp_0123456789abcdefghij y", "x *** y"),
        ("MY_SECRET='s t' run", "MY_SECRET=*** run"),
        ("agent --apikey x --db-password y", "agent --apikey *** --db-password ***"),
    ],
)
def test_what_is_hidden(text: str, shown: str) -> None:
    assert without_secrets(text) == shown
    assert without_secrets(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "scripted",
        "python:monkey:agent",
        "python:keyword_agent.py:Agent",
        "command:agent --max-tokens 100",
        "command:agent --tokens=100 --keyword fee --monkey x",
        "command:sort --key-value",
        "a token of thanks",
        "http://host:8000/v1",
        "task-force-0123456789abcdef",
        "",
    ],
)
def test_what_is_not(text: str) -> None:
    assert without_secrets(text) == text


def test_settings_of_every_kind() -> None:
    assert redacted(["a", "b=command:x --token t"]) == ["a", "b=command:x --token ***"]
    assert redacted("SECRET=x") == "SECRET=***"
    assert [redacted(each) for each in (3, 0.5, True, None)] == [3, 0.5, True, None]
