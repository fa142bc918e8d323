"""One command from its start to its end, with a deadline; none of its children is left over."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from pytest_dialeval.programs.guard import Guard
from pytest_dialeval.programs.kept import Kept
from pytest_dialeval.programs.strays import MARK, end_strays, new_mark
from pytest_dialeval.records.monotonic import monotonic

NOT_STARTED = (126, 127)  # what shells and env say of a command that they cannot run
KEEP = 16_384  # bytes of output
_LOOK = 0.05  # seconds between two looks at whether it is to be stopped
_SOON = 0.002  # seconds: one that has closed its output is about to end
_REAPED = 5.0  # seconds for the kernel to end what was killed
_DRAINED = 64  # reads of what stood in the pipe when the command ended
_CHUNK = 65_536


class Stopped(BaseException):
    """Work was ended because nobody waits for it any more."""


def unless(stop: threading.Event) -> Callable[[], None]:
    """What long work calls now and then: Stopped once nobody waits for it."""

    def goes_on() -> None:
        if stop.is_set():
            raise Stopped

    return goes_on


@dataclass(frozen=True, slots=True)
class Ended:
    """How it went."""

    status: int | None  # None: its time was over; -N: ended by signal N
    seconds: float
    output: str  # stdout and stderr as they came, stderr alone where stdout went to a file
    strays: int = 0  # processes that it left behind, in a session of their own


def run_to_end(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    seconds: float,
    stop: threading.Event,
    keep: int = KEEP,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
    trusted: bool = False,
) -> Ended:
    """Blocks until it has ended; OSError where it can't be run, Stopped where `stop` was set.

    It stands in a group of its own, which is killed in every case. One that is not `trusted` is
    watched over: it ends with this process, and so do children that leave the group.
    """
    mark = "" if trusted else new_mark()
    began = monotonic()
    with _Pipe() as pipe:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, MARK: mark} if mark else environment,
            stdin=stdin or subprocess.DEVNULL,
            stdout=stdout or pipe.inlet,
            stderr=pipe.inlet,
            start_new_session=True,
        )
        pipe.close_inlet()
        kept, guard = Kept(keep), None if trusted else Guard(process.pid)
        try:
            status = _watched(process, pipe, kept, began + seconds, stop)
        finally:
            strays = _over(process, guard, mark)
    return Ended(status, monotonic() - began, kept.text, strays)


class _Pipe:
    def __init__(self) -> None:
        self.outlet, self.inlet = os.pipe()
        os.set_blocking(self.outlet, False)
        self.open = True  # somebody may still write
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.outlet, selectors.EVENT_READ)

    def close_inlet(self) -> None:
        """Ours; the program has its own."""
        os.close(self.inlet)
        self.inlet = -1

    def wait(self, seconds: float) -> None:
        """Until there is something to read."""
        self._selector.select(max(seconds, 0))

    def read_into(self, kept: Kept) -> bool:
        """One piece, where there is one."""
        try:
            data = os.read(self.outlet, _CHUNK)
        except BlockingIOError:
            return False
        self.open = bool(data)
        kept.take(data)
        return self.open

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        os.close(self.outlet)
        if self.inlet >= 0:
            os.close(self.inlet)


def _watched(
    process: subprocess.Popen[bytes], pipe: _Pipe, kept: Kept, end: float, stop: threading.Event
) -> int | None:
    """Read until the command itself has ended, whoever still writes; None where it is late."""
    while (status := _status(process)) is None:
        left = end - monotonic()
        if left <= 0:
            return None
        if stop.is_set():
            raise Stopped
        if pipe.open:
            pipe.wait(min(left, _LOOK))
            pipe.read_into(kept)
        else:
            stop.wait(min(left, _SOON))
    for _ in range(_DRAINED):
        if not pipe.open or not pipe.read_into(kept):
            break
    return status


def _status(process: subprocess.Popen[bytes]) -> int | None:
    """How it ended, if it has; without reaping it where the system can do that.

    Its number stays its own that way, and nobody takes a status that was lost for a 0, as Popen
    does.
    """
    if not hasattr(os, "waitid"):
        return process.poll()
    try:
        ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    except ChildProcessError:
        raise ChildProcessError(
            "its exit status is lost: some code in this process waits for any child"
        ) from None
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _over(process: subprocess.Popen[bytes], guard: Guard | None, mark: str) -> int:
    # macOS refuses to signal a group of which only the dead head is left.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if guard is not None:
        guard.dismiss()
        guard.wait()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_REAPED)
    return end_strays(mark, process.pid) if mark else 0
