"""An agent behind an address: a JSON object goes there each turn, another one comes back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from traceback import format_exc
from typing import Any
from urllib.parse import urlsplit

from pytest_dialeval.conversation.agent import Brief, Reply
from pytest_dialeval.conversation.answer import reply_from
from pytest_dialeval.conversation.http_headers import Headers, headers_of
from pytest_dialeval.conversation.http_turn import HttpTurn
from pytest_dialeval.conversation.web import Request, Web
from pytest_dialeval.errors import AgentFault, DialevalError, HarnessFault
from pytest_dialeval.models import wire
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.suites.addresses import url_problem
from pytest_dialeval.traces.json_bytes import to_json

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HttpSpec:
    """One http agent, as declared."""

    url: str
    headers: Mapping[str, str]
    history: str = "all"
    own_prompt: bool = False  # whether `prompt` stands instead of the task's
    prompt: str | None = None

    @classmethod
    def of(cls, use: str, options: Mapping[str, Any]) -> HttpSpec:
        """From the words of `use` and the keys beside it."""
        if problem := url_problem(use, "use", query=True):
            raise HarnessFault(problem)
        return cls(
            use.strip(),
            options.get("headers", {}),
            options.get("history", "all"),
            "prompt" in options,
            options.get("prompt"),
        )

    @property
    def where(self) -> str:
        """Its address for messages; a query may hold what nobody should read."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"


def http_agents(spec: HttpSpec, web: Web | None) -> Callable[[], HttpAgent]:
    """What makes the agents; without connections it can be checked, and no agent be made."""

    def make() -> HttpAgent:
        if web is None:
            raise HarnessFault(f"{spec.where}: there are no connections here")
        return HttpAgent(spec, headers_of(spec.headers, web.environment), web)

    return make


class HttpAgent:
    """One conversation; the server knows it by its session id."""

    def __init__(self, spec: HttpSpec, headers: Headers, web: Web) -> None:
        self._spec = spec
        self._headers = headers
        self._web = web
        self._brief = Brief(task="")
        self._turn: HttpTurn | None = None

    async def start(self, brief: Brief) -> None:
        """Nothing is sent: the first turn says it all."""
        self._brief = brief

    async def reply(self, turns: tuple[Turn, ...]) -> Reply:
        """What the server answers to the last turn."""
        try:
            number = len(turns) + 1
            request = self._request(turns, number)
            self._turn = HttpTurn(self._web, request, self._spec.where, self._headers.redaction)
            name = (self._brief.conversation, number)
            body = await self._turn.answer(name, self._brief.turn_timeout)
            return self._read(body)
        except DialevalError as error:
            error.args = (self._headers.redaction.text(str(error)),)
            raise
        except Exception as error:  # ours, not the agent's
            clear = self._headers.redaction.text
            logger.error("a turn failed in an unforeseen way: %s", clear(format_exc()))
            text = f"{self._spec.where}: internal error: {type(error).__name__}: {error}"
            raise HarnessFault(clear(text)) from None

    async def close(self) -> None:
        """Connections are the run's."""

    def overdue(self, late: str) -> DialevalError:
        """The server had its time: that is the agent's own lateness."""
        tried = self._turn.course if self._turn else ""
        return AgentFault(self._headers.redaction.text(f"{self._spec.where}: {late}{tried}"))

    def _request(self, turns: tuple[Turn, ...], number: int) -> Request:
        key = f"{self._brief.conversation}-{number}"
        headers = {
            **self._headers.sent,
            "Content-Type": "application/json",
            "Idempotency-Key": key,
        }
        return Request(self._spec.url, headers, to_json(self._message(turns, number)))

    def _message(self, turns: tuple[Turn, ...], number: int) -> dict[str, object]:
        brief, spec = self._brief, self._spec
        message: dict[str, object] = {
            "session": brief.conversation,
            "turn": number,
            "message": turns[-1].text if turns else None,
            "task": brief.task,
            "language": brief.language,
            "seed": brief.seed,
        }
        if brief.variables:
            message["variables"] = brief.variables
        if brief.workspace is not None:
            message["workspace"] = brief.workspace
        if prompt := spec.prompt if spec.own_prompt else brief.prompt:
            message["prompt"] = prompt
        if spec.history == "all":
            roles = {"agent": "assistant", "user": "user"}
            message["messages"] = [
                {"role": roles[each.speaker], "content": each.text} for each in turns
            ]
        return message

    def _read(self, body: bytes) -> Reply:
        where = self._spec.where
        try:
            answer = wire.parse(body)
        except ValueError:
            text = self._headers.redaction.text(body[:2000].decode("utf-8", "replace"))
            raise AgentFault(f"{where}: {wire.no_json(text.encode())}") from None
        # What is told and kept of it must hold no key that came back.
        answer = self._headers.redaction.value(answer)
        if not isinstance(answer, dict):
            text = f'{wire.shortened(str(answer))!r} is no object such as {{"text": "Hello"}}'
            raise AgentFault(f"{where}: the answer {text}")
        return reply_from(answer)
