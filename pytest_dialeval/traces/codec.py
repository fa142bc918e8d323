"""Turns and the fields of events <-> JSON-able dicts: event schema 1 (docs/reference/traces.md).

Fields at their default are left out when writing; unknown fields are passed over when reading, so
that a trace of a later version of the same schema can be read.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, cast

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.text import clean, clean_value
from pytest_dialeval.records.transcript import (
    OUTCOMES,
    Artifact,
    Outcome,
    ToolCall,
    Turn,
    Usage,
)

SCHEMA = 1
EndedBy = Literal["agent", "user", "limit", ""]
_ENDINGS = ("agent", "user", "limit", "")
_USAGE = tuple(each.name for each in fields(Usage))
_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def encode_turn(turn: Turn) -> dict[str, object]:
    """A turn as JSON-able data."""
    data: dict[str, object] = {
        "id": turn.id,
        "speaker": turn.speaker,
        "round": turn.round,
        "text": turn.text,
    }
    if turn.tool_calls:
        data["tool_calls"] = [_encode_call(each) for each in turn.tool_calls]
    if turn.artifacts:
        data["artifacts"] = [_encode_artifact(each) for each in turn.artifacts]
    for name in ("state", "probe", "noise", "latency"):
        if (value := getattr(turn, name)) is not None:
            data[name] = value
    if turn.usage is not None:
        data["usage"] = encode_usage(turn.usage)
    return data


def encode_usage(usage: Usage) -> dict[str, object]:
    """Known figures alone: what is absent is unknown."""
    return {name: value for name in _USAGE if (value := getattr(usage, name)) is not None}


def _encode_call(call: ToolCall) -> dict[str, object]:
    data: dict[str, object] = {"name": call.name}
    if call.arguments is not None:
        data["arguments"] = call.arguments
    if call.id:
        data["id"] = call.id
    if call.result is not None:
        data["result"] = call.result
    if call.error:
        data["error"] = True
    return data


def _encode_artifact(artifact: Artifact) -> dict[str, object]:
    return {"name": artifact.name, "text": artifact.text, "media_type": artifact.media_type}


def decode_turn(data: Mapping[str, Any]) -> Turn:
    """The turn that the data say, cleaned; TranscriptError names the field that is wrong."""
    number, turn_round = _required(data, "id", int), _field(data, "round", int, default=0)
    if number < 1 or turn_round < 0:
        raise TranscriptError(f"'id' counts from 1 and 'round' from 0, not {number}, {turn_round}")
    speaker = _required(data, "speaker", str)
    if speaker not in ("agent", "user"):
        raise TranscriptError(f"'speaker' is {speaker!r}; it is 'agent' or 'user'")
    calls, artifacts = data.get("tool_calls"), data.get("artifacts")
    return Turn(
        id=number,
        speaker=cast("Literal['agent', 'user']", speaker),
        text=_field(data, "text", str, default=""),
        round=turn_round,
        tool_calls=tuple(map(_decode_call, _objects(calls, "tool_calls"))) if calls else (),
        artifacts=tuple(map(_decode_artifact, _objects(artifacts, "artifacts")))
        if artifacts
        else (),
        state=_field(data, "state", str),
        probe=_field(data, "probe", str),
        noise=_field(data, "noise", str),
        latency=_field(data, "latency", float, int),
        usage=_decode_usage(data.get("usage")),
    )


def check_order(turn: Turn, place: int) -> None:
    """Refuse a turn that does not stand where its id says."""
    if turn.id != place:
        raise TranscriptError(f"turn {turn.id} stands where turn {place} belongs; ids run 1, 2, 3")


def decode_outcome(data: Mapping[str, Any]) -> Outcome:
    """The field `outcome`."""
    outcome = _required(data, "outcome", str)
    if outcome not in OUTCOMES:
        raise TranscriptError(f"'outcome' is {outcome!r}; it is one of {', '.join(OUTCOMES)}")
    return cast("Outcome", outcome)


def decode_ended_by(data: Mapping[str, Any]) -> EndedBy:
    """The field `ended_by`."""
    ended_by = _field(data, "ended_by", str, default="")
    if ended_by not in _ENDINGS:
        raise TranscriptError(f"'ended_by' is {ended_by!r}; it is agent, user, limit or ''")
    return cast("EndedBy", ended_by)


def decode_recorded(data: Mapping[str, Any]) -> Mapping[str, object]:
    """The field `recorded`: values stored with the trial."""
    recorded = data.get("recorded") or {}
    if not isinstance(recorded, dict):
        raise TranscriptError(f"'recorded' is {shown(recorded)}; it is an object of values")
    return cast("Mapping[str, object]", clean_value(recorded))


def decode_text(data: Mapping[str, Any], name: str) -> str:
    """A text field, empty where it is absent."""
    return cast("str", _field(data, name, str, default=""))


def decode_texts(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A field that is a list of texts."""
    items = data.get(name) or []
    if not isinstance(items, list) or any(not isinstance(each, str) for each in items):
        raise TranscriptError(f"{name!r} is {shown(items)}; it is a list of texts")
    return tuple(map(clean, items))


def decode_counts(data: Mapping[str, Any], name: str) -> Mapping[str, int]:
    """A field that is an object of counts."""
    counts = data.get(name) or {}
    if not isinstance(counts, dict) or any(type(each) is not int for each in counts.values()):
        raise TranscriptError(f"{name!r} is {shown(counts)}; it is an object of whole numbers")
    return {clean(key): each for key, each in counts.items()}


def shown(value: object) -> str:
    """A JSON value, for a message."""
    if value is None:
        return "null"
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} ({reprlib.repr(value)})"
    return reprlib.repr(value)


def _decode_call(data: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        name=_required(data, "name", str),
        arguments=clean_value(data.get("arguments")),
        id=_field(data, "id", str, default=""),
        result=_field(data, "result", str),
        error=_field(data, "error", bool, default=False),
    )


def _decode_artifact(data: Mapping[str, Any]) -> Artifact:
    return Artifact(
        name=_required(data, "name", str),
        text=_field(data, "text", str, default=""),
        media_type=_field(data, "media_type", str, default="text/plain"),
    )


def _decode_usage(data: object) -> Usage | None:
    if data is None:
        return None
    if not isinstance(data, dict):
        raise TranscriptError(f"'usage' is {shown(data)}; it is an object of figures")
    tokens = {name: _field(data, name, int) for name in _USAGE if name != "cost_usd"}
    return Usage(**tokens, cost_usd=_field(data, "cost_usd", float, int))


def _objects(items: object, name: str) -> list[Mapping[str, Any]]:
    if not isinstance(items, list) or any(not isinstance(each, dict) for each in items):
        raise TranscriptError(f"{name!r} is {shown(items)}; it is a list of objects")
    return items


def _required(data: Mapping[str, Any], name: str, *kinds: type) -> Any:
    value = _field(data, name, *kinds)
    if value is None:
        raise TranscriptError(f"{name!r} is missing")
    return value


def _field(data: Mapping[str, Any], name: str, *kinds: type, default: Any = None) -> Any:
    value = data.get(name)
    if value is None:
        return default
    if type(value) not in kinds:
        raise TranscriptError(f"{name!r} is {shown(value)}; it must be {_NAMES[kinds[0]]}")
    return clean(value) if type(value) is str else value
