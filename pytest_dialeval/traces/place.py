"""Where in a file something is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pytest_dialeval.errors import TranscriptError


@contextmanager
def located(place: str) -> Iterator[None]:
    """Put the place in front of what a TranscriptError says."""
    try:
        yield
    except TranscriptError as exc:
        raise TranscriptError(f"{place}: {exc}") from None
    except RecursionError:
        raise TranscriptError(f"{place}: is nested too deeply to be read") from None
