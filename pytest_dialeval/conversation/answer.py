"""What an agent returned becomes a Reply: checked, and its text cleaned, once, here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from math import inf, isfinite
from typing import TypeVar

from pytest_dialeval.conversation.agent import Reply
from pytest_dialeval.conversation.fault import message_of, place_of, shown
from pytest_dialeval.errors import AgentFault, NotMeasured
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import Artifact, ToolCall, Usage
from pytest_dialeval.records.wording import did_you_mean

T = TypeVar("T")

_TEXT_MAX = 16 * 1024 * 1024
_JSON_INTEGER = 1 << 63
_ALLOWED = "an answer is a str, a Reply or a dict such as {'text': 'Hello'}"


def reply_from(value: object) -> Reply:
    """The reply that a returned value stands for; AgentFault names what is wrong with it."""
    if isinstance(value, str):
        return Reply(text=_text(value, "text"))
    if isinstance(value, Reply):
        return _reply({name: getattr(value, name) for name in _names(Reply)})
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if value is None:
        raise AgentFault(f"the agent returned None (is a `return` missing?); {_ALLOWED}")
    kind = type(value).__name__
    raise AgentFault(f"the agent returned {shown(value)}, which is of type {kind}; {_ALLOWED}")


def _from_mapping(value: Mapping[object, object]) -> Reply:
    _only(value, [*_names(Reply), "not_measured"], "answer")
    if (reason := value.get("not_measured")) is not None:
        raise NotMeasured(_text(reason, "not_measured"))
    if not value:
        raise AgentFault(f"the agent returned an empty dict; {_ALLOWED}")
    return _reply(value)


def _reply(value: Mapping[object, object]) -> Reply:
    usage = value.get("usage")
    return Reply(
        text=_text(value.get("text", ""), "text"),
        tool_calls=_each(value.get("tool_calls", ()), "tool_calls", _tool_call),
        artifacts=_each(value.get("artifacts", ()), "artifacts", _artifact),
        usage=None if usage is None else _usage(usage),
        hang_up=_truth(value.get("hang_up", False), "hang_up"),
    )


def _tool_call(value: object, place: str) -> ToolCall:
    call = _mapping(value, ToolCall, place)
    result = call.get("result")
    if result is not None and not isinstance(result, str):
        result = json.dumps(plain(result, f"{place}.result"), ensure_ascii=False)
    return ToolCall(
        name=_text(call.get("name"), f"{place}.name"),
        arguments=plain(call.get("arguments"), f"{place}.arguments"),
        id=_text(call.get("id") or "", f"{place}.id"),
        result=None if result is None else _text(result, f"{place}.result"),
        error=_truth(call.get("error", False), f"{place}.error"),
    )


def _artifact(value: object, place: str) -> Artifact:
    artifact = _mapping(value, Artifact, place)
    return Artifact(
        name=_text(artifact.get("name"), f"{place}.name"),
        text=_text(artifact.get("text"), f"{place}.text"),
        media_type=_text(artifact.get("media_type", "text/plain"), f"{place}.media_type"),
    )


def _usage(value: object) -> Usage:
    usage = _mapping(value, Usage, "usage")
    cost = _number(usage.get("cost_usd"), "usage.cost_usd")
    return Usage(
        input_tokens=_tokens(usage, "input_tokens"),
        cached_tokens=_tokens(usage, "cached_tokens"),
        output_tokens=_tokens(usage, "output_tokens"),
        cost_usd=None if cost is None else float(cost),
    )


def _tokens(usage: Mapping[object, object], name: str) -> int | None:
    count = _number(usage.get(name), f"usage.{name}")
    return None if count is None else int(count)


def _mapping(value: object, record: type, place: str) -> Mapping[object, object]:
    names = _names(record)
    if isinstance(value, record):
        return {name: getattr(value, name) for name in names}
    if not isinstance(value, Mapping):
        raise _wrong(place, value, f"a {record.__name__} or a dict of {', '.join(names)}")
    _only(value, names, place)
    return value


@cache
def _names(record: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(record))


def _only(value: Mapping[object, object], allowed: Sequence[str], place: str) -> None:
    for key in value:
        if key not in allowed:
            keys = f"{', '.join(allowed)} exist{did_you_mean(str(key), allowed)}"
            raise AgentFault(f"the agent's {place} has the key {shown(key)}; {keys}")


def _each(value: object, place: str, make: Callable[[object, str], T]) -> tuple[T, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise _wrong(place, value, "a list")
    return tuple(make(each, f"{place}[{index}]") for index, each in enumerate(value))


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise _wrong(place, value, "a str")
    if len(value) > _TEXT_MAX:
        raise AgentFault(f"the agent's {place} has {len(value)} characters; {_TEXT_MAX} are read")
    # A subclass, such as a string enum, would not survive the way to another process.
    return clean(str.__str__(value))


def _truth(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(place, value, "True or False")
    return value


def _number(value: object, place: str) -> int | float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
        raise _wrong(place, value, "a number from 0, or None where it is unknown")
    return value


def _wrong(place: str, value: object, allowed: str) -> AgentFault:
    return AgentFault(f"the agent's {place} is {shown(value)}; it must be {allowed}")


def plain(value: object, place: str) -> object:
    """The value as JSON knows it; what JSON does not know becomes its text."""
    try:
        return _plain(value)
    except RecursionError:
        raise AgentFault(f"the agent's {place} is nested too deeply, or in itself") from None
    except Exception as error:  # of objects of the agent's, or while it changes what it gave
        why = f"{type(error).__name__}: {message_of(error)}"
        raise AgentFault(f"the agent's {place} can't be read: {why}{place_of(error)}") from None


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float) and isfinite(value):
        return float(value)
    if isinstance(value, str):
        return clean(str.__str__(value))
    if isinstance(value, int) and -_JSON_INTEGER <= value < _JSON_INTEGER:
        return int(value)
    if isinstance(value, Mapping):
        return {clean(_written(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return clean(_written(value))


def _written(value: object) -> str:
    try:
        return str(value)
    except ValueError:
        if not isinstance(value, int):
            raise
        return hex(value)  # Python writes no decimal number of more than 4 300 digits
