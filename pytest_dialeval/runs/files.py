"""Writing files whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path

import orjson

from pytest_dialeval.traces.disk import disk_fault
from pytest_dialeval.traces.json_bytes import to_json

_OPTIONS = orjson.OPT_NON_STR_KEYS
_INDENTED = _OPTIONS | orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an OSError into a RunError: one sentence with the remedy."""
    try:
        yield
    except OSError as error:
        raise disk_fault(error, path) from None


def write_json(path: Path, value: object) -> None:
    """Replace the file atomically; readers see the old or the new one, never a part."""
    try:
        content = orjson.dumps(value, option=_INDENTED, default=_plain)
    except TypeError:
        exact = json.loads(to_json(_undressed(value)))
        text = json.dumps(exact, ensure_ascii=False, indent=2, sort_keys=True)
        content = f"{text}\n".encode()
    write_bytes(path, content)


def write_bytes(path: Path, content: bytes) -> None:
    """The same for bytes."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with explained(path):
        try:
            part.write_bytes(content)
            part.replace(path)
        except BaseException:  # Ctrl-C too leaves nothing half written
            with suppress(OSError):
                part.unlink()
            raise


def one_line(value: object) -> bytes:
    """The value as JSON on one line, without its line break."""
    try:
        return orjson.dumps(value, option=_OPTIONS, default=_plain)
    except TypeError:
        # Lone surrogates (a command line, an exception's text) and integers beyond 64 bits.
        return to_json(_undressed(value))


def _plain(value: object) -> object:
    """What orjson does not know: other mappings, sets; anything else as text."""
    if isinstance(value, frozenset | set):
        return sorted(value, key=str)
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def _undressed(value: object) -> object:
    """Records as mappings, all the way down."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _undressed(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _undressed(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_undressed(each) for each in value]
    return value
