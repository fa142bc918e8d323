"""Writing files whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson

from pytest_dialeval.errors import RunError

_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an OSError into one sentence with the remedy."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{path}: cannot be written ({error.strerror or error}); free the disk or make the "
            "folder writable, or choose another with --dialeval-runs DIR"
        ) from error


def write_json(path: Path, value: object) -> None:
    """Replace the file atomically; readers see the old or the new one, never a part."""
    write_bytes(path, orjson.dumps(value, option=_OPTIONS, default=_plain))


def write_bytes(path: Path, content: bytes) -> None:
    """The same for bytes."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with explained(path):
        try:
            part.write_bytes(content)
            part.replace(path)
        except OSError:
            with suppress(OSError):
                part.unlink()
            raise


def _plain(value: object) -> object:
    """What orjson does not know: mappings of other types, tuples of sets."""
    if isinstance(value, frozenset | set):
        return sorted(value, key=str)
    if hasattr(value, "items"):
        return dict(value.items())
    return str(value)
