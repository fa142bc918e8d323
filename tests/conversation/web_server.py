"""Agents over the network and the misbehaving server of tests/models behind them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from pytest_dialeval.conversation.resolve import agent_factory
from pytest_dialeval.conversation.web import Web
from pytest_dialeval.models.door import Door
from pytest_dialeval.records.suite import AgentSpec
from pytest_dialeval.records.transcript import Transcript
from tests.conversation.stage import MATCHERS, conversing
from tests.models.server import KEY, QUICK, Server, Step, serving

ENVIRONMENT = {"OPENAI_API_KEY": KEY, "SHOP_KEY": KEY}


@asynccontextmanager
async def reached(**keys: Any) -> AsyncIterator[Callable[..., Any]]:
    """Makes factories of agents over the network; at the end nothing of theirs is open."""
    patience = keys.pop("patience", QUICK)
    door = Door(environment=ENVIRONMENT, patience=patience)
    shared = Web(environment=ENVIRONMENT, patience=patience)

    def factory(use: str, **options: Any) -> Any:
        spec = AgentSpec("agent", use, options, concurrency=options.pop("concurrency", None))
        return agent_factory(spec, rootdir=Path("/"), matchers=MATCHERS, chat=door, web=shared)

    try:
        yield factory
    finally:
        await shared.close()
        await door.close()


def http_address(server: Server) -> str:
    """Where the server answers an http agent."""
    return f"{server.base_url}/chat/completions"


def model_address(server: Server) -> str:
    """The same server as a model's endpoint."""
    return f"openai:m@{server.base_url}"


def talked(
    *steps: Step,
    otherwise: Step | None = None,
    use: Callable[[Server], str] = http_address,
    options: dict[str, Any] | None = None,
    **keys: Any,
) -> tuple[Transcript, Server]:
    """One conversation with such a server, and the server."""
    patience = keys.pop("patience", QUICK)

    async def story() -> tuple[Transcript, Server]:
        async with asyncio.timeout(30), serving(*steps) as server:
            server.otherwise = otherwise or answer({"text": "fine"})
            async with reached(patience=patience) as factory:
                made = factory(use(server), **(options or {}))
                return await conversing(made, **{"max_rounds": 1, **keys}), server

    return asyncio.run(story())


def answer(body: object, status: int = 200) -> Step:
    """An http agent's answer."""

    async def step(server: Server, request: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=status)

    return step
