"""One try over HTTP: a request on the shared keep-alive session, an answer streamed or whole."""

from __future__ import annotations

import asyncio
import errno
import re
import resource
from http import HTTPStatus
from io import BytesIO
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

import pytest_dialeval
from pytest_dialeval.models import wire
from pytest_dialeval.models.endpoints import Address, Features
from pytest_dialeval.models.event_stream import EventStream, looks_like_events
from pytest_dialeval.models.retry import may_pass, retry_after_of
from pytest_dialeval.models.transport import Failed
from pytest_dialeval.programs.environ import undisturbed
from pytest_dialeval.records.model import ChatAnswer, ChatCall

MOST = 16 << 20  # bytes of one answer
_CONNECT = 10.0  # seconds
_REST = 2.0  # seconds that usage may come after the answer's end
_END = 0.1  # seconds that the body may end after [DONE]
_LARGE = 1 << 20  # bytes
_SPARE = 200  # file descriptors left for everything else
_PLAIN = re.compile("WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE")  # to OpenSSL 3.1, and since
_NO_FILE = frozenset({errno.EMFILE, errno.ENFILE})


def new_session() -> aiohttp.ClientSession:
    """One session for all endpoints; as many connections as there are file descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = 0 if soft == resource.RLIM_INFINITY else max(20, soft - _SPARE)
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=limit, ttl_dns_cache=300),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"pytest-dialeval/{pytest_dialeval.__version__}"},
    )


class HttpTransport:
    """Tries to one address."""

    def __init__(self, session: aiohttp.ClientSession, address: Address) -> None:
        self._session = session
        self._address = address
        self._proxy = proxy_of(address.url)
        self._headers = {"Content-Type": "application/json"}
        if address.key:
            self._headers["Authorization"] = f"Bearer {address.key}"

    async def send(self, call: ChatCall, features: Features) -> ChatAnswer:
        """The answer; Failed or Unreadable where there is none."""
        body = wire.request_body(call, features)
        began = asyncio.get_running_loop().time()
        try:
            async with self._session.post(
                self._address.url,
                data=posted(body),
                headers=self._headers,
                proxy=self._proxy,
                allow_redirects=False,
            ) as response:
                if response.status != HTTPStatus.OK:
                    raise await self._rejection(response)
                return await Reading(response, began).answer()
        except (aiohttp.ClientError, OSError, UnicodeError) as error:
            raise no_answer(error) from None

    async def close(self) -> None:
        """Nothing: the session is the door's."""

    async def _rejection(self, response: aiohttp.ClientResponse) -> Failed:
        data = await start_of(response)
        try:
            code, text = wire.error_of(wire.parse(data))[1:]
        except ValueError:
            code, text = "", wire.shortened(data.decode("utf-8", "replace"))
        status = response.status
        reason = response.reason or ""
        return Failed(
            f"{status} {reason}".strip() + (f": {text}" if text else ""),
            status=status,
            code=code,
            retry_after=retry_after_of(response.headers),
            transient=may_pass(status, code),
        )


class Reading:
    """Reads one response, whatever it turns out to be."""

    def __init__(self, response: aiohttp.ClientResponse, began: float) -> None:
        self._response = response
        self._reader = wire.StreamReader()
        self._events: EventStream | None = None
        if response.content_type == "text/event-stream":
            self._events = EventStream(self._reader)
        self._whole: list[bytes] = []
        self._size = 0
        self._loop = asyncio.get_running_loop()
        self._began = began
        self._first: float | None = None

    async def answer(self) -> ChatAnswer:
        """The answer in it."""
        try:
            await self._read()
        except TimeoutError:
            if self._reader.finish is None and not self._reader.done:
                raise
        except (aiohttp.ClientError, OSError):
            if self._reader.finish is None:
                raise
        if self._events is None:
            return wire.read_whole(b"".join(self._whole))
        self._events.close()
        return self._reader.answer(self._first)

    async def _read(self) -> None:
        """To the body's end; once the answer is whole, wait a moment for it and not for ever."""
        content, reader = self._response.content, self._reader
        while not reader.done and reader.finish is None and (data := await content.readany()):
            self._take(data)
        if content.at_eof():  # mostly it came with the answer
            return
        async with asyncio.timeout(_END if reader.done else _REST) as end:
            while data := await content.readany():
                known = reader.done
                self._take(data)
                if reader.done and not known:
                    end.reschedule(self._loop.time() + _END)

    def _take(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > MOST:
            raise Failed(f"the answer has no end: more than {MOST >> 20} MB")
        if self._events is None and not self._whole and looks_like_events(data):
            self._events = EventStream(self._reader)
        if self._events is None:
            self._whole.append(data)
        else:
            self._events.feed(data)
            if self._first is None and self._reader.started:
                self._first = self._loop.time() - self._began


def no_answer(error: Exception) -> Failed:
    """What a connection that failed is called."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.InvalidURL):
        return Failed(f"cannot connect: {wire.shortened(str(error))}", transient=False)
    if isinstance(error, aiohttp.ClientConnectorSSLError) and _PLAIN.search(str(error)):
        where = f"{error.host}:{error.port}"
        text = f"cannot connect: {where} does not speak https; is its address http://{where}?"
        return Failed(text, transient=False)
    if isinstance(error, UnicodeError):  # labels that are empty or too long
        return Failed("cannot find the host: that is no host's name", transient=False)
    number = getattr(error, "errno", None)
    if number in _NO_FILE:
        return Failed("too many open files; raise `ulimit -n` or lower concurrency", ours=True)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Failed(f"cannot find the host: {wire.shortened(str(error))}")
    if isinstance(error, aiohttp.ClientConnectorError) and number == errno.ECONNREFUSED:
        text = f"connection refused by {error.host}:{error.port}; is the server running?"
        return Failed(text, refused=True)
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return Failed(f"cannot connect: {wire.shortened(str(error))}")
    text = wire.shortened(str(error)) or type(error).__name__
    stale = isinstance(error, aiohttp.ServerDisconnectedError)
    return Failed(f"the connection broke: {text}", stale=stale)


def posted(body: bytes) -> bytes | BytesIO:
    """A body as aiohttp likes it: it warns of large ones that are bytes."""
    return body if len(body) < _LARGE else BytesIO(body)


async def start_of(response: aiohttp.ClientResponse) -> bytes:
    """Enough of an error's body; it may be huge or never end."""
    data = b""
    try:
        async with asyncio.timeout(_REST):
            async for piece in response.content.iter_any():
                data += piece
                if len(data) > 1 << 16:
                    break
    except (TimeoutError, aiohttp.ClientError, OSError):
        pass
    return data


def proxy_of(url: str) -> str | None:
    """The environment's proxy, to be looked up once an address; never for this machine itself."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1":
        return None
    proxies = undisturbed(getproxies)
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    usable = proxy is not None and proxy.startswith("http")
    return proxy if usable and not undisturbed(lambda: proxy_bypass(host)) else None
