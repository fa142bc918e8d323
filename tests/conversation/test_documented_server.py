"""The server of the how-to page fulfils the contract that the page is about."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from pytest_dialeval.records.task import State, Transition
from tests.conversation.stage import conversing, persona, said
from tests.conversation.web_server import reached
from tests.docs.pages import ROOT, blocks

PAGE = ROOT / "docs" / "how-to" / "test-an-agent-over-http.md"


def test_the_documented_server_answers():
    [source] = [each.text for each in blocks(PAGE) if each.file == "server.py"]
    names: dict[str, Any] = {"__name__": "server"}
    exec(source, names)

    async def story() -> None:
        runner = web.AppRunner(names["application"](), shutdown_timeout=0.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            address = f"http://127.0.0.1:{runner.addresses[0][1]}/chat"
            async with reached() as factory:
                asks = factory(address)
                transcript = await conversing(asks, user("When does it leave?"), variables=LINE)
        finally:
            await runner.cleanup()
        assert said(transcript, "agent") == ["It leaves at 9:40.", "You are welcome."]
        assert transcript.turns[1].tool_calls[0].arguments == LINE
        assert transcript.ended_by == "agent"

    asyncio.run(story())


LINE = {"line": 4}


def user(*lines: str) -> Any:
    asks = State("start", lines, next=(Transition("thanks"),))
    return persona(asks, State("thanks", ("Thanks.",), next=(Transition("thanks"),)))
