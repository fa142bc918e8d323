"""Processes that left their group, as daemons do: known by a mark in their environment.

Children inherit it whatever group or session they make for themselves. Only where the system
shows environments (Linux); elsewhere, and for a child that clears it, there is no such way.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

MARK = "DIALEVAL_PROGRAM"
_PROCESSES = Path("/proc")
_SWEEPS = 5  # one that forks while it is looked for is met by the next


def new_mark() -> str:
    """Never seen before."""
    return uuid4().hex


def end_strays(mark: str, group: int) -> int:
    """Kill whatever still has the mark; how many of them had left the group.

    What is still in it was killed already, and takes its moment.
    """
    needle, ended = f"{MARK}={mark}".encode(), set[int]()
    for _ in range(_SWEEPS):
        found = [each for each in _marked(needle) if _left(each, group)]
        if not found:
            break
        for each in found:
            _kill(each, needle)
        ended.update(found)
    return len(ended)


def _marked(needle: bytes) -> Iterator[int]:
    with suppress(OSError):
        for each in os.listdir(_PROCESSES):
            if each.isdigit() and _has(int(each), needle):
                yield int(each)


def _has(process: int, needle: bytes) -> bool:
    try:
        return needle in (_PROCESSES / str(process) / "environ").read_bytes().split(b"\0")
    except OSError:  # gone, or another user's
        return False


def _left(process: int, group: int) -> bool:
    try:
        return os.getpgid(process) != group
    except OSError:  # gone
        return False


def _kill(process: int, needle: bytes) -> None:
    """By a handle, where there are such: the number may be another's by now."""
    with suppress(OSError):
        if not hasattr(os, "pidfd_open"):
            os.kill(process, signal.SIGKILL)
            return
        handle = os.pidfd_open(process)
        try:
            if _has(process, needle):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)
