"""A chat endpoint that misbehaves on command: a real aiohttp server on a free port."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from pytest_dialeval.models.door import Door
from pytest_dialeval.models.retry import Patience
from pytest_dialeval.records.model import ChatCall, ModelSpec, Role

Step = Callable[["Server", web.Request], Awaitable[web.StreamResponse]]
KEY = "sk-planted-0123456789"
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
QUICK = Patience(first=0.001)


class Server:
    """Plays its steps in order, then answers well; remembers what it was asked."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.otherwise: Step = say("fine")
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.connections: set[object] = set()
        self.in_flight = self.most_in_flight = self.cancelled = 0
        self.base_url = ""

    @property
    def requests(self) -> int:
        return len(self.bodies)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(json.loads(await request.read()))
        self.headers.append(request.headers)
        assert request.transport is not None
        self.connections.add(request.transport.get_extra_info("peername"))
        step = self.steps.pop(0) if self.steps else self.otherwise
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await step(self, request)
        except (asyncio.CancelledError, ConnectionResetError):
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1


@asynccontextmanager
async def serving(*steps: Step, port: int = 0) -> AsyncIterator[Server]:
    """The server with these steps; gone, with its connections, at the end."""
    server = Server()
    server.steps = list(steps)
    app = web.Application(client_max_size=1 << 30)
    app.router.add_post("/v1/chat/completions", server.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.0, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port, reuse_address=True)
        await site.start()
        port = runner.addresses[0][1]
        server.base_url = f"http://127.0.0.1:{port}/v1"
        yield server
    finally:
        await runner.cleanup()


@asynccontextmanager
async def door_to(*steps: Step, patience: Patience = QUICK) -> AsyncIterator[tuple[Door, Server]]:
    """A door, and the server behind it."""
    async with serving(*steps) as server:
        door = Door(environment={"OPENAI_API_KEY": KEY}, patience=patience)
        try:
            yield door, server
        finally:
            await door.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another task does."""
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not happen")


def free_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def call_to(
    base_url: str, *, role: Role = "agent", trial: int = 1, purpose: str = "turn 1", **spec: Any
) -> ChatCall:
    """A call of that server; other names are fields of the spec."""
    values = {"endpoint": "openai", "model": "m", "base_url": base_url, **spec}
    return ChatCall(
        spec=ModelSpec(role=role, **values),
        messages=({"role": "user", "content": "Hello?"},),
        case="case",
        trial=trial,
        purpose=purpose,
    )


def completion(text: str | None, finish: str | None = "stop", **message: object) -> dict[str, Any]:
    """A whole answer."""
    said = {"role": "assistant", "content": text, **message}
    choice = {"index": 0, "message": said, "finish_reason": finish}
    return {"model": "m-2026", "choices": [choice], "usage": USAGE}


def chunk(delta: Mapping[str, object], finish: str | None = None) -> dict[str, Any]:
    """A piece of a stream."""
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
    return {"model": "m-2026", "choices": [choice]}


def event(data: object) -> bytes:
    """As one event of a stream."""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"data: {text}\n\n".encode()


def events_of(text: str, finish: str = "stop") -> list[bytes]:
    """A stream as OpenAI sends it: one word an event, usage, [DONE]."""
    words = [chunk({"content": word}) for word in text.split(" ")]
    chunks = [chunk({"role": "assistant", "content": ""}), *words, chunk({}, finish)]
    usage = {"model": "m-2026", "choices": [], "usage": USAGE}
    return [*map(event, chunks), event(usage), event("[DONE]")]


def say(text: str, finish: str = "stop") -> Step:
    """A good answer, streamed if that is asked for."""

    async def step(server: Server, request: web.Request) -> web.StreamResponse:
        if not server.bodies[-1].get("stream"):
            return web.json_response(completion(text, finish))
        return await _stream(request, events_of(text, finish))

    return step


def stream(
    pieces: Sequence[bytes], *, then: Awaitable[object] | None = None, last: bytes = b""
) -> Step:
    """These bytes as a stream, then the last ones, once `then` is over."""

    async def step(server: Server, request: web.Request) -> web.StreamResponse:
        return await _stream(request, pieces, then, last)

    return step


def reply(
    status: int = 200,
    body: object = None,
    *,
    content_type: str = "application/json",
    **headers: str,
) -> Step:
    """A status and a body; names of headers are written with underscores."""

    async def step(server: Server, request: web.Request) -> web.StreamResponse:
        text = body if isinstance(body, str) else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, text=text, headers=named, content_type=content_type)

    return step


def error(status: int, message: str = "no", code: str = "", **headers: str) -> Step:
    """An error as OpenAI words it."""
    return reply(status, {"error": {"message": message, "code": code or None}}, **headers)


def cut(pieces: Iterable[bytes] = ()) -> Step:
    """A stream that breaks off in mid-body, the connection reset."""

    async def step(server: Server, request: web.Request) -> web.StreamResponse:
        response = await _begun(request)
        for each in pieces:
            await response.write(each)
        assert request.transport is not None
        request.transport.abort()
        return response

    return step


def drop() -> Step:
    """No answer at all: the connection is closed."""

    async def step(server: Server, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        await asyncio.Event().wait()
        raise AssertionError

    return step


def hang(pieces: Iterable[bytes] = ()) -> Step:
    """These bytes, and then nothing for ever, the connection open."""

    async def step(server: Server, request: web.Request) -> web.StreamResponse:
        response = await _begun(request)
        for each in pieces:
            await response.write(each)
        await asyncio.Event().wait()
        return response

    return step


def flood(piece: bytes) -> Step:
    """A body that never ends."""

    async def step(server: Server, request: web.Request) -> web.StreamResponse:
        response = await _begun(request)
        while True:
            await response.write(piece)

    return step


async def _begun(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)
    return response


async def _stream(
    request: web.Request,
    pieces: Sequence[bytes],
    then: Awaitable[object] | None = None,
    last: bytes = b"",
) -> web.StreamResponse:
    response = await _begun(request)
    for each in pieces:
        await response.write(each)
    if then is not None:
        await then
    await response.write_eof(last)
    return response
