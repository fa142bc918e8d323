"""An agent that is ours is asked in the conversation's own task; every other one is not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from pytest_dialeval.conversation.agent import Agent, Brief, LimitedFactory
from pytest_dialeval.conversation.clock import LoopClock
from pytest_dialeval.conversation.deadline import Deadline
from pytest_dialeval.conversation.inline_agent import InlineAgent, ours
from pytest_dialeval.conversation.python_agent import adapt
from pytest_dialeval.errors import ProviderFault
from pytest_dialeval.records.model import ChatAnswer, ChatCall
from pytest_dialeval.records.suite import Limits
from pytest_dialeval.records.transcript import Transcript
from tests.conversation.stage import conversing
from tests.conversation.test_chat_agent import factory
from tests.models.scripted_chat import ScriptedChat


class Noting(ScriptedChat):
    """Notes in which task it is asked."""

    def __init__(self) -> None:
        super().__init__("Good day.")
        self.tasks: set[asyncio.Task[Any] | None] = set()

    async def chat(self, call: ChatCall, *, deadline: float) -> ChatAnswer:
        self.tasks.add(asyncio.current_task())
        return await super().chat(call, deadline=deadline)


def asked_in(chat: Noting, **options: Any) -> tuple[Transcript, bool]:
    """What was said, and whether the model was asked in the conversation's own task alone."""

    async def scene() -> tuple[Transcript, bool]:
        talk = await conversing(factory(chat, **options), max_rounds=2)
        return talk, chat.tasks == {asyncio.current_task()}

    return asyncio.run(scene())


@pytest.mark.parametrize("options", [{}, {"prompt": "Be brief."}])
def test_a_model_without_tools_has_no_task_of_its_own(options: dict[str, Any]) -> None:
    talk, inline = asked_in(Noting(), **options)
    assert talk.outcome == "limit_reached"
    assert inline


def test_a_client_object_of_the_user_s_has_one() -> None:
    made = ours(factory(Noting()))
    assert made is not None
    spec = replace(made.role.spec, endpoint="python:clients.py:client")
    assert ours(replace(made, role=replace(made.role, spec=spec))) is None


def test_tools_of_the_user_s_want_one(tmp_path: Any) -> None:
    (tmp_path / "shop.py").write_text("def price(item: str) -> str:\n    return item\n")
    made = factory(Noting(), tmp_path, tools=["python:shop.py:price"])
    assert ours(made) is None


def test_nobody_becomes_ours_by_saying_so() -> None:
    def make() -> Agent:
        raise AssertionError("it is only looked at")

    make.is_ours = True  # type: ignore[attr-defined]
    assert ours(make) is None
    assert ours(adapt(lambda text: text, name="agent")) is None


def test_one_that_holds_few_conversations_is_ours_all_the_same() -> None:
    made = factory(Noting())
    limited = LimitedFactory(made, asyncio.Semaphore(2))
    assert ours(limited) is made


class Hanging(ScriptedChat):
    """Forgets its deadline."""

    def __init__(self) -> None:
        super().__init__("never said")
        self.cancelled = 0

    async def chat(self, call: ChatCall, *, deadline: float) -> ChatAnswer:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        raise AssertionError("nothing ends it")


@pytest.mark.parametrize(
    ("limits", "late"),
    [
        (Limits(turn_timeout=0.05), "no answer within 0.05 s (limits.turn_timeout)"),
        (
            Limits(timeout=0.05),
            "the conversation took longer than 0.05 s (limits.timeout)",
        ),
    ],
)
def test_a_chat_that_never_answers_is_the_provider_s_fault(limits: Limits, late: str) -> None:
    chat = Hanging()
    talk = asyncio.run(conversing(factory(chat), limits=limits))
    assert (talk.outcome, talk.reason) == ("provider_error", f"openai:m: {late}")
    assert chat.cancelled == 1


def test_no_call_is_made_once_the_time_is_over() -> None:
    async def scene(chat: Noting) -> None:
        made = ours(factory(chat))
        assert made is not None
        agent = InlineAgent(made, LoopClock())
        await agent.start(Brief("task"), Deadline(1, "late"))
        await agent.reply((), Deadline(0, "all of it is over"))

    chat = Noting()
    with pytest.raises(ProviderFault, match="all of it is over"):
        asyncio.run(scene(chat))
    assert chat.calls == []


def test_a_conversation_that_is_cancelled_takes_its_call_along() -> None:
    async def scene(chat: Hanging) -> bool:
        talking = asyncio.create_task(conversing(factory(chat)))
        while not chat.cancelled:
            await asyncio.sleep(0)
            talking.cancel()
        await asyncio.wait([talking])
        return talking.cancelled()

    chat = Hanging()
    assert asyncio.run(scene(chat))
    assert chat.cancelled == 1
