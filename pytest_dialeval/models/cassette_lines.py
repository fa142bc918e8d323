"""The lines of a cassette: entries, and once each the messages that they share.

Every turn of a conversation sends all turns before it; stored whole, a file would grow with their
square and nobody could review it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from pytest_dialeval.models.cassette import (
    SETTINGS,
    Cassette,
    Entry,
    Part,
    Request,
    Trial,
    part_of,
)
from pytest_dialeval.records.model import ChatAnswer, ModelToolCall
from pytest_dialeval.records.transcript import Usage
from pytest_dialeval.traces.codec import encode_usage

Line = dict[str, object]
SCHEMA = 1
HEADER: Line = {"cassette": SCHEMA}
_NUMBERS = ("seconds", "first_token")
_EDITED = (
    "was edited: its text no longer fits its digest, and the reply belongs to the old text; "
    "undo the edit (replies alone may be edited), or delete the file and record anew"
)


def lines_of(cassette: Cassette) -> Iterator[Line]:
    """A whole cassette, sorted; each part stands before the first entry that names it."""
    yield HEADER
    for case, trial in sorted(cassette.again):
        yield trial_line("again", (case, trial))
    known: set[str] = set()
    for entry in sorted(cassette.entries.values(), key=_order):
        yield from entry_lines(entry, known)


def entry_lines(entry: Entry, known: set[str]) -> Iterator[Line]:
    """An entry, behind those of its parts that are not known yet."""
    request = entry.request
    for part in (*request.messages, request.tools, request.schema):
        if part is not None and part.name not in known:
            known.add(part.name)
            yield {"part": part.name, "value": part.value}
    line: Line = {"key": entry.key, "case": request.case, "trial": request.trial}
    line |= {"role": request.role, "purpose": request.purpose, **request.settings}
    line["messages"] = [each.name for each in request.messages]
    if request.tools is not None:
        line["tools"] = request.tools.name
    if request.schema is not None:
        line["schema"] = request.schema.name
    yield {**line, "answer": encode_answer(entry.answer)}


def _order(entry: Entry) -> tuple[object, ...]:
    return (*entry.request.order, entry.key)


def trial_line(word: str, trial: Trial) -> Line:
    """Something said of a trial: `again`, `restart`."""
    return {word: {"case": trial[0], "trial": trial[1]}}


def trial_of(value: Any) -> Trial:
    """The trial that such a line names."""
    return _of(value, "case", str), _of(value, "trial", int)


def entry_of(line: Mapping[str, Any], parts: Mapping[str, Part]) -> Entry:
    """The entry that a line says; ValueError where it does not hold together."""
    request = Request(
        case=_of(line, "case", str),
        trial=_of(line, "trial", int),
        role=_of(line, "role", str),
        purpose=_of(line, "purpose", str),
        settings={name: line[name] for name in SETTINGS if name in line},
        messages=tuple(_part(each, parts) for each in _of(line, "messages", list)),
        tools=_part(line["tools"], parts) if "tools" in line else None,
        schema=_part(line["schema"], parts) if "schema" in line else None,
    )
    if request.key != line["key"]:
        raise ValueError(_EDITED)
    return Entry(request.key, request, decode_answer(_of(line, "answer", dict)))


def encode_answer(answer: ChatAnswer) -> Line:
    """A reply as JSON-able data, without what is at its default."""
    data: Line = {}
    for each in fields(answer):
        value = getattr(answer, each.name)
        if value != each.default and each.name not in ("tool_calls", "usage"):
            data[each.name] = round(value, 4) if each.name in _NUMBERS else value
    if answer.tool_calls:
        data["tool_calls"] = [
            {"id": each.id, "name": each.name, "arguments": each.arguments}
            for each in answer.tool_calls
        ]
    if usage := encode_usage(answer.usage):
        data["usage"] = usage
    return data


def decode_answer(data: Mapping[str, Any]) -> ChatAnswer:
    """The reply that the data say; ValueError names the field that is wrong."""
    usage = _of(data, "usage", dict, default={})
    return ChatAnswer(
        text=_of(data, "text", str),
        tool_calls=tuple(map(_decode_call, _of(data, "tool_calls", list, default=[]))),
        finish=_of(data, "finish", str, default="stop"),
        refusal=_of(data, "refusal", str, default=None),
        usage=Usage(**{each.name: _number(usage, each.name) for each in fields(Usage)}),
        model=_of(data, "model", str, default=""),
        seconds=_number(data, "seconds"),
        first_token=_number(data, "first_token"),
        tries=_of(data, "tries", int, default=1),
    )


def _decode_call(data: Any) -> ModelToolCall:
    return ModelToolCall(
        id=_of(data, "id", str), name=_of(data, "name", str), arguments=_of(data, "arguments", str)
    )


def _part(name: object, parts: Mapping[str, Part]) -> Part:
    if not isinstance(name, str) or name not in parts:
        raise ValueError(f"names the part {name!r}, which the file does not have")
    return parts[name]


def _number(data: Mapping[str, Any], name: str) -> Any:
    value = data.get(name)
    if value is not None and type(value) not in (int, float):
        raise ValueError(f"{name!r} is {value!r}; it must be a number")
    return value


_REQUIRED: Any = object()
_NAMES = {str: "text", int: "a whole number", list: "a list", dict: "an object"}


def _of(data: Any, name: str, kind: type, *, default: Any = _REQUIRED) -> Any:
    if not isinstance(data, dict):
        raise ValueError(f"{data!r} stands where an object with {name!r} belongs")
    value = data.get(name, default)
    if value is _REQUIRED:
        raise ValueError(f"{name!r} is missing")
    if value is not default and type(value) is not kind:
        raise ValueError(f"{name!r} is {value!r}; it must be {_NAMES[kind]}")
    return value


def checked_part(line: Mapping[str, Any]) -> Part:
    """The part of a line; ValueError where its text no longer fits its digest."""
    part = part_of(line.get("value"))
    if part.name != line["part"]:
        raise ValueError(_EDITED)
    return part
