"""Chat messages -> turns; results of tools go to the calls that they answer.

OpenAI's messages, tau-bench's and tau2's differ little enough to be read by one reader: what a
format lacks is simply absent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.text import clean, clean_value
from pytest_dialeval.records.transcript import Artifact, Speaker, ToolCall, Turn, Usage
from pytest_dialeval.traces.codec import shown
from pytest_dialeval.traces.importers.content import (
    arguments,
    read_content,
    refuse_contentless,
    result_text,
    words,
)
from pytest_dialeval.traces.importers.stop_token import split_stop_token
from pytest_dialeval.traces.place import located

_SPEAKERS: dict[str, Speaker] = {"assistant": "agent", "user": "user"}
_UNSAID = ("system", "developer")  # instructions: nobody said them to anybody
_RESULTS = ("tool", "function")


@dataclass(slots=True, eq=False)
class _Call:
    speaker: Speaker
    name: str
    arguments: object
    id: str
    message: int  # which of the messages made it
    result: str | None = None
    error: bool = False

    def tool_call(self) -> ToolCall:
        return ToolCall(self.name, self.arguments, self.id, self.result, self.error)


@dataclass(slots=True)
class _Message:
    speaker: Speaker
    text: str
    calls: tuple[_Call, ...]
    artifacts: tuple[Artifact, ...]
    latency: float | None
    usage: Usage | None


@dataclass(slots=True)
class Chat:
    """Reads one conversation's messages in their order."""

    stop_tokens: bool = False  # take tau's marker off the end of a user's text
    strict: bool = False  # refuse a message that neither says nor does anything
    stopped: str | None = None  # the last one taken off
    last_role: str = ""
    _messages: list[_Message] = field(default_factory=list)
    _unanswered: list[_Call] = field(default_factory=list)

    def read(self, messages: Any) -> None:
        """All messages; TranscriptError names the one that is wrong."""
        if not isinstance(messages, list):
            raise TranscriptError(f"the messages are {shown(messages)}; they must be a list")
        for place, message in enumerate(messages):
            with located(f"message {place}"):
                self.read_message(message)

    def read_message(self, message: Any) -> None:
        """One message."""
        if not isinstance(message, dict):
            raise TranscriptError(f"is {shown(message)}; a message is an object with a role")
        role = words(message, "role")
        if role in _RESULTS:
            self._answer(message)
        elif role in _SPEAKERS:
            self._say(_SPEAKERS[role], message)
        elif role not in _UNSAID:
            roles = ", ".join((*_SPEAKERS, *_RESULTS, *_UNSAID))
            found = f"role {role!r}" if role else f"no role, only {', '.join(map(repr, message))}"
            raise TranscriptError(f"has {found}; roles are {roles}")
        self.last_role = role

    def turns(self) -> tuple[Turn, ...]:
        """What was said and done: a turn for each message of agent and user."""
        turns: list[Turn] = []
        spoken = 0
        for number, each in enumerate(self._messages, 1):
            spoken += each.speaker == "user"
            turns.append(
                Turn(
                    id=number,
                    speaker=each.speaker,
                    text=each.text,
                    round=spoken,
                    tool_calls=tuple(call.tool_call() for call in each.calls),
                    artifacts=each.artifacts,
                    latency=each.latency,
                    usage=each.usage,
                )
            )
        return tuple(turns)

    def last_call(self) -> str:
        """The name of the last tool that was called by the last speaker, if any."""
        calls = self._messages[-1].calls if self._messages else ()
        return calls[-1].name if calls else ""

    def drop_last_text(self, text: str) -> bool:
        """Empty the last message if this is all that it says (an agent's stop token)."""
        if not self._messages or self._messages[-1].text.strip() != text:
            return False
        self._messages[-1].text = ""
        return True

    def _say(self, speaker: Speaker, message: dict[str, Any]) -> None:
        if self.strict:
            refuse_contentless(message, speaker)
        text, artifacts = read_content(message)
        if self.stop_tokens and speaker == "user":
            text, token = split_stop_token(text)
            self.stopped = token or self.stopped
        calls = tuple(_calls(message, speaker, len(self._messages)))
        self._unanswered += calls
        self._messages.append(
            _Message(
                speaker=speaker,
                text=text,
                calls=calls,
                artifacts=artifacts,
                latency=_number(message, "generation_time_seconds"),
                usage=_usage(message),
            )
        )

    def _answer(self, message: dict[str, Any]) -> None:
        identity = words(message, "tool_call_id") or words(message, "id")
        name = words(message, "name")
        call = self._find(identity, name, message.get("requestor"))
        call.result = result_text(message.get("content"))
        call.error = message.get("error") is True
        self._unanswered.remove(call)

    def _find(self, identity: str, name: str, requestor: object) -> _Call:
        """The call by its id; where ids are not given, the first open one of that name."""
        speaker = _SPEAKERS.get(str(requestor))
        calls = [each for each in self._unanswered if speaker in (None, each.speaker)]
        named = [each for each in calls if each.id == identity]
        if identity and named:
            # Small models use an id again: what is answered is the latest message.
            return max(named, key=lambda each: each.message)
        if identity:
            calls = [each for each in calls if not each.id]
        matching = [each for each in calls if name in ("", each.name)]
        if matching or (calls and not identity):
            return (matching or calls)[0]
        raise TranscriptError(
            f"is the result of call {identity or name!r}, but no message before it makes that call "
            "(or it is answered already); give the conversation whole and in order"
        )


def _calls(message: dict[str, Any], speaker: Speaker, number: int) -> list[_Call]:
    raw = message.get("tool_calls") or []
    if not isinstance(raw, list):
        raise TranscriptError(f"'tool_calls' is {shown(raw)}; it must be a list")
    if legacy := message.get("function_call"):
        raw = [*raw, {"function": legacy}]
    return [_call(each, speaker, number) for each in raw]


def _call(raw: Any, speaker: Speaker, number: int) -> _Call:
    if not isinstance(raw, dict):
        raise TranscriptError(f"a tool call is {shown(raw)}; it must be an object")
    inner = raw.get("function") or raw.get("custom") or raw
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        raise TranscriptError(f"a tool call has no name: {shown(raw)}")
    given = inner.get("arguments", inner.get("input"))
    return _Call(
        speaker=speaker,
        name=clean(inner["name"]),
        arguments=clean_value(arguments(given)),
        id=words(raw, "id"),
        message=number,
    )


def _usage(message: dict[str, Any]) -> Usage | None:
    figures = message.get("usage")
    figures = figures if isinstance(figures, dict) else {}
    # Models without a known price are booked as 0 there: that is unknown, not free.
    cost = _number(message, "cost") or None
    tokens = (_count(figures, "prompt_tokens"), _count(figures, "completion_tokens"))
    if cost is None and tokens == (None, None):
        return None
    return Usage(input_tokens=tokens[0], output_tokens=tokens[1], cost_usd=cost)


def _count(figures: dict[str, Any], name: str) -> int | None:
    value = figures.get(name)
    return value if type(value) is int else None


def _number(message: dict[str, Any], name: str) -> float | None:
    value = message.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
