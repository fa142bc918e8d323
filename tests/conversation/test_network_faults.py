"""The table of faults, row by row, for both kinds of agents over the network.

openai: and http agents meet the same server; outcome, blame and number of requests are checked.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from pytest_dialeval.models.retry import Patience
from pytest_dialeval.records.suite import Limits
from tests.conversation.stage import conversing, said
from tests.conversation.web_server import (
    answer,
    http_address,
    model_address,
    reached,
    talked,
)
from tests.models.server import (
    KEY,
    QUICK,
    Server,
    Step,
    chunk,
    completion,
    cut,
    drop,
    error,
    event,
    flood,
    free_port,
    hang,
    reply,
    say,
    serving,
    until,
)

PROVIDER, AGENT, REPLY = "provider_error", "agent_error", "limit_reached"
HTML = "<!DOCTYPE html><html><body>Bad gateway</body></html>"
KINDS = {"openai": model_address, "http": http_address}
TRIES = QUICK.tries
OWN = 3  # of an http agent that fails by itself

ROWS: dict[str, tuple[Step, str, str, int]] = {
    # what happens at each try: outcome of openai:, of http, requests
    "reset before the answer": (drop(), PROVIDER, PROVIDER, TRIES),
    "reset in mid-body": (cut([event(chunk({"content": "Hel"}))]), PROVIDER, PROVIDER, TRIES),
    "429": (error(429), PROVIDER, PROVIDER, TRIES),
    "502": (error(502), PROVIDER, PROVIDER, TRIES),
    "503": (error(503), PROVIDER, PROVIDER, TRIES),
    "504": (error(504), PROVIDER, PROVIDER, TRIES),
    "502 in HTML": (reply(502, HTML, content_type="text/html"), PROVIDER, PROVIDER, TRIES),
    "500": (error(500), PROVIDER, AGENT, TRIES),
    "401": (error(401), PROVIDER, PROVIDER, 1),
    "403": (error(403), PROVIDER, PROVIDER, 1),
    "400": (error(400), PROVIDER, AGENT, 1),
    "404": (error(404), PROVIDER, AGENT, 1),
    "422": (error(422), PROVIDER, AGENT, 1),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_table(row: str, kind: str):
    step, of_openai, of_http, requests = ROWS[row]
    transcript, server = talked(otherwise=step, use=KINDS[kind])
    outcome = of_openai if kind == "openai" else of_http
    assert transcript.outcome == outcome, transcript.reason
    # A connection that was closed while idle is opened once more at once, and that counts.
    assert server.requests == (OWN if (row, kind) == ("500", "http") else requests)
    assert "127.0.0.1" in transcript.reason and "the agent raised" not in transcript.reason
    assert "\n" not in transcript.reason and len(transcript.turns) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", [each for each in ROWS if ROWS[each][3] > 1])
def test_what_passes_is_survived(row: str, kind: str):
    step = ROWS[row][0]
    good = say("fine") if kind == "openai" else answer({"text": "fine"})
    transcript, server = talked(step, step, otherwise=good, use=KINDS[kind])
    assert said(transcript, "agent") == ["fine"] and server.requests == 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("127.0.0.1", "connection refused by 127.0.0.1:"),
        ("nobody.invalid", "cannot find the host"),
        ("a..b", "cannot find the host"),
    ],
)
def test_nobody_there(kind: str, host: str, words: str):
    address = f"http://{host}:{free_port()}/v1"

    async def story():
        async with reached() as factory:
            made = factory(f"openai:m@{address}" if kind == "openai" else address)
            return await conversing(made)

    transcript = asyncio.run(story())
    assert transcript.outcome == PROVIDER
    assert words in transcript.reason
    tries = {"127.0.0.1": 3, "nobody.invalid": TRIES, "a..b": 1}[host]
    assert (f"({tries} tries)" in transcript.reason) == (tries > 1)


@pytest.mark.parametrize("kind", KINDS)
def test_forty_conversations_with_a_server_that_does_not_run_are_over_soon(kind: str):
    address = f"http://127.0.0.1:{free_port()}/v1"

    async def story():
        made: Any
        async with reached(patience=Watched(first=0.02)) as factory:
            made = factory(f"openai:m@{address}" if kind == "openai" else address)
            first = await conversing(made)
            rest = [await conversing(made, trial=each) for each in range(2, 41)]
            return first, rest

    first, rest = asyncio.run(story())
    assert "(3 tries)" in first.reason
    assert {each.outcome for each in rest} == {PROVIDER}
    assert not [each for each in rest if "tries" in each.reason]


SLOW: dict[str, Step] = {
    "no answer at all": hang(),
    "slow drip": hang([event(chunk({"content": "a"})), event(chunk({"content": "b"}))]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", SLOW)
def test_past_the_turn_s_deadline(row: str, kind: str):
    limits = Limits(turn_timeout=0.3)
    transcript, server = talked(otherwise=SLOW[row], use=KINDS[kind], limits=limits)
    assert transcript.outcome == (PROVIDER if kind == "openai" else AGENT)
    assert "no answer within 0.3 s" in transcript.reason or "no answer within 0.29" in (
        transcript.reason
    )
    assert server.requests == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_that_never_ends(kind: str):
    transcript, server = talked(otherwise=flood(b"x" * 65536), use=KINDS[kind])
    assert transcript.outcome == (PROVIDER if kind == "openai" else AGENT)
    assert "16 MB" in transcript.reason
    assert server.requests == (TRIES if kind == "openai" else 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seconds", ["3", "Thu, 01 Jan 2026 00:00:03 GMT"])
def test_retry_after_beyond_the_deadline_is_not_waited_for(kind: str, seconds: str):
    step = error(429, Retry_After=seconds, Date="Thu, 01 Jan 2026 00:00:00 GMT")
    limits = Limits(turn_timeout=2)
    transcript, server = talked(otherwise=step, use=KINDS[kind], limits=limits)
    assert transcript.outcome == PROVIDER and server.requests == 1
    assert "429" in transcript.reason and "the next try would be in 3 s" in transcript.reason


@pytest.mark.parametrize("kind", KINDS)
def test_retry_after_is_waited_for(kind: str):
    good = say("fine") if kind == "openai" else answer({"text": "fine"})
    step = error(429, Retry_After="0.05")
    transcript, server = talked(step, otherwise=good, use=KINDS[kind])
    assert said(transcript, "agent") == ["fine"] and server.requests == 2
    assert (transcript.turns[1].latency or 0) > 0.05


REPLIES: dict[str, tuple[object, str]] = {
    "refused": (completion(None, refusal="I won't."), "I won't."),
    "filtered": (completion(None, "content_filter"), ""),
    "cut": (completion("Half a", "length"), "Half a"),
    "empty": (completion(""), ""),
    "null": (completion(None), ""),
}


@pytest.mark.parametrize("row", REPLIES)
def test_refused_filtered_cut_or_empty_text_is_the_model_s_reply(row: str):
    body, text = REPLIES[row]
    transcript, server = talked(otherwise=reply(200, body), use=model_address)
    assert (transcript.outcome, said(transcript, "agent")) == (REPLY, [text])
    assert server.requests == 1


def test_broken_tool_arguments_are_the_model_s_reply():
    function = {"name": "price", "arguments": '{"item": '}
    call = {"id": "c1", "type": "function", "function": function}
    first = reply(200, completion(None, "tool_calls", tool_calls=[call]))
    transcript, server = talked(first, otherwise=say("Sorry"), use=model_address)
    assert transcript.outcome == REPLY
    [made] = transcript.turns[1].tool_calls
    assert (made.arguments, made.error) == ('{"item": ', True)
    assert server.bodies[1]["messages"][-1]["role"] == "tool"


BROKEN: dict[str, tuple[Step, str]] = {
    "HTML": (reply(200, HTML, content_type="text/html"), "HTML instead of JSON: '<!DOCTYPE html>"),
    "broken JSON": (reply(200, '{"text": "Hel'), 'the answer is not JSON: \'{"text": "Hel\''),
    "empty": (reply(200, ""), "the answer is empty"),
    "plain text": (reply(200, "Hello", content_type="text/plain"), "is not JSON: 'Hello'"),
    "a list": (answer(["Hello"]), 'is no object such as {"text": "Hello"}'),
    "a text": (answer("Hello"), "'Hello' is no object"),
    "empty object": (answer({}), "an empty dict"),
    "wrong key": (answer({"txt": "Hello"}), "has the key 'txt'; text, tool_calls, artifacts"),
    "wrong kind": (answer({"text": 3}), "text is 3; it must be a str"),
    "wrong tool call": (answer({"tool_calls": [{"nam": "x"}]}), "tool_calls[0] has the key 'nam'"),
    "nested": (reply(200, "[" * 100_000), "is not JSON: '[["),
    "no content": (reply(204, ""), "the answer is empty"),
    "redirect": (
        reply(302, "", Location="http://elsewhere.example/login?key=x"),
        "it leads to http://elsewhere.example/login, and no redirect is followed",
    ),
    "not implemented": (error(501), "501 Not Implemented: "),
}


@pytest.mark.parametrize("row", BROKEN)
def test_a_broken_contract_is_the_http_agent_s_error(row: str):
    step, words = BROKEN[row]
    transcript, server = talked(otherwise=step)
    assert transcript.outcome == AGENT
    assert words in transcript.reason and "\n" not in transcript.reason
    assert len(transcript.reason) < 500 and server.requests == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_refused_key_is_said_once_in_one_message_and_shown_no_more(kind: str):
    async def story() -> tuple[list[str], int]:
        async with serving() as server, reached() as factory:
            server.otherwise = error(401, f"{KEY} is wrong")
            made = factory(
                KINDS[kind](server),
                **({} if kind == "openai" else {"headers": {"X-Key": "${SHOP_KEY}"}}),
            )
            talks = [await conversing(made, trial=each) for each in range(1, 4)]
            assert {each.outcome for each in talks} == {PROVIDER}
            return [each.reason for each in talks], server.requests

    reasons, requests = asyncio.run(story())
    assert len(set(reasons)) == 1 and requests == 1
    assert KEY not in reasons[0] and "[redacted" in reasons[0]


@dataclass(frozen=True)
class Watched(Patience):
    """Tells when a try has failed."""

    failed: asyncio.Event = field(default_factory=asyncio.Event)

    def wait_by(self, *what: Any) -> float:
        self.failed.set()
        return super().wait_by(*what)


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_is_gone_in_mid_conversation_and_comes_back(kind: str):
    good = say("fine") if kind == "openai" else answer({"text": "fine"})
    port = free_port()

    async def story() -> None:
        patience = Watched(first=0.05)
        turn = asyncio.Event()

        async def first(server: Server, request: web.Request) -> web.StreamResponse:
            turn.set()
            return await good(server, request)

        async with asyncio.timeout(20), reached(patience=patience) as factory:
            async with serving(first, port=port) as server:
                server.otherwise = drop()
                talk = asyncio.create_task(conversing(factory(KINDS[kind](server)), max_rounds=2))
                await turn.wait()
                await patience.failed.wait()
            async with serving(port=port) as server:
                server.otherwise = good
                transcript = await talk
                assert server.requests == 1
        assert said(transcript, "agent") == ["fine", "fine"]

    asyncio.run(story())


@pytest.mark.parametrize("kind", KINDS)
def test_cancelled_in_mid_call_leaves_nothing_open(kind: str):
    async def story() -> None:
        async with asyncio.timeout(20), serving() as server:
            server.otherwise = hang([b"{"])
            async with reached(patience=Patience()) as factory:
                talk = asyncio.create_task(conversing(factory(KINDS[kind](server))))
                await until(lambda: server.in_flight == 1)
                talk.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await talk
                await until(lambda: server.in_flight == 0)
                assert server.cancelled == 1
            others = asyncio.all_tasks() - {asyncio.current_task()}
            assert not [each for each in others if "agent" in each.get_name()]

    asyncio.run(story())
