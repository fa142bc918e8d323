"""Why a cassette has no reply to a call: the nearest one that it has, and what differs."""

from __future__ import annotations

import difflib
import heapq
import json
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from pytest_dialeval.models.cassette import SETTINGS, Entry, Part, Request
from pytest_dialeval.records.text import clean

_LINES = 14  # of a diff
_WIDTH = 160  # characters of one of its lines
_CLOSE = 400  # entries whose messages are compared; the rest differ in purpose anyway
_ABSENT = "(none)"


def miss_message(asked: Request, entries: Iterable[Entry], cassette: str) -> str:
    """The whole message of a miss, for a user."""
    first = f"{cassette} has no reply for {_named(asked)}"
    remedy = "to record it: --dialeval-record=new, with the model's key at hand"
    found = nearest(asked, entries)
    if found is None:
        return f"{first}: it is empty, or does not exist\n{remedy}"
    differing = list(_differences(found, asked))
    shown = [f"{first}; the nearest is {_named(found)}", *_differing(found, asked, differing)]
    shown += _diff(found, asked, differing)
    return clean("\n".join([*shown, remedy]))


def nearest(asked: Request, entries: Iterable[Entry]) -> Request | None:
    """The recorded call that shares most: purpose and trial before the words."""
    likely = heapq.nsmallest(
        _CLOSE, entries, key=lambda each: (_distance(asked, each.request), each.key)
    )
    requests = [each.request for each in likely]
    return min(
        requests,
        key=lambda each: (_distance(asked, each), _shared(asked, each)),
        default=None,
    )


def _distance(asked: Request, other: Request) -> int:
    """Of different kinds of questions, whatever the words."""
    return (
        8 * (asked.role != other.role)
        + 4 * (asked.purpose != other.purpose)
        + 2 * (asked.case != other.case)
        + (asked.trial != other.trial)
    )


def _shared(asked: Request, other: Request) -> int:
    """The lower, the more messages agree."""
    return -sum(a == b for a, b in zip(asked.messages, other.messages, strict=False))


def _differences(found: Request, asked: Request) -> Iterator[str]:
    for name in ("role", "purpose", "case", "trial"):
        if getattr(found, name) != getattr(asked, name):
            yield name
    for name in SETTINGS:
        if found.settings.get(name) != asked.settings.get(name):
            yield name
    for place, (a, b) in enumerate(zip_longest(found.messages, asked.messages)):
        if a != b:
            yield f"messages[{place}]"
    for name in ("tools", "schema"):
        if getattr(found, name) != getattr(asked, name):
            yield name


def _differing(found: Request, asked: Request, names: list[str]) -> Iterator[str]:
    yield f"what differs: {', '.join(names)}"
    for name in names:
        if name in SETTINGS:
            recorded, wanted = found.settings.get(name), asked.settings.get(name)
            yield f"  {name}: recorded {_said(recorded)}, asked {_said(wanted)}"


def _diff(found: Request, asked: Request, names: list[str]) -> list[str]:
    """Of the first message that differs, else of tools or schema."""
    name = next((each for each in names if each.startswith(("messages", "tools", "schema"))), None)
    if name is None:
        return []
    lines = difflib.unified_diff(
        _text(found, name),
        _text(asked, name),
        f"recorded {name}",
        f"asked {name}",
        lineterm="",
        n=1,
    )
    shown = [each if len(each) <= _WIDTH else f"{each[:_WIDTH]}..." for each in lines]
    more = len(shown) - _LINES
    return [*shown[:_LINES], f"... {more} more lines"] if more > 1 else shown


def _text(request: Request, name: str) -> list[str]:
    part: Part | None = None
    if not name.startswith("messages"):
        part = getattr(request, name)
    elif (place := int(name[len("messages[") : -1])) < len(request.messages):
        part = request.messages[place]
    return [line for each in _shown(part.value if part else None) for line in _cut(each)]


def _shown(value: object) -> list[str]:
    if value is None:
        return [_ABSENT]
    if isinstance(value, dict) and value.keys() == {"role", "content"}:
        if isinstance(value["content"], str):
            return [f"{value['role']}:", *value["content"].splitlines()]
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True).splitlines()


def _cut(line: str) -> list[str]:
    # A prompt is often one long line; only short ones let a diff show the place.
    return [line[at : at + 100] for at in range(0, len(line), 100)] or [""]


def _named(request: Request) -> str:
    return f"{request.role}, {request.purpose} ({request.case}, trial {request.trial})"


def _said(value: object) -> str:
    return "nothing" if value is None else repr(value)
