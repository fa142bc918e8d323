"""os.environ, read while pytest and tests change it on the main thread."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

RUNNING = "PYTEST_CURRENT_TEST"  # pytest sets it before an item, and takes it away after it
_TRIES = 100  # more than a test's monkeypatch brings about by chance

T = TypeVar("T")


def changed_meanwhile(error: BaseException) -> bool:
    """Whether somebody met the name of the running test, and it was gone when he asked for it.

    Whoever copies os.environ asks for names first, and for their values afterwards.
    """
    return isinstance(error, KeyError) and error.args == (RUNNING,)


def undisturbed(read: Callable[[], T]) -> T:
    """What it reads of os.environ, on whatever thread; once more where a name it met was gone."""
    for _ in range(_TRIES):
        with suppress(KeyError):
            return read()
    return read()


def environment() -> dict[str, str]:
    """A copy of os.environ, without what goes while it is made."""
    found = [(name, os.environ.get(name)) for name in list(os.environ)]
    return {name: value for name, value in found if value is not None}
