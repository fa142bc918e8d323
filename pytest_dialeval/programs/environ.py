"""os.environ, read while pytest changes it on the main thread."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

RUNNING = "PYTEST_CURRENT_TEST"  # pytest sets it before an item, and takes it away after it

T = TypeVar("T")


def changed_meanwhile(error: BaseException) -> bool:
    """Whether somebody met the name of the running test, and it was gone when he asked for it.

    Whoever copies os.environ asks for names first, and for their values afterwards.
    """
    return isinstance(error, KeyError) and error.args == (RUNNING,)


def undisturbed(read: Callable[[], T]) -> T:
    """What it reads of os.environ, on whatever thread; once more where pytest came between."""
    while True:
        try:
            return read()
        except KeyError as error:
            if not changed_meanwhile(error):
                raise


def environment() -> dict[str, str]:
    """A copy of os.environ."""
    return undisturbed(lambda: dict(os.environ))
