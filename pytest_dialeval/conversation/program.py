"""A child process that is the head of its own group, and is never left over.

It is not reaped before the group was killed: until then its number cannot become another's, so
that the signal meets its own children and nobody else.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from pytest_dialeval.conversation.pipes import Lines, Outlet, Tail
from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.programs.begun import begun
from pytest_dialeval.programs.guard import Guard

TERM_GRACE = 0.25  # seconds between SIGTERM and SIGKILL
KILL_GRACE = 1.0  # seconds for the kernel to end what was killed


class Program:
    """One running program with its three pipes on the loop."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._exited = asyncio.Event()
        self._reaped = asyncio.Event()
        self._may_reap = threading.Event()
        self._transports: list[asyncio.BaseTransport] = []
        self._input: asyncio.WriteTransport | None = None
        self._outlet = Outlet()
        self.output = Lines()
        self.errors = Tail()
        self.exit_code: int | None = None
        name = f"end of program {process.pid}"
        begun(lambda: threading.Thread(target=self._wait, name=name, daemon=True))
        self._guard = Guard(process.pid)  # that thread asks for it when it may reap

    @classmethod
    async def begin(
        cls, command: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> Self:
        """Start it; OSError or HarnessFault where that is not possible."""
        process = subprocess.Popen(  # noqa: ASYNC220 (returns when the program has begun)
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a group of its own, and no Ctrl-C from our terminal
        )
        try:
            program = cls(process)
        except HarnessFault:
            _undo(process)
            raise
        try:
            await program._connect()
        except BaseException:
            try:
                await program.stop(0)
            finally:
                _close_pipes(process)
            raise
        return program

    async def send(self, line: bytes) -> None:
        """Write a line; one that a dead program does not read is lost."""
        assert self._input is not None
        self._input.write(line + b"\n")
        await self._outlet.drained()

    async def stop(self, patience: float) -> None:
        """End it and its children: after `patience` seconds by SIGTERM, then by SIGKILL."""
        if self._may_reap.is_set():
            return
        if self._input is not None:
            self._input.close()
        try:
            if not await self._over(self._exited, patience):
                self._signal(signal.SIGTERM)
                await self._over(self._exited, TERM_GRACE)
        finally:  # also when this is cancelled, and for children that outlived the head
            self._signal(signal.SIGKILL)
            self._guard.dismiss()
            self._may_reap.set()
            for each in self._transports:
                each.close()
            if self._input is not None and self._input.get_write_buffer_size():
                self._input.abort()  # a line that nobody will read would keep it open
        await self._over(self._reaped, KILL_GRACE)

    async def last_words(self) -> str:
        """How it ended, if it has ended, and the end of what it wrote to stderr."""
        await self._over(self._exited, TERM_GRACE)
        await self._over(self.errors.ended, TERM_GRACE)  # news of the exit may be the faster
        code = self.exit_code
        how = "closed its output" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was ended by signal {-code}"
        words = self.errors.text
        return f"{how}; the end of its stderr: {words}" if words else how

    async def _connect(self) -> None:
        pipes = self._process
        assert pipes.stdin is not None and pipes.stdout is not None and pipes.stderr is not None
        self._input, _ = await self._loop.connect_write_pipe(lambda: self._outlet, pipes.stdin)
        self._transports.append(self._input)
        out, _ = await self._loop.connect_read_pipe(lambda: self.output, pipes.stdout)
        self._transports.append(out)
        err, _ = await self._loop.connect_read_pipe(lambda: self.errors, pipes.stderr)
        self._transports.append(err)

    async def _over(self, event: asyncio.Event, patience: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await event.wait()
        return event.is_set()

    def _signal(self, number: signal.Signals) -> None:
        # macOS refuses to signal a group of which only the dead head is left.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _wait(self) -> None:
        """In a thread of its own, for asyncio's way to learn of an exit would reap at once."""
        self.exit_code = _exit_code(self._process)
        self._tell(self._exited)
        self._may_reap.wait()
        self._guard.wait()  # before the group's number may become another's
        self._process.wait()
        self._tell(self._reaped)

    def _tell(self, event: asyncio.Event) -> None:
        with suppress(RuntimeError):  # the loop has closed
            self._loop.call_soon_threadsafe(event.set)


def _undo(process: subprocess.Popen[bytes]) -> None:
    """End one that nobody will wait for."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    _close_pipes(process)
    process.wait()


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    """Those that no transport closes."""
    for each in (process.stdin, process.stdout, process.stderr):
        if each is not None:
            each.close()


def _exit_code(process: subprocess.Popen[bytes]) -> int | None:
    """Wait for the exit and leave the process unreaped, where the system can do that."""
    if not hasattr(os, "waitid"):
        return process.wait()
    try:
        ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:  # somebody else's wait for any child took it
        return None
    assert ended is not None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
