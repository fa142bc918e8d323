"""Simulated users whose words come from a double of a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from pytest_dialeval.conversation.asking import Asking
from pytest_dialeval.conversation.clock import LoopClock
from pytest_dialeval.conversation.converse import converse
from pytest_dialeval.conversation.model_user import model_simulator
from pytest_dialeval.conversation.python_agent import adapt
from pytest_dialeval.conversation.user import Simulator
from pytest_dialeval.models.specs import parse_spec
from pytest_dialeval.records.model import ChatAnswer, ChatCall
from pytest_dialeval.records.suite import Limits
from pytest_dialeval.records.task import Persona
from pytest_dialeval.records.transcript import Transcript
from tests.conversation.stage import MATCHERS, draw, task

SPEC = parse_spec("user", "openai:customer")
Reply = str | ChatAnswer | BaseException


def says(line: str, *, done: object = False, **more: object) -> str:
    """What a model writes to say a line."""
    return json.dumps({"say": line, "done": done, "note": "n", **more}, ensure_ascii=False)


class Model:
    """Answers in turn, or by a function of the call; keeps calls and deadlines."""

    def __init__(self, *replies: Reply, by: Callable[[ChatCall], Reply] | None = None) -> None:
        self._replies = list(replies)
        self._by = by
        self.calls: list[ChatCall] = []
        self.deadlines: list[float] = []

    async def chat(self, call: ChatCall, *, deadline: float) -> ChatAnswer:
        self.calls.append(call)
        self.deadlines.append(deadline)
        reply = self._by(call) if self._by else self._replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return ChatAnswer(reply) if isinstance(reply, str) else reply

    @property
    def purposes(self) -> list[str]:
        return [each.purpose for each in self.calls]


def simulator(model: Any, *, limit: int | None = None, deadline: float = 30.0) -> Simulator:
    return model_simulator(Asking(model, SPEC, "t.a.p", 2, limit, deadline))


def held_with(
    model: Any,
    who: Persona,
    agent: object = lambda message: "ok",
    *,
    trace: Any = None,
    limits: Limits | None = None,
    limit: int | None = None,
    deadline: float = 30.0,
    seed: str = "seed",
    clock: LoopClock | None = None,
    **keys: Any,
) -> Transcript:
    """One conversation in which the model words the user's lines."""
    return asyncio.run(
        converse(
            task(**keys),
            who,
            adapt(agent, name="agent"),
            draw=draw(seed),
            matchers=MATCHERS,
            limits=limits or Limits(),
            clock=clock,
            trace=trace,
            simulator=simulator(model, limit=limit, deadline=deadline),
        )
    )


def content(call: ChatCall, place: int = -1) -> str:
    """One message of a call."""
    return str(call.messages[place]["content"])
