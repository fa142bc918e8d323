"""JSON values <-> bytes: orjson where it is exact, the standard library where it is not."""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Mapping
from typing import Any

import orjson

from pytest_dialeval.records.text import clean

# orjson reads integers beyond 64 bits as floats: an order number would silently change.
_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_DEEPEST = 200  # orjson writes 254 levels; an event has a few of its own
_LONGEST_INTEGER = 10_000  # bits; Python refuses to print much longer ones
_OPTIONS = orjson.OPT_NON_STR_KEYS


def to_json(value: object) -> bytes:
    """The value on one line; what JSON cannot say (sets, NaN, objects) is said as text or null."""
    try:
        return orjson.dumps(value, default=_plain, option=_OPTIONS)
    except TypeError:
        text = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8")


def from_json(data: bytes) -> Any:
    """The value of one JSON text; raises ValueError, whatever is wrong with it."""
    if not _LONG_NUMBER.search(data):
        return orjson.loads(data)
    try:
        return json.loads(data.decode("utf-8"), parse_constant=unknown)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def unknown(name: str) -> None:
    """NaN and Infinity, which JSON does not have: the value is unknown."""


def _plain(value: object, depth: int = 0) -> object:
    if depth > _DEEPEST:
        return clean(reprlib.repr(value))
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _LONGEST_INTEGER else hex(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {clean(str(key)): _plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, depth + 1) for each in value]
    return clean(str(value))
