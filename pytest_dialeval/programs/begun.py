"""A thread that has begun, or why there can be none: never the fault of whoever works in it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from pytest_dialeval.errors import HarnessFault

T = TypeVar("T", bound=threading.Thread)


def begun(make: Callable[[], T]) -> T:
    """The thread that is made, running; HarnessFault where the machine has no more of them."""
    try:
        thread = make()
        thread.start()
    except RuntimeError as error:
        raise HarnessFault(
            f"no thread can be started: {error}; hold fewer conversations at once, or see what"
            " keeps this process from it (`ulimit -u`, memory)"
        ) from None
    return thread
