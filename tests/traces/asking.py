"""How the tests of every format give a file to its reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.traces.importers.source import RecordingFile

Reader = Callable[[bytes, Path], RecordingFile]


def content(value: object) -> bytes:
    """What the file holds: bytes as they are, anything else as JSON."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def refused(reader: Reader, value: object, path: Path) -> str:
    """What the reader says of what it refuses, behind the path with which it begins."""
    with pytest.raises(TranscriptError) as caught:
        reader(content(value), path)
    message = str(caught.value)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))
