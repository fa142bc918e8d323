"""A chat model that answers from a list, and calls to ask it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelSpec, Role
from pytest_dialeval.records.transcript import Usage

SPEC = ModelSpec("agent", "openai", "gpt-4o-mini", temperature=0.0)
USAGE = Usage(input_tokens=1000, cached_tokens=100, output_tokens=50)


def a_call(
    words: str = "When do you open?",
    *,
    role: Role = "agent",
    model: str = "gpt-4o-mini",
    case: str = "hours.clerk.caller",
    trial: int = 1,
    purpose: str = "turn 1",
    nonce: str = "",
    spec: ModelSpec = SPEC,
) -> ChatCall:
    messages = ({"role": "system", "content": "You are a clerk."},)
    return ChatCall(
        spec=replace(spec, role=role, model=model),
        messages=(*messages, {"role": "user", "content": words}),
        case=case,
        trial=trial,
        purpose=purpose,
        nonce=nonce,
    )


class ScriptedChat:
    """Says what it was given, in order, and at last the last again; exceptions are raised."""

    def __init__(self, *script: ChatAnswer | BaseException | str) -> None:
        self.script = list(script)
        self.calls: list[ChatCall] = []
        self.deadlines: list[float] = []
        self.gate: asyncio.Event | None = None  # held calls answer once it is set
        self.running = 0
        self.most = 0  # at once

    async def chat(self, call: ChatCall, *, deadline: float) -> ChatAnswer:
        self.calls.append(call)
        self.deadlines.append(deadline)
        said = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await (self.gate.wait() if self.gate else asyncio.sleep(0))
        finally:
            self.running -= 1
        if isinstance(said, BaseException):
            raise said
        return ChatAnswer(said, usage=USAGE) if isinstance(said, str) else said


def ask(chat: ScriptedChat | object, calls: Iterable[ChatCall]) -> list[ChatAnswer]:
    """One after the other."""

    async def run() -> list[ChatAnswer]:
        return [await chat.chat(each, deadline=5) for each in calls]  # type: ignore[attr-defined]

    return asyncio.run(run())


class Clock:
    """Stands until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now
