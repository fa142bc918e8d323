from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Any

import pytest

from pytest_dialeval.conversation.agent import Brief, LimitedFactory, Reply
from pytest_dialeval.conversation.converse import converse
from pytest_dialeval.conversation.current import current_conversation
from pytest_dialeval.conversation.python_agent import adapt
from pytest_dialeval.conversation.threads import left_threads
from pytest_dialeval.errors import HarnessFault, NotMeasured
from pytest_dialeval.records.suite import Limits
from tests.conversation.stage import MATCHERS, draw, held, patient, said, task

ONE = {"max_rounds": 1}
TWO = {"max_rounds": 2}


def test_a_function_of_the_message():
    transcript = held(lambda message: message.upper(), **TWO)
    assert said(transcript, "agent") == ["HELLO", "HELLO"]
    assert transcript.outcome == "limit_reached"


def test_a_function_of_the_history():
    transcript = held(lambda history: str(len(history)), **TWO)
    assert said(transcript, "agent") == ["1", "3"]


def test_an_async_function_runs_on_the_loop_without_a_thread():
    async def agent(message: str) -> str:
        return threading.current_thread().name

    assert said(held(agent, **ONE), "agent") == [threading.current_thread().name]


def test_a_blocking_function_runs_in_a_thread_of_ours():
    transcript = held(lambda message: threading.current_thread().name, **ONE)
    assert said(transcript, "agent")[0].startswith("agent agent in ")


def test_a_lambda_that_returns_a_coroutine_is_awaited():
    async def slow(message: str) -> str:
        return f"{message}!"

    assert said(held(lambda message: slow(message + "?"), **ONE), "agent") == ["hello?!"]
    assert said(held(partial(slow), **ONE), "agent") == ["hello!"]


class Counting:
    """A blocking class: one instance a conversation."""

    log: list[str] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.count = 0
        self.threads = {threading.get_ident()}

    def start(self, brief: Brief) -> None:
        self.threads.add(threading.get_ident())
        self.log.append(f"start {brief.task} {brief.opening}")

    def reply(self, message: str) -> str:
        self.threads.add(threading.get_ident())
        self.count += 1
        return f"{message} {self.count}"

    def close(self) -> None:
        self.threads.add(threading.get_ident())
        self.log.append(f"close, threads: {len(self.threads)}")


def test_a_class_is_made_once_a_conversation_and_keeps_its_thread():
    Counting.log.clear()
    assert said(held(Counting, **TWO), "agent") == ["hello 1", "hello 2"]
    assert said(held(Counting, **ONE), "agent") == ["hello 1"]
    assert Counting.log == ["start task user", "close, threads: 1"] * 2


def test_an_async_class():
    class Agent:
        def __init__(self) -> None:
            self.loop = asyncio.get_running_loop()  # made on the loop, where it belongs
            self.started = False

        async def start(self) -> None:
            self.started = True

        async def reply(self, turns: Any) -> Reply:
            return Reply(f"{self.started} {turns[-1].text} {turns[-1].speaker}")

    assert said(held(Agent, **ONE), "agent") == ["True hello user"]


def test_an_object_is_shared_by_conversations():
    class Shared:
        def __init__(self) -> None:
            self.count = 0

        def reply(self, message: str) -> str:
            self.count += 1
            return str(self.count)

    agent = Shared()
    assert said(held(agent, **TWO), "agent") == ["1", "2"]
    assert said(held(agent, **ONE), "agent") == ["3"]


def test_a_callable_object_is_a_function_and_is_left_open():
    class Client:
        closed = False

        def __call__(self, message: str) -> str:
            return "called"

        def close(self) -> None:
            self.closed = True

    client = Client()
    assert said(held(client, **ONE), "agent") == ["called"]
    assert not client.closed


def test_a_function_without_parameters_makes_the_agent():
    def counting() -> Any:
        return Counting()

    assert said(held(counting, **ONE), "agent") == ["hello 1"]
    assert said(held(lambda: lambda message: "made", **ONE), "agent") == ["made"]

    async def make() -> Any:
        return lambda message: "made later"

    assert said(held(make, **ONE), "agent") == ["made later"]


@pytest.mark.parametrize("made", ["hello", None, Counting])
def test_a_maker_that_makes_no_agent_is_told_so(made: object):
    transcript = held(lambda: made, **ONE)
    assert transcript.outcome == "harness_error"
    assert "is a function without parameters, so it makes the agent" in transcript.reason


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (3, "agent 'x': it is 3; it must be a function of a message, or a class"),
        (None, "agent 'x': it is None"),
        (type("Mute", (), {}), "class Mute has no method `reply`"),
        (
            type("Needy", (), {"__init__": lambda self, key: None, "reply": lambda self, m: m}),
            "class Needy needs arguments to be made",
        ),
        (lambda a, b: "", "wants 'b', which nobody can give it"),
    ],
)
def test_what_can_be_no_agent_is_refused_at_once(obj: object, message: str):
    with pytest.raises(HarnessFault, match=message):
        adapt(obj, name="x")


@pytest.mark.parametrize("value", [None, 7, b"x", object])
def test_a_wrong_answer_is_an_agent_error_with_its_value(value: object):
    transcript = held(lambda message: value)
    assert transcript.outcome == "agent_error"
    assert f"returned {value!r}" in transcript.reason


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RuntimeError, StopIteration])
def test_whatever_a_blocking_agent_raises_is_an_agent_error(error: type[BaseException]):
    def agent(message: str) -> str:
        raise error

    transcript = held(agent)
    assert transcript.outcome == "agent_error"
    assert f"the agent raised {error.__name__} (conversation/test_python" in transcript.reason


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_whatever_an_async_agent_raises_is_an_agent_error(error: type[BaseException]):
    async def agent(message: str) -> str:
        raise error

    transcript = held(agent)
    assert (transcript.outcome, len(transcript.turns)) == ("agent_error", 1)
    assert error.__name__ in transcript.reason


def test_not_measured_is_no_fault_of_the_agents():
    def agent(message: str) -> str:
        raise NotMeasured("the staging server is down")

    transcript = held(agent)
    assert (transcript.outcome, transcript.reason) == (
        "provider_error",
        "the staging server is down",
    )


def test_a_blocking_call_that_is_late_is_left_in_its_thread_and_closes_later():
    gate, closed = threading.Event(), threading.Event()

    class Stuck:
        def reply(self, message: str) -> str:
            gate.wait(10)
            return "too late"

        def close(self) -> None:
            closed.set()

    transcript = held(Stuck, limits=Limits(turn_timeout=0.02), header={"trial_id": "stuck-1"})
    assert transcript.outcome == "agent_error"
    assert transcript.reason == "no answer within 0.02 s (limits.turn_timeout)"
    assert "agent agent in stuck-1" in left_threads()
    gate.set()
    assert closed.wait(5)


def test_the_conversation_is_named_in_the_agents_thread():
    transcript = held(
        lambda message: str(current_conversation.get()), header={"trial_id": "t-7"}, **ONE
    )
    assert said(transcript, "agent") == ["t-7"]
    assert current_conversation.get() is None


def test_blocking_agents_hold_only_so_many_conversations_at_once():
    lock, now, most = threading.Lock(), 0, 0
    meeting = threading.Barrier(2)  # so two are there, and never a third

    class Agent:
        def start(self) -> None:
            nonlocal now, most
            with lock:
                now += 1
                most = max(most, now)

        def reply(self, message: str) -> str:
            meeting.wait(30)
            return "x"

        def close(self) -> None:
            nonlocal now
            with lock:
                now -= 1

    factory = adapt(Agent, concurrency=2, name="a")

    async def main() -> list[str]:
        transcripts = await asyncio.gather(
            *(
                converse(task(**ONE), patient(), factory, draw=draw(), matchers=MATCHERS)
                for _ in range(8)
            )
        )
        return [each.outcome for each in transcripts]

    assert asyncio.run(main()) == ["limit_reached"] * 8
    assert (most, now) == (2, 0)


def test_waiting_for_a_place_is_no_lateness():
    gate = threading.Event()

    def agent(message: str) -> str:
        gate.wait(10)
        return "x"

    factory = adapt(agent, concurrency=1, name="a")

    async def main() -> list[str]:
        def one(limits: Limits) -> asyncio.Task[Any]:
            return asyncio.create_task(
                converse(
                    task(**ONE), patient(), factory, draw=draw(), matchers=MATCHERS, limits=limits
                )
            )

        first, second = one(Limits()), one(Limits(turn_timeout=5, timeout=5))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not second.done()
        gate.set()
        return [(await each).outcome for each in (first, second)]

    assert asyncio.run(main()) == ["limit_reached"] * 2


def test_async_agents_are_bounded_only_where_it_is_said():
    async def agent(message: str) -> str:
        return "x"

    assert not isinstance(adapt(agent, name="a"), LimitedFactory)
    assert isinstance(adapt(agent, concurrency=3, name="a"), LimitedFactory)
    assert isinstance(adapt(lambda message: "x", name="a"), LimitedFactory)
