"""A real server that misbehaves: no lost call, no double count, no wrong blame."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Coroutine
from dataclasses import replace
from email.utils import format_datetime
from typing import Any

import pytest

from pytest_dialeval.errors import HarnessFault, ProviderFault
from pytest_dialeval.models import http
from pytest_dialeval.models.door import Door
from pytest_dialeval.models.retry import Patience
from pytest_dialeval.records.model import ChatAnswer, ModelToolCall
from pytest_dialeval.records.transcript import Usage

from .server import (
    KEY,
    QUICK,
    Step,
    call_to,
    chunk,
    completion,
    cut,
    door_to,
    drop,
    error,
    event,
    events_of,
    flood,
    free_port,
    hang,
    reply,
    say,
    serving,
    stream,
    until,
)

HTML = "<!DOCTYPE html><html><body>Bad gateway</body></html>"


def play(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine in a loop of its own; nothing in it may hang."""

    async def bounded() -> None:
        async with asyncio.timeout(30):
            await coroutine

    asyncio.run(bounded())


def answered(*steps: Step, deadline: float = 10, **spec: Any) -> tuple[ChatAnswer, int]:
    """The answer to one call, and how many requests it took."""
    found: list[tuple[ChatAnswer, int]] = []

    async def story() -> None:
        async with door_to(*steps) as (door, server):
            answer = await door.chat(call_to(server.base_url, **spec), deadline=deadline)
            assert door.in_flight() == {}
            found.append((answer, server.requests))

    play(story())
    return found[0]


def fault_of(*steps: Step, deadline: float = 10) -> tuple[ProviderFault, int]:
    """The fault of one call, and how many requests it took."""
    found: list[tuple[ProviderFault, int]] = []

    async def story() -> None:
        async with door_to(*steps) as (door, server):
            with pytest.raises(ProviderFault) as caught:
                await door.chat(call_to(server.base_url), deadline=deadline)
            assert door.in_flight() == {}
            assert KEY not in str(caught.value)
            found.append((caught.value, server.requests))

    play(story())
    return found[0]


# Answers


def test_an_answer_is_streamed_with_its_times_and_usage() -> None:
    async def story() -> None:
        async with door_to(say("Good day to you")) as (door, server):
            answer = await door.chat(call_to(server.base_url, temperature=0.5), deadline=5)
        assert answer.text == "Gooddaytoyou"
        assert (answer.finish, answer.model, answer.tries) == ("stop", "m-2026", 1)
        assert answer.usage == Usage(input_tokens=11, output_tokens=7)
        assert answer.first_token is not None and answer.seconds is not None
        assert 0 < answer.first_token <= answer.seconds < 5
        assert server.bodies == [
            {
                "model": "m",
                "messages": [{"role": "user", "content": "Hello?"}],
                "temperature": 0.5,
                "stream": True,
                "stream_options": {"include_usage": True},
            }
        ]
        assert server.headers[0]["Authorization"] == f"Bearer {KEY}"

    play(story())


def test_the_first_token_comes_before_the_last() -> None:
    async def story() -> None:
        more = asyncio.Event()
        begun = events_of("one two")[:2]

        async def end() -> None:
            await more.wait()

        async with door_to(stream([*begun, event(chunk({}, "stop"))], then=end())) as (
            door,
            server,
        ):
            waiting = asyncio.create_task(door.chat(call_to(server.base_url), deadline=5))
            await until(lambda: server.in_flight == 1)
            assert door.in_flight() == {"agent": 1}
            await asyncio.sleep(0.1)
            more.set()
            answer = await waiting
        assert answer.text == "one"
        assert answer.first_token is not None and answer.seconds is not None
        assert answer.first_token + 0.05 < answer.seconds

    play(story())


@pytest.mark.parametrize("step", [error, reply])
def test_a_key_that_is_cut_in_two_is_redacted_too(step: Any) -> None:
    said = "x" * 185 + f" {KEY} and so on" + "y" * 300
    with pytest.raises(ProviderFault) as caught:
        answered(*[step(400 if step is error else 200, said)] * 6)
    assert KEY[:8] not in str(caught.value)
    assert "[redacted OPENAI_API_KEY]" in str(caught.value)


def test_a_megabyte_is_sent_without_a_warning() -> None:
    async def story() -> None:
        async with door_to() as (door, server):
            call = replace(
                call_to(server.base_url), messages=({"role": "user", "content": "x" * (1 << 20)},)
            )
            assert (await door.chat(call, deadline=20)).text == "fine"
            assert server.headers[0]["Content-Type"] == "application/json"

    play(story())


def test_one_connection_carries_calls_one_after_another() -> None:
    async def story() -> None:
        async with door_to() as (door, server):
            for trial in range(5):
                await door.chat(call_to(server.base_url, trial=trial), deadline=5)
        assert server.requests == 5
        assert len(server.connections) == 1

    play(story())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (completion(None), ChatAnswer("", finish="stop")),
        (completion("cut of", "length"), ChatAnswer("cut of", finish="length")),
        (completion("", "content_filter"), ChatAnswer("", finish="content_filter")),
        (
            completion(None, refusal="I can't help."),
            ChatAnswer("", finish="stop", refusal="I can't help."),
        ),
        (
            completion(
                None,
                "tool_calls",
                tool_calls=[{"id": "c1", "function": {"name": "find", "arguments": '{"a": '}}],
            ),
            ChatAnswer("", (ModelToolCall("c1", "find", '{"a": '),), finish="tool_calls"),
        ),
        (completion('{"verdict": 3}'), ChatAnswer('{"verdict": 3}')),
    ],
    ids=["null content", "length", "content_filter", "refusal", "broken arguments", "schema"],
)
def test_odd_answers_are_answers(body: object, expected: ChatAnswer) -> None:
    answer, requests = answered(reply(body=body))
    assert requests == 1
    said = (answer.text, answer.tool_calls, answer.finish, answer.refusal)
    assert said == (expected.text, expected.tool_calls, expected.finish, expected.refusal)


def test_usage_that_is_repeated_counts_once() -> None:
    growing = [
        {**chunk({"content": "a"}), "usage": {"prompt_tokens": 11, "completion_tokens": 1}},
        {**chunk({"content": "b"}, "stop"), "usage": {"prompt_tokens": 11, "completion_tokens": 2}},
        {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 2}},
        {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 2}},
    ]
    answer, _ = answered(stream([*map(event, growing), event("[DONE]")]))
    assert answer.usage == Usage(input_tokens=11, output_tokens=2)


def test_bytes_that_come_one_by_one_are_put_together() -> None:
    data = b"".join([b": keep-alive\n\n", *events_of("谢谢 您")])
    answer, requests = answered(stream([data[at : at + 1] for at in range(len(data))]))
    assert (answer.text, answer.usage.output_tokens, requests) == ("谢谢您", 7, 1)


def test_a_whole_answer_is_taken_though_its_body_never_ends() -> None:
    *answer, _done = events_of("whole answer")
    began = time.perf_counter()
    found, requests = answered(hang([*answer, event("[DONE]")]))
    assert (found.text, requests) == ("wholeanswer", 1)
    assert time.perf_counter() - began < 1.5


def test_a_whole_answer_is_taken_though_the_connection_breaks_before_its_usage() -> None:
    pieces = [event(chunk({"content": "whole"})), event(chunk({}, "stop"))]
    found, requests = answered(cut(pieces))
    assert (found.text, found.usage, requests) == ("whole", Usage(), 1)


# Tries


@pytest.mark.parametrize(
    "bad",
    [
        error(429),
        error(429, retry_after="0.01"),
        error(500),
        error(502),
        error(503),
        error(504),
        reply(502, HTML, content_type="text/html"),
        reply(200, HTML, content_type="text/html"),
        reply(200, '{"choices": [{"mess'),
        reply(200, ""),
        reply(200, {"choices": []}),
        reply(200, {"hello": 1}),
        reply(200, {"error": {"message": "overloaded", "code": 503}}),
        stream([event(chunk({"content": "half"})), event({"error": {"message": "overloaded"}})]),
        stream([event(chunk({"content": "half"}))]),
        stream([event('{"choices": [{"de')]),
        stream([]),
        cut([event(chunk({"content": "half"}))]),
        cut(),
        drop(),
    ],
    ids=[
        *("429", "429 retry-after", "500", "502", "503", "504", "502 HTML", "HTML", "half JSON"),
        *("nothing", "empty choices", "another protocol", "error in a 200", "error in a stream"),
        *("stream without an end", "half an event", "empty stream", "reset in mid-body"),
        *("reset before the body", "no response"),
    ],
)
def test_what_passes_is_tried_again(bad: Step) -> None:
    answer, requests = answered(bad, bad)
    assert (answer.text, answer.tries, requests) == ("fine", 3, 3)
    assert answer.usage == Usage(input_tokens=11, output_tokens=7)


def test_six_tries_are_all() -> None:
    fault, requests = fault_of(*[error(503, "try later")] * 9)
    assert (requests, fault.tries, fault.status, fault.transient) == (6, 6, 503, True)
    port = str(fault).partition("127.0.0.1:")[2][:5].rstrip(":")
    expected = f"openai:m at 127.0.0.1:{port}: 503 Service Unavailable: try later (6 tries)"
    assert str(fault) == expected


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (error(400, "context too long", "context_length_exceeded"), "longer than the model can"),
        (error(403, "forbidden"), "may not use this model"),
        (error(404, "The model `m` does not exist", "model_not_found"), "check the model's name"),
        (error(422, "messages: bad"), "messages: bad"),
        (error(429, "You exceeded your quota", "insufficient_quota"), "credit is used up"),
        (reply(307, "", location="/elsewhere"), "307"),
    ],
)
def test_what_does_not_pass_is_not_tried_again(bad: Step, said: str) -> None:
    fault, requests = fault_of(bad)
    assert (requests, fault.transient) == (1, False)
    assert said in str(fault)


def test_a_refused_key_is_shown_once() -> None:
    async def story() -> None:
        wrong = error(401, f"Incorrect API key provided: {KEY}")
        async with door_to(wrong) as (door, server):
            texts = set()
            for trial in range(3):
                with pytest.raises(ProviderFault) as caught:
                    await door.chat(call_to(server.base_url, trial=trial), deadline=5)
                assert (caught.value.status, caught.value.transient) == (401, False)
                texts.add(str(caught.value))
            assert server.requests == 1
        (text,) = texts
        assert KEY not in text
        assert "[redacted OPENAI_API_KEY]; check the key in OPENAI_API_KEY" in text

    play(story())


def test_without_a_key_nothing_is_sent() -> None:
    async def story() -> None:
        door = Door(environment={})
        call = call_to("https://api.openai.com/v1", role="judge", model="gpt-5")
        with pytest.raises(ProviderFault, match="judge: no key for openai:gpt-5: set OPENAI_API"):
            await door.chat(call, deadline=5)
        await door.close()

    play(story())


def test_nobody_listens() -> None:
    async def story() -> None:
        door = Door(environment={}, patience=QUICK)
        port = free_port()
        words = f"connection refused by 127.0.0.1:{port}; is the server running"
        with pytest.raises(ProviderFault, match=words) as caught:
            await door.chat(call_to(f"http://127.0.0.1:{port}/v1"), deadline=5)
        assert (caught.value.status, caught.value.tries) == (None, 3)
        with pytest.raises(ProviderFault, match=words) as caught:  # what one found out all know
            await door.chat(call_to(f"http://127.0.0.1:{port}/v1"), deadline=5)
        assert (caught.value.status, caught.value.tries) == (None, 1)
        await door.close()

    play(story())


def test_a_server_that_does_not_speak_https_is_asked_once() -> None:
    async def story() -> None:
        door = Door(environment={"OPENAI_API_KEY": KEY}, patience=QUICK)
        async with serving() as server:
            place = server.base_url.partition("//")[2].partition("/")[0]
            words = rf"{place} does not speak https; is its address http://{place}\?"
            with pytest.raises(ProviderFault, match=words) as caught:
                await door.chat(call_to(server.base_url.replace("http:", "https:")), deadline=5)
        assert (caught.value.transient, caught.value.tries) == (False, 1)
        await door.close()

    play(story())


def test_a_server_that_comes_up_late_is_met() -> None:
    async def story() -> None:
        port = free_port()
        door = Door(environment={"OPENAI_API_KEY": KEY}, patience=QUICK)
        call = call_to(f"http://127.0.0.1:{port}/v1")
        with pytest.raises(ProviderFault, match="connection refused"):
            await door.chat(call, deadline=5)
        async with serving(port=port):
            assert (await door.chat(call, deadline=5)).text == "fine"
        with pytest.raises(ProviderFault) as caught:  # it answered: it may come again
            await door.chat(call, deadline=5)
        assert caught.value.tries == 6
        await door.close()

    play(story())


def test_a_host_that_is_not_there() -> None:
    async def story() -> None:
        door = Door(environment={}, patience=Patience(tries=2, first=0.001))
        with pytest.raises(ProviderFault, match="cannot find the host"):
            await door.chat(call_to("http://nowhere.invalid/v1"), deadline=5)
        await door.close()

    play(story())


def gone_for(seconds: float, patience: Patience) -> None:
    """Twenty conversations' calls while the server restarts."""

    async def story() -> None:
        port = free_port()
        door = Door(environment={}, patience=patience)
        base_url = f"http://127.0.0.1:{port}/v1"

        async def talk(trial: int) -> str:
            return (await door.chat(call_to(base_url, trial=trial), deadline=60)).text

        async with serving(port=port):
            assert await talk(0) == "fine"
        talks = [asyncio.create_task(talk(trial)) for trial in range(20)]
        await asyncio.sleep(seconds)
        async with serving(port=port) as server:
            assert await asyncio.gather(*talks) == ["fine"] * 20
            assert server.requests == 20
        await door.close()

    asyncio.run(story())


def test_the_server_is_gone_for_a_moment() -> None:
    gone_for(0.5, Patience(first=0.05))


@pytest.mark.slow
def test_the_server_is_gone_for_20_seconds() -> None:
    gone_for(20, Patience())


# Retry-After


def after(**headers: str) -> float:
    """Seconds from a 429 with these headers to the next request."""

    async def story() -> None:
        async with door_to(error(429, **headers)) as (door, server):
            began = time.perf_counter()
            answer = await door.chat(call_to(server.base_url), deadline=30)
            found.append(time.perf_counter() - began)
            assert (answer.text, answer.tries, door.throttled) == ("fine", 2, 1)

    found: list[float] = []
    play(story())
    return found[0]


def test_retry_after_in_seconds() -> None:
    assert 0.3 <= after(retry_after="0.3") < 2


def test_retry_after_as_a_date_by_the_endpoints_own_clock() -> None:
    # Its clock is a year behind ours, as ours may be.
    then = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
    later = format_datetime(then + datetime.timedelta(seconds=1), usegmt=True)
    assert 1 <= after(retry_after=later, date=format_datetime(then, usegmt=True)) < 3


def test_an_endpoint_that_wants_us_back_after_the_deadline_is_not_waited_for() -> None:
    began = time.perf_counter()
    fault, requests = fault_of(error(429, "slow down", retry_after="3600"))
    assert time.perf_counter() - began < 3
    assert (requests, fault.status, fault.transient) == (1, 429, True)
    assert "the next try would be in 3.6e+03 s, too late" in str(fault)


def test_retry_after_holds_other_calls_back_too() -> None:
    async def story() -> None:
        go_on = asyncio.Event()
        slow = [stream(events_of("fine"), then=_set(go_on)) for _ in range(9)]
        async with door_to(*slow, error(429, retry_after="0.4")) as (door, server):
            calls = [call_to(server.base_url, trial=trial) for trial in range(10)]
            tasks = [asyncio.create_task(door.chat(each, deadline=5)) for each in calls]
            await until(lambda: door.throttled == 1)
            began = time.perf_counter()
            go_on.set()
            await until(lambda: server.in_flight == 0)  # so that the limit, 7 by now, has room
            late = asyncio.create_task(door.chat(call_to(server.base_url, trial=99), deadline=5))
            await asyncio.sleep(0.1)
            assert (door.waiting(), server.requests) == (1, 10)
            await asyncio.gather(late, *tasks)
            assert time.perf_counter() - began > 0.2
            assert (door.waiting(), server.requests) == (0, 12)

    play(story())


async def _set(event: asyncio.Event) -> None:
    await event.wait()


# Deadlines, cancellation, machines


def test_a_call_that_hangs_ends_at_its_deadline() -> None:
    began = time.perf_counter()
    fault, requests = fault_of(hang([event(chunk({"content": "half"}))]), deadline=0.3)
    assert 0.2 < time.perf_counter() - began < 3
    assert (requests, fault.status, fault.transient) == (1, None, True)
    assert "limits.turn_timeout gives a slow model more" in str(fault)
    assert "within 0.3 s" in str(fault)


def test_a_hung_try_leaves_time_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Patience, "share", staticmethod(lambda left: 0.2))
    answer, requests = answered(hang(), deadline=10)
    assert (answer.text, answer.tries, requests) == ("fine", 2, 2)
    assert answer.seconds is not None and answer.seconds < 0.2


def test_a_body_without_an_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MOST", 1 << 20)
    answer, requests = answered(flood(event(chunk({"content": "x" * 10_000}))))
    assert (answer.text, requests) == ("fine", 2)


def test_a_slow_drip_of_nothing_ends_at_the_deadline() -> None:
    async def drip(server: object, request: Any) -> Any:
        from aiohttp import web

        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        while True:
            await response.write(b": ping\n\n")
            await asyncio.sleep(0.02)

    fault, _ = fault_of(drip, deadline=0.3)
    assert "within 0.3 s" in str(fault)


def test_a_cancelled_call_gives_everything_back() -> None:
    async def story() -> None:
        async with door_to(hang(), hang()) as (door, server):
            calls = [call_to(server.base_url, trial=each, concurrency=1) for each in range(3)]
            tasks = [asyncio.create_task(door.chat(each, deadline=20)) for each in calls]
            await until(lambda: server.in_flight == 1)
            assert (door.in_flight(), door.waiting()) == ({"agent": 1}, 2)
            began = time.perf_counter()
            for each in tasks:
                each.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert time.perf_counter() - began < 0.25
            assert all(isinstance(each, asyncio.CancelledError) for each in done)
            assert (door.in_flight(), door.waiting(), server.requests) == ({}, 0, 1)
            await until(lambda: server.in_flight == 0)  # the connection was closed
            server.steps.clear()
            assert (await door.chat(calls[0], deadline=5)).text == "fine"

    play(story())


def test_wall_clocks_that_jump_move_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = iter(range(0, 10**9, 10**5))
    monkeypatch.setattr(time, "time", lambda: float(next(jumps)))
    answer, requests = answered(error(500), deadline=5)
    assert (answer.text, requests) == ("fine", 2)
    assert answer.seconds is not None and answer.seconds < 5


def test_no_file_descriptor_is_left() -> None:
    async def story() -> None:
        door = Door(environment={}, patience=Patience(tries=2, first=0.001))
        call = call_to("http://127.0.0.1:9/v1")
        line = door._line(call.spec)

        async def send(*_: object) -> ChatAnswer:
            raise http.no_answer(OSError(24, "Too many open files"))

        line.transport.send = send  # type: ignore[method-assign]
        with pytest.raises(HarnessFault, match="ulimit -n"):
            await door.chat(call, deadline=5)
        assert door.throttled == 0
        await door.close()

    play(story())


# Parameters that an endpoint does not take


def test_parameters_that_are_refused_are_left_out_and_said() -> None:
    async def story() -> None:
        async with door_to(
            error(400, "Unrecognized request argument: stream_options"),
            error(400, "'seed' is not supported"),
            error(400, "Invalid schema for response_format 'json_schema'"),
        ) as (door, server):
            call = call_to(server.base_url, seed=7)
            asked = {"schema": {"type": "object"}}
            first = await door.chat(_with(call, **asked), deadline=5)
            second = await door.chat(_with(call, trial=2, **asked), deadline=5)
            assert (first.tries, second.tries, server.requests) == (4, 1, 5)
            last = server.bodies[-1]
            assert "seed" not in last and "stream_options" not in last
            assert last["response_format"] == {"type": "json_object"}
            assert [each.split(" refused ")[1].split(";")[0] for each in door.notes] == [
                "stream_options",
                "seed",
                "response_format",
            ]

    play(story())


def _with(call: Any, **changes: Any) -> Any:
    from dataclasses import replace

    return replace(call, **changes)


# Many at once


def test_a_throttled_crowd_loses_nobody() -> None:
    async def story() -> None:
        steps = [
            error(429, retry_after="0.05") if each % 7 == 3 else say("fine") for each in range(100)
        ]
        async with door_to(*steps, patience=Patience(first=0.01)) as (door, server):
            calls = [call_to(server.base_url, trial=trial) for trial in range(100)]
            answers = await asyncio.gather(*(door.chat(each, deadline=25) for each in calls))
            assert [each.text for each in answers] == ["fine"] * 100
            assert sum(each.tries for each in answers) == server.requests
            assert door.throttled == server.requests - 100 > 0
            assert server.most_in_flight <= 20

    play(story())


def test_a_hard_cap_holds_for_all_roles_of_an_endpoint() -> None:
    async def story() -> None:
        async with door_to() as (door, server):
            agent = [call_to(server.base_url, trial=each, concurrency=3) for each in range(20)]
            judge = [call_to(server.base_url, trial=each, role="judge") for each in range(20)]
            await asyncio.gather(*(door.chat(each, deadline=20) for each in [*agent, *judge]))
            assert server.requests == 40
            assert server.most_in_flight <= 3

    play(story())
