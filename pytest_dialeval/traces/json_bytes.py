"""JSON values <-> bytes: orjson where it is exact, the standard library where it is not."""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import orjson

from pytest_dialeval.records.text import clean

# orjson reads integers beyond 64 bits as floats: an order number would silently change.
_LONG_NUMBER = b"0" * 19
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
_SURROGATE = re.compile("[\ud800-\udfff]")
_DEEPEST = 200  # orjson writes 254 levels; an event has a few of its own
_LONGEST_INTEGER = 10_000  # bits; Python refuses to print much longer ones
_OPTIONS = orjson.OPT_NON_STR_KEYS
_INDENTED = _OPTIONS | orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


def to_json(value: object, *, indented: bool = False) -> bytes:
    """The value on one line, or indented with its keys in order and a line break behind it.

    Records are mappings; what JSON cannot say (sets, NaN, objects) is said as list, null or text.
    """
    try:
        return orjson.dumps(value, default=_known, option=_INDENTED if indented else _OPTIONS)
    except TypeError:  # lone surrogates, integers beyond 64 bits, depth without end
        exact = _plain(value)
    if indented:
        return f"{json.dumps(exact, ensure_ascii=False, indent=2, sort_keys=True)}\n".encode()
    return json.dumps(exact, ensure_ascii=False, separators=(",", ":")).encode()


def from_json(data: bytes) -> Any:
    """The value of one JSON text; raises ValueError, whatever is wrong with it."""
    if _LONG_NUMBER not in data.translate(_DIGITS):  # sooner told than by a pattern
        return orjson.loads(data)
    try:
        return json.loads(data.decode("utf-8"), parse_constant=unknown)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def unknown(name: str) -> None:
    """NaN and Infinity, which JSON does not have: the value is unknown."""


def _known(value: object) -> object:
    """What orjson does not know, one level of it: other mappings, sets; anything else as text."""
    if isinstance(value, Mapping):
        return dict(value)
    return sorted(value, key=str) if isinstance(value, set | frozenset) else clean(str(value))


def _plain(value: object, depth: int = 0) -> object:
    """The same all the way down, and exact where orjson is not."""
    if depth > _DEEPEST:
        return clean(reprlib.repr(value))
    if isinstance(value, str):
        return _whole(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _LONGEST_INTEGER else hex(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_whole(str(key)): _plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, depth + 1) for each in value]
    if isinstance(value, set | frozenset):
        return [_plain(each, depth + 1) for each in sorted(value, key=str)]
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name), depth + 1) for each in fields(value)}
    return clean(str(value))


def _whole(text: str) -> str:
    """The text as UTF-8 can say it; all else is kept, as orjson keeps it."""
    return _SURROGATE.sub("\ufffd", text)
