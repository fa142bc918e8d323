"""One turn's request to an http agent: how often it is tried, and whose fault its failure is."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from pytest_dialeval.conversation.web import Request, Response, Web
from pytest_dialeval.errors import AgentFault, DialevalError, HarnessFault, ProviderFault
from pytest_dialeval.models import wire
from pytest_dialeval.models.retry import may_pass
from pytest_dialeval.models.transport import Failed
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.traces.redaction import Redaction

# Who answers so stands between us and the agent: a gateway, a guard, a limit.
_BETWEEN = frozenset({401, 403, 429, 502, 503, 504, 520, 522, 524, 529})
_OWN = 3  # tries where the agent itself failed: that is no weather which passes


class HttpTurn:
    """Sends one request until there is an answer, or no sense in another try."""

    def __init__(self, web: Web, request: Request, where: str, redaction: Redaction) -> None:
        self._web = web
        self._request = request
        self._where = where
        self._redaction = redaction
        self._tries = 0
        self._last = ""

    @property
    def course(self) -> str:
        """How far it has come, for a message about its lateness."""
        if not self._last:
            return ""
        return f" ({self._tries} tries; the last failure: {self._last})"

    async def answer(self, name: tuple[str, int], seconds: float) -> bytes:
        """The body of a good answer; `name` is that of conversation and turn."""
        ends = self._web.watch.now + seconds
        while True:
            left = ends - self._web.watch.now
            try:
                return await self._try(left)
            except Failed as failure:
                wait = self._wait(failure, name, left)
            await asyncio.sleep(wait)

    async def _try(self, left: float) -> bytes:
        self._raise_refused()
        self._tries += 1
        response = await self._web.post(self._request, left=left)
        self._web.presence.answered(self._request.url)
        if response.good:
            return response.body
        raise self._failed(response)

    def _failed(self, response: Response) -> Failed:
        # Cleared of keys before it is shortened: half a key would not be known as one.
        body = self._redaction.text(response.body.decode("utf-8", "replace"))
        said = wire.shortened(body)
        text = f"{response.status} {response.reason}".strip() + (f": {said}" if said else "")
        if response.location:
            text += f"; it leads to {_place(response.location)}, and no redirect is followed"
        status = response.status
        return Failed(
            text, status=status, retry_after=response.retry_after, transient=may_pass(status)
        )

    def _wait(self, failure: Failed, name: tuple[str, int], left: float) -> float:
        """Seconds until another try; raises where there will be none."""
        patience, self._last = self._web.patience, str(failure)
        if failure.stale and self._tries == 1:
            return 0.0
        if not failure.transient or self._tries >= self._most(failure):
            raise self._fault(failure)
        conversation, turn = name
        draw = Draw("retry", conversation, "agent", 1)
        wait = patience.wait_by(draw, f"turn {turn}", self._tries, failure.retry_after)
        if wait >= left:
            raise self._fault(failure, f"; the next try would be in {wait:.3g} s, too late")
        return wait

    def _most(self, failure: Failed) -> int:
        """How many tries this failure is worth."""
        most, presence, url = self._web.patience.tries, self._web.presence, self._request.url
        if failure.status is not None and failure.status not in _BETWEEN:
            return min(most, _OWN)
        if failure.refused and self._tries >= (most := presence.tries(url, most)):
            presence.gave_up(url)
        return most

    def _fault(self, failure: Failed, more: str = "") -> DialevalError:
        tries = f" ({self._tries} tries)" if self._tries > 1 else ""
        text = f"{self._where}: {failure}{tries}{more}"
        if failure.ours:
            return HarnessFault(text)
        if failure.status is not None and failure.status not in _BETWEEN:
            return AgentFault(text)
        hint = "; check the suite's headers and their variables" if failure.status == 401 else ""
        text = self._redaction.text(text + hint)
        transient = failure.transient
        fault = ProviderFault(text, status=failure.status, transient=transient, tries=self._tries)
        if failure.status == 401:
            self._web.refused[self._key] = fault
        return fault

    @property
    def _key(self) -> tuple[str, ...]:
        """Address and credentials; the key of this turn alone is no part of them."""
        headers = self._request.headers.items()
        said = (f"{name}: {text}" for name, text in headers if name != "Idempotency-Key")
        return (self._request.url, *said)

    def _raise_refused(self) -> None:
        known = self._web.refused.get(self._key)
        if known is not None:
            raise ProviderFault(str(known), status=known.status, transient=False, tries=0)


def _place(location: str) -> str:
    """Where a redirect leads; its query may hold what nobody should read."""
    try:
        parts = urlsplit(location)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "another address"
    return wire.shortened(f"{parts.scheme}://{host}{parts.path}" if host else parts.path)
