"""Turns as failures of tests show them."""

from __future__ import annotations

import pytest

from pytest_dialeval.records.transcript import ToolCall, Turn


@pytest.mark.parametrize(
    ("text", "shown"),
    [("Hello", "'Hello'"), ("x" * 60, repr("x" * 60)), ("x" * 61, repr("x" * 57 + "..."))],
)
def test_a_turn_is_shown_short(text: str, shown: str) -> None:
    assert repr(Turn(2, "agent", text)) == f"Turn(2, 'agent', {shown})"


def test_tool_calls_are_counted() -> None:
    turn = Turn(2, "agent", tool_calls=(ToolCall("look"), ToolCall("buy")))
    assert repr(turn) == "Turn(2, 'agent', '', 2 tool calls)"
