"""The ends of a program's pipes on the event loop."""

from __future__ import annotations

import asyncio
from collections import deque

from pytest_dialeval.errors import AgentFault
from pytest_dialeval.records.text import clean

LINE_MAX = 16 * 1024 * 1024
TAIL = 4096  # bytes of a program's last words


class Lines(asyncio.Protocol):
    """Lines as they come; what is longer than LINE_MAX is a fault, and no longer read."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._rest = bytearray()
        self._size = 0  # of all that is unread
        self._ended = False
        self._news = asyncio.Event()
        self._transport: asyncio.ReadTransport | None = None

    @property
    def unread(self) -> bytes | None:
        """A line that nobody has asked for."""
        return self._lines[0] if self._lines else None

    async def line(self) -> bytes:
        """The next line, without its end; EOFError when no more can come."""
        while not self._lines:
            if self._size > LINE_MAX:
                raise AgentFault(f"the program's answer is longer than {LINE_MAX} bytes")
            if self._ended:
                raise EOFError
            self._news.clear()
            await self._news.wait()
        line = self._lines.popleft()
        self._size -= len(line)
        return line

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        assert isinstance(transport, asyncio.ReadTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        self._size += len(data)
        first, *others = data.split(b"\n")
        self._rest += first
        for each in others:
            self._lines.append(bytes(self._rest))
            self._rest = bytearray(each)
        self._size -= len(others)
        if self._size > LINE_MAX and self._transport is not None:
            self._transport.pause_reading()
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop."""
        if self._rest:
            self._lines.append(bytes(self._rest))  # a last line may lack its end
            self._rest.clear()
        self._ended = True
        self._news.set()


class Tail(asyncio.Protocol):
    """Reads everything, so that the program never waits, and keeps the end of it."""

    def __init__(self) -> None:
        self._kept = b""
        self.ended = asyncio.Event()

    @property
    def text(self) -> str:
        """The last words, as far as they are text."""
        return clean(self._kept.decode("utf-8", "replace")).strip()

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        self._kept = (self._kept + data)[-TAIL:]

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop."""
        self.ended.set()


class Outlet(asyncio.Protocol):
    """A pipe to write to, with a wait for its reader."""

    def __init__(self) -> None:
        self._ready = asyncio.Event()
        self._ready.set()

    async def drained(self) -> None:
        """Return when more can be written, or the reader is gone."""
        await self._ready.wait()

    def pause_writing(self) -> None:
        """Called by the loop."""
        self._ready.clear()

    def resume_writing(self) -> None:
        """Called by the loop."""
        self._ready.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop."""
        self._ready.set()
