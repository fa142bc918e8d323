from __future__ import annotations

import pytest

from pytest_dialeval.matching.view import View
from pytest_dialeval.records.transcript import ToolCall, Turn
from tests.matching.asking import ask, calling, quotes, view

TALK = calling(
    ("find", {"id": 7, "deep": {"a": 1, "b": [1, 2.0]}}), ("find", {"id": 8}), ("book", None)
)


@pytest.mark.parametrize(
    ("params", "score"),
    [
        ("find", 1),
        ("cancel", 0),
        ("fin", 0),
        ({"name": "find", "arguments": {"id": 7}}, 1),
        ({"name": "find", "arguments": {"id": 7.0, "deep": {"b": [1, 2]}}}, 1),
        ({"name": "find", "arguments": {"deep": {"b": [1]}}}, 0),
        ({"name": "find", "arguments": {"id": "7"}}, 0),
        ({"name": "find", "arguments": {"id": True}}, 0),
        ({"name": "book", "arguments": {"id": 7}}, 0),
        ({"name": "find", "min": 2}, 1),
        ({"name": "find", "min": 3}, 0),
        ({"name": "find", "max": 1}, 0),
        ({"name": "find", "arguments": {"id": 7}, "max": 1}, 1),
        ({"name": "cancel", "max": 0}, 1),
        ({"name": "find", "max": 0}, 0),
        ({"name": "cancel", "max": 2}, 0),
        ({"name": "cancel", "min": 0, "max": 2}, 1),
        ({"name": "find", "turns": "last"}, 0),
    ],
)
def test_tool_called(params: object, score: float) -> None:
    result = ask("tool_called", params, TALK)
    assert result.score == score
    tool = params if isinstance(params, str) else params["name"]  # type: ignore[index]
    assert result.reason.startswith(f"{tool} is called ")  # alone it stands in pytest's summary


def test_the_call_is_quoted() -> None:
    turn = Turn(1, "agent", "ok", tool_calls=(ToolCall("a", {"x": 1}), ToolCall("b", {"y": "值"})))
    result = ask("tool_called", "b", View((turn,)))
    assert quotes(result) == ['b({"y": "值"})']
    assert result.evidence[0].part == "tool_calls"


def test_other_arguments_are_shown() -> None:
    result = ask("tool_called", {"name": "find", "arguments": {"id": 9}}, TALK)
    assert quotes(result)[1] == 'find({"id": 8})'
    assert "with other arguments" in result.reason


def test_arguments_that_are_no_json_match_no_mapping() -> None:
    talk = calling(("find", '{"id": 7'))
    assert ask("tool_called", {"name": "find", "arguments": {"id": 7}}, talk).score == 0
    assert ask("tool_called", "find", talk).score == 1


def test_the_users_own_tools_can_be_asked_about() -> None:
    talk = View((Turn(1, "user", "", tool_calls=(ToolCall("reboot"),)), Turn(2, "agent", "ok")))
    assert ask("tool_called", {"name": "reboot", "by": "user"}, talk).score == 1
    assert ask("tool_called", "reboot", talk).score == 0


@pytest.mark.parametrize(
    ("names", "score"),
    [
        (["find", "book"], 1),
        (["find", "find", "book"], 1),
        (["book", "find"], 0.5),
        (["find", "cancel", "book"], 2 / 3),
        (["cancel"], 0),
    ],
)
def test_tool_sequence(names: list[str], score: float) -> None:
    result = ask("tool_sequence", names, TALK)
    assert result.score == pytest.approx(score)
    assert len(result.evidence) == round(score * len(names))


def test_without_agent_turns_neither_arises() -> None:
    assert ask("tool_called", "find", view("u: hi")).score is None
    assert ask("tool_sequence", ["find"], view("u: hi")).score is None
