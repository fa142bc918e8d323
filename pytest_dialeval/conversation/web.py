"""What all http agents of a run share: one session, and one try of a request on it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from pytest_dialeval.errors import AgentFault, ProviderFault
from pytest_dialeval.models.presence import Presence
from pytest_dialeval.models.retry import Patience, retry_after_of
from pytest_dialeval.models.watch import LoopWatch, Watch

if TYPE_CHECKING:
    import aiohttp

MOST = 16 << 20  # bytes of one answer
_CONNECT = 10.0  # seconds
_SOON = 0.05  # seconds; 0 would mean no bound


@dataclass(frozen=True, slots=True)
class Request:
    """What is posted, and where; headers hold secrets, so it is never shown."""

    url: str
    headers: Mapping[str, str]
    body: bytes

    def __repr__(self) -> str:
        return f"Request({len(self.body)} bytes)"


@dataclass(frozen=True, slots=True)
class Response:
    """What came back: the whole body, or enough of it where it is an error's."""

    status: int
    reason: str
    body: bytes
    retry_after: float | None = None
    location: str = ""

    @property
    def good(self) -> bool:
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES


class Web:
    """Made for a run; used and closed in one event loop, where its session is opened."""

    def __init__(
        self,
        *,
        environment: Mapping[str, str] | None = None,
        patience: Patience | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.environment = os.environ if environment is None else environment
        self.patience = patience or Patience()
        self.watch = watch or LoopWatch()
        # A key that was refused once is not shown again.
        self.refused: dict[tuple[str, ...], ProviderFault] = {}
        self.presence = Presence()
        self._proxies: dict[str, str | None] = {}
        self._session: aiohttp.ClientSession | None = None

    async def post(self, request: Request, *, left: float) -> Response:
        """One try, with `left` seconds until nobody waits any more; Failed where none answers."""
        import aiohttp  # slow to import

        from pytest_dialeval.models import http

        # Who cannot even be reached should be known before the turn's time is over.
        seconds = max(_SOON, min(_CONNECT, left / 2))
        try:
            async with self._opened().post(
                request.url,
                data=http.posted(request.body),
                headers=request.headers,
                proxy=self._proxy(request.url),
                allow_redirects=False,  # headers hold keys, which must not travel
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=seconds),
            ) as response:
                return await _read(response)
        except (aiohttp.ClientError, OSError, UnicodeError) as error:
            raise http.no_answer(error) from None

    async def close(self) -> None:
        """Close all connections; a request after that opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _opened(self) -> aiohttp.ClientSession:
        from pytest_dialeval.models import http

        if self._session is None:
            self._session = http.new_session()
        return self._session

    def _proxy(self, url: str) -> str | None:
        from pytest_dialeval.models import http

        if url not in self._proxies:
            self._proxies[url] = http.proxy_of(url)
        return self._proxies[url]


async def _read(response: aiohttp.ClientResponse) -> Response:
    from pytest_dialeval.models import http

    good = HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES
    return Response(
        status=response.status,
        reason=response.reason or "",
        body=await _whole(response) if good else await http.start_of(response),
        retry_after=retry_after_of(response.headers),
        location=response.headers.get("Location", ""),
    )


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    """All of it, unpacked; what is larger than any answer may be is not read to its end."""
    pieces, size = [], 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > MOST:
            raise AgentFault(f"the agent's answer is longer than {MOST >> 20} MB")
        pieces.append(piece)
    return b"".join(pieces)
