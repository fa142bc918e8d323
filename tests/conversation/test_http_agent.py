"""An http agent: what is sent, what is read, and that no key is told."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.conversation.agent import LimitedFactory
from pytest_dialeval.conversation.http_headers import headers_of
from pytest_dialeval.conversation.resolve import agent_factory, secret_variables
from pytest_dialeval.conversation.web import Request, Web
from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.records.suite import AgentSpec, Limits
from pytest_dialeval.records.transcript import Artifact, ToolCall, Usage
from tests.conversation.stage import MATCHERS, Folder, conversing, said
from tests.conversation.web_server import answer, http_address, reached, talked
from tests.models.server import KEY, drop, error, hang, reply, serving

HEADERS = {"Authorization": "Bearer ${SHOP_KEY}", "X-Team": "red"}


def test_what_is_sent():
    transcript, server = talked(
        answer({"text": "Ten."}),
        answer({"text": "Bye."}),
        max_rounds=2,
        prompt="You are a clerk.",
        variables={"fee": 3},
        language="de",
    )
    assert said(transcript, "agent") == ["Ten.", "Bye."]
    first, second = server.bodies
    session, seed = first["session"], first["seed"]
    assert len(session) == 32 and len(seed) == 14
    assert first == {
        "session": session,
        "turn": 2,
        "message": "hello",
        "messages": [{"role": "user", "content": "hello"}],
        "task": "task",
        "language": "de",
        "variables": {"fee": 3},
        "prompt": "You are a clerk.",
        "seed": seed,
    }
    assert (second["session"], second["turn"]) == (session, 4)
    assert [each["role"] for each in second["messages"]] == ["user", "assistant", "user"]
    headers = server.headers[0]
    assert headers["Content-Type"] == "application/json"
    assert headers["Idempotency-Key"] == f"{session}-2"
    assert "Authorization" not in headers


def test_the_folder_to_work_in(tmp_path: Path):
    _, server = talked(site=Folder(tmp_path / "work"))
    assert server.bodies[0]["workspace"] == str(tmp_path / "work")


def test_the_last_message_alone():
    _, server = talked(options={"history": "last"})
    assert server.bodies[0].keys() == {"session", "turn", "message", "task", "language", "seed"}


def test_an_agent_that_opens_hears_nothing():
    transcript, server = talked(opening="agent")
    assert said(transcript, "agent") == ["fine", "fine"]
    assert (server.bodies[0]["message"], server.bodies[0]["messages"]) == (None, [])


@pytest.mark.parametrize(("prompt", "sent"), [("Mine.", "Mine."), (None, None)])
def test_a_prompt_of_its_own(prompt: str | None, sent: str | None):
    _, server = talked(prompt="The task's", options={"prompt": prompt})
    assert server.bodies[0].get("prompt") == sent


def test_all_that_may_be_answered():
    call = {"name": "find", "arguments": {"id": 1}, "id": "c", "result": {"price": 3}}
    whole = {
        "text": "It costs 3.\x1b[31m",
        "tool_calls": [call],
        "artifacts": [{"name": "bill", "text": "3"}],
        "usage": {"input_tokens": 7},
        "hang_up": True,
    }
    transcript, _ = talked(answer(whole), max_rounds=5)
    turn = transcript.turns[1]
    assert (turn.text, turn.usage) == ("It costs 3.", Usage(input_tokens=7))
    assert turn.tool_calls == (ToolCall("find", {"id": 1}, "c", '{"price": 3}'),)
    assert turn.artifacts == (Artifact("bill", "3"),)
    assert (transcript.outcome, transcript.ended_by) == ("completed", "agent")


def test_an_agent_that_cannot_be_measured_says_so():
    transcript, _ = talked(answer({"not_measured": "the database is down"}, status=201))
    assert (transcript.outcome, transcript.reason) == ("provider_error", "the database is down")


def test_lone_surrogates_do_no_harm():
    transcript, _ = talked(reply(200, '{"text": "a\\ud800b"}'))
    assert said(transcript, "agent") == ["a\ufffdb"]


def test_a_try_that_is_repeated_can_be_told_from_a_new_turn():
    _, server = talked(drop(), error(503), max_rounds=2)
    keys = [each["Idempotency-Key"] for each in server.headers]
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert server.bodies[0] == server.bodies[1]


def test_what_is_not_foreseen_is_not_the_agent_s(caplog: pytest.LogCaptureFixture):
    class Broken(Web):
        async def post(self, *args: object, **keys: object) -> Any:
            raise RuntimeError(f"a bug with {KEY}")

    web = Broken(environment={"SHOP_KEY": KEY})
    spec = AgentSpec("a", "http://x.example/", {"headers": HEADERS})
    make = agent_factory(spec, rootdir=Path("/"), matchers=MATCHERS, web=web)
    transcript = asyncio.run(conversing(make))
    assert transcript.outcome == "harness_error"
    for told in (transcript.reason, caplog.text):
        assert "RuntimeError: a bug with [redacted SHOP_KEY]" in told and KEY not in told


def test_lateness_says_what_happened_before():
    limits = Limits(turn_timeout=0.3)
    transcript, server = talked(error(503, "busy"), otherwise=hang(), limits=limits)
    assert transcript.outcome == "agent_error" and server.requests == 2
    told = transcript.reason.partition("/chat/completions: ")[2]
    assert told.startswith("no answer within 0.3 s (limits.turn_timeout) (2 tries; the last")
    assert "503 Service Unavailable" in told


def test_all_agents_share_one_session():
    async def story() -> None:
        async with serving() as server, reached() as factory:
            server.otherwise = answer({"text": "fine"})
            address = http_address(server)
            for made in (factory(address), factory(f"{address}?v=2")):
                await conversing(made, max_rounds=2)
            assert (server.requests, len(server.connections)) == (4, 1)

    asyncio.run(story())


def test_concurrency_is_of_conversations():
    async def story() -> None:
        async with serving() as server, reached() as factory:
            server.otherwise = answer({"text": "fine"})
            made = factory(http_address(server), concurrency=2)
            assert isinstance(made, LimitedFactory)
            await asyncio.gather(*(conversing(made, max_rounds=2) for _ in range(6)))
            assert server.requests == 12 and server.most_in_flight <= 2

    asyncio.run(story())


# Keys


def test_headers_have_the_values_of_variables():
    _, server = talked(options={"headers": HEADERS})
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert server.headers[0]["X-Team"] == "red"


@pytest.mark.parametrize(
    "step",
    [
        error(400, f"bad key Bearer {KEY}"),
        error(403, f"bad key {KEY}"),
        error(500, KEY),
        error(401, "x" * 190 + KEY),  # the end of what is shown
        reply(200, f"<html>{KEY}"),
        reply(200, "y" * 190 + KEY),
        answer({"text": 3, KEY: 1}),
        answer([KEY]),
        answer({"text": [KEY]}),
        answer({"not_measured": f"the key {KEY} is wrong"}),
        reply(302, "", Location=f"https://user:{KEY}@x.example/{KEY}"),
    ],
)
def test_no_key_is_told(step: Any):
    transcript, _ = talked(otherwise=step, options={"headers": HEADERS})
    assert transcript.outcome in ("agent_error", "provider_error")
    assert KEY[:12] not in transcript.reason


def test_an_answer_that_repeats_a_key_is_kept_without_it():
    whole = {"text": f"Your key is {KEY}!", "tool_calls": [{"name": "x", "arguments": {"k": KEY}}]}
    transcript, _ = talked(answer(whole), options={"headers": HEADERS})
    turn = transcript.turns[1]
    assert turn.text == "Your key is [redacted SHOP_KEY]!"
    assert turn.tool_calls[0].arguments == {"k": "[redacted SHOP_KEY]"}


def test_a_key_does_not_follow_a_redirect():
    async def story() -> None:
        async with serving() as other, serving() as server, reached() as factory:
            server.otherwise = reply(307, "", Location=http_address(other))
            made = factory(http_address(server), headers=HEADERS)
            assert (await conversing(made)).outcome == "agent_error"
            assert (server.requests, other.requests) == (1, 0)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "header Authorization needs the variable SHOP_KEY, which is not set"),
        ({"SHOP_KEY": " "}, "which is not set"),
        ({"SHOP_KEY": "secret\nX-Evil: 1"}, "SHOP_KEY holds characters that no header may have"),
        ({"SHOP_KEY": "schlüssel"}, "SHOP_KEY holds characters that no header may have"),
    ],
)
def test_a_variable_that_cannot_be_used(environment: dict[str, str], words: str):
    async def story() -> None:
        web = Web(environment=environment)
        spec = AgentSpec("a", "http://localhost:9/x", {"headers": HEADERS})
        make = agent_factory(spec, rootdir=Path("/"), matchers=MATCHERS, web=web)
        transcript = await conversing(make)
        assert transcript.outcome == "harness_error" and words in transcript.reason
        assert "secret" not in transcript.reason

    asyncio.run(story())


def test_nothing_that_holds_a_key_shows_it():
    headers = headers_of(HEADERS, {"SHOP_KEY": KEY})
    assert KEY not in repr(headers) and headers.sent["Authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(Request("http://x/", headers.sent, b"{}"))


def test_variables_that_hold_secrets():
    options = {"headers": {**HEADERS, "X-Two": "${A}-${B}"}}
    assert secret_variables(AgentSpec("a", "http://x/", options)) == ("SHOP_KEY", "A", "B")
    assert secret_variables(AgentSpec("a", "openai:m", {"api_key_env": "K"})) == ("K",)
    assert secret_variables(AgentSpec("a", "openai:m")) == ()


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("http:", "use must be a URL such as http://localhost:8000/chat, not 'http:'"),
        ("https://user:pw@x.example/", "use must hold no user and password"),
        ("http://[::1", "use must be a URL"),
        ("http://x.example/#top", "use must hold no fragment"),
    ],
)
def test_what_is_no_address(use: str, words: str):
    with pytest.raises(HarnessFault) as caught:
        agent_factory(AgentSpec("a", use), rootdir=Path("/"), matchers=MATCHERS)
    assert words in str(caught.value) and "pw" not in json.dumps(str(caught.value))


def test_without_connections_it_can_be_checked_and_not_talked_to():
    make = agent_factory(
        AgentSpec("a", "http://x.example/?k=v"), rootdir=Path("/"), matchers=MATCHERS
    )
    transcript = asyncio.run(conversing(make))
    assert transcript.outcome == "harness_error"
    assert transcript.reason == "http://x.example/: there are no connections here"
