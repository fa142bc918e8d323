"""What a simulated user of Harbor and the agent said to each other: the export of the ACP bridge.

The agent's side of such a trial is no ATIF file; `agent/bridge-trajectory.json` is acpx's session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.text import clean, clean_value
from pytest_dialeval.records.transcript import ToolCall
from pytest_dialeval.traces.codec import shown
from pytest_dialeval.traces.importers.atif import Step
from pytest_dialeval.traces.importers.content import words
from pytest_dialeval.traces.importers.harbor_result import obj


def read_bridge(document: Any) -> tuple[Step, ...]:
    """A step for each message of the user and for each answer of the agent."""
    messages = _messages(obj(document))
    if messages is None:
        raise TranscriptError(f"is {shown(document)}; a bridge's export has session.state.messages")
    steps = tuple(_steps(messages))
    if not steps:
        raise TranscriptError("holds no message; nobody spoke through the bridge")
    return steps


def _messages(document: Mapping[str, Any]) -> list[Any] | None:
    session = obj(document.get("session"))
    for holder in (obj(session.get("state")), session, document):
        if isinstance(found := holder.get("messages"), list):
            return found
    return None


def _steps(messages: list[Any]) -> Iterator[Step]:
    for each in messages:  # "Resume" stands between them as a plain text
        message = obj(each)
        if isinstance(message.get("User"), dict):
            yield Step("user", _text(message["User"].get("content")))
        elif isinstance(message.get("Agent"), dict):
            yield _answer(message["Agent"])


def _answer(agent: Mapping[str, Any]) -> Step:
    content = agent.get("content")
    uses = [obj(obj(each).get("ToolUse")) for each in content] if isinstance(content, list) else []
    results = obj(agent.get("tool_results"))
    return Step("agent", _text(content), tuple(_call(each, results) for each in uses if each))


def _call(use: Mapping[str, Any], results: Mapping[str, Any]) -> ToolCall:
    identity = words(use, "id")
    result = results.get(identity)
    given = use["input"] if "input" in use else use.get("raw_input")
    return ToolCall(
        name=words(use, "name") or "unnamed",
        arguments=clean_value(given),
        id=identity,
        result=_text(obj(result).get("content")) if isinstance(result, dict) else None,
        error=obj(result).get("is_error") is True,
    )


def _text(content: Any) -> str:
    """The words of `{Text: ...}`, alone or in a list; thoughts and pictures are not said."""
    parts = content if isinstance(content, list) else [content]
    found = (each if isinstance(each, str) else obj(each).get("Text") for each in parts)
    return clean("\n".join(each for each in found if isinstance(each, str)))
