"""Client objects of the user's behind the same door."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import openai
import pytest

from pytest_dialeval.errors import ProviderFault
from pytest_dialeval.models.door import Door
from pytest_dialeval.records.model import ChatAnswer, ChatCall
from pytest_dialeval.records.transcript import Usage

from .server import KEY, QUICK, call_to, cut, error, free_port, reply, say, serving


def play(coroutine: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30):
            await coroutine

    asyncio.run(bounded())


def own_call(model: str = "m", **spec: Any) -> ChatCall:
    return call_to("", endpoint="python:clients.py:client", model=model, **spec)


def door_with(client: object) -> Door:
    """A door that finds this object behind `python:clients.py:client`."""

    def load(reference: str) -> object:
        assert reference == "clients.py:client"
        return client

    return Door(environment={}, load_object=load, patience=QUICK)


def client_of(base_url: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=base_url, api_key=KEY)


def test_an_answer_through_the_users_client() -> None:
    async def story() -> None:
        async with serving() as server:
            client = client_of(server.base_url)
            door = door_with(client)
            answer = await door.chat(own_call(seed=3), deadline=10)
            await door.close()
            assert not client.is_closed()  # it is the user's
            await client.close()
        assert (answer.text, answer.finish, answer.model) == ("fine", "stop", "m-2026")
        assert answer.usage == Usage(input_tokens=11, output_tokens=7)
        assert answer.first_token is not None and answer.seconds is not None
        assert 0 < answer.first_token <= answer.seconds
        assert server.bodies[0]["messages"] == [{"role": "user", "content": "Hello?"}]
        assert server.bodies[0]["seed"] == 3

    play(story())


def test_a_client_that_a_function_makes_is_closed() -> None:
    async def story() -> None:
        made = []
        async with serving() as server:

            def client() -> openai.AsyncOpenAI:
                made.append(client_of(server.base_url))
                return made[-1]

            door = door_with(client)
            for _ in range(3):
                assert (await door.chat(own_call(), deadline=10)).text == "fine"
            await door.close()
        (one,) = made
        assert one.is_closed()

    play(story())


def test_faults_are_tried_again_by_us_and_not_twice_by_the_client() -> None:
    async def story() -> None:
        steps = [error(429, retry_after="0.01"), error(500), reply(200, {"choices": []}), cut()]
        async with serving(*steps) as server:
            client = client_of(server.base_url)
            door = door_with(client)
            answer = await door.chat(own_call(), deadline=10)
            assert (answer.text, answer.tries, server.requests) == ("fine", 5, 5)
            assert door.throttled == 1
            await client.close()

    play(story())


@pytest.mark.parametrize(
    ("status", "code", "transient"), [(401, "", False), (404, "", False), (503, "", True)]
)
def test_faults_say_the_status(status: int, code: str, transient: bool) -> None:
    async def story() -> None:
        async with serving(*[error(status, "no luck", code)] * 6) as server:
            client = client_of(server.base_url)
            with pytest.raises(ProviderFault, match=f"clients.py:client:m: {status}: no luck") as e:
                await door_with(client).chat(own_call(), deadline=10)
            assert (e.value.status, e.value.transient) == (status, transient)
            assert server.requests == (6 if transient else 1)
            await client.close()

    play(story())


def test_nobody_listens() -> None:
    async def story() -> None:
        client = client_of(f"http://127.0.0.1:{free_port()}/v1")
        with pytest.raises(ProviderFault, match=r"APIConnectionError.*6 tries") as caught:
            await door_with(client).chat(own_call(), deadline=10)
        assert (caught.value.status, caught.value.transient) == (None, True)
        await client.close()

    play(story())


def test_parameters_that_azure_does_not_take_are_left_out() -> None:
    async def story() -> None:
        async with serving(error(400, "Unsupported parameter: 'seed'"), say("fine")) as server:
            client = client_of(server.base_url)
            door = door_with(client)
            assert (await door.chat(own_call(seed=1), deadline=10)).text == "fine"
            assert ["seed" in each for each in server.bodies] == [True, False]
            assert len(door.notes) == 1
            await client.close()

    play(story())


class Double:
    """A user's own chat, without any client."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    async def chat(self, call: ChatCall, *, deadline: float) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_an_object_that_answers_itself() -> None:
    async def story() -> None:
        answer = ChatAnswer("mine")
        assert await door_with(Double(answer)).chat(own_call(""), deadline=1) is answer
        with pytest.raises(ProviderFault, match="must give a ChatAnswer, not str"):
            await door_with(Double("text")).chat(own_call(""), deadline=1)
        with pytest.raises(ProviderFault, match=r"clients\.py:client: KeyError: 'x'"):
            await door_with(Double(KeyError("x"))).chat(own_call(""), deadline=1)
        known = ProviderFault("known", status=500)
        with pytest.raises(ProviderFault) as caught:
            await door_with(Double(known)).chat(own_call(""), deadline=1)
        assert caught.value is known

    play(story())


@pytest.mark.parametrize(
    ("client", "model", "text"),
    [
        (openai.OpenAI(api_key=KEY, base_url="http://127.0.0.1:1"), "m", "a client that blocks"),
        (client_of("http://127.0.0.1:1"), "", "needs a model's name"),
        (object(), "m", "is no AsyncOpenAI, nor an object with"),
    ],
    ids=["blocking", "no model", "no client"],
)
def test_objects_that_cannot_be_used(client: object, model: str, text: str) -> None:
    async def story() -> None:
        with pytest.raises(ProviderFault, match=text) as caught:
            await door_with(client).chat(own_call(model), deadline=1)
        assert not caught.value.transient

    play(story())


def test_without_a_loader_there_are_no_objects() -> None:
    async def story() -> None:
        with pytest.raises(ProviderFault, match="cannot be loaded here"):
            await Door(environment={}).chat(own_call(), deadline=1)

    play(story())
