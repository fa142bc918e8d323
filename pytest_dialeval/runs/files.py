"""Writing files whole or not at all."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pytest_dialeval.errors import RunError
from pytest_dialeval.traces.disk import disk_fault
from pytest_dialeval.traces.json_bytes import from_json, to_json


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an OSError into a RunError: one sentence with the remedy."""
    try:
        yield
    except OSError as error:
        raise disk_fault(error, path) from None


def write_json(path: Path, value: object) -> None:
    """Replace the file atomically; readers see the old or the new one, never a part."""
    write_bytes(path, to_json(value, indented=True))


def read_json(path: Path) -> Any:
    """A file's content; RunError where it can't be read."""
    try:
        return from_json(path.read_bytes().removeprefix(BOM_UTF8))  # as some editors write it
    except OSError as error:
        raise disk_fault(error, path) from None
    except ValueError as error:
        raise RunError(f"{path}: is no JSON: {error}") from None


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
