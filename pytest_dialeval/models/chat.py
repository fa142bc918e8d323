"""What every way to a chat model has in common: the door, recorders, budgets, doubles in tests."""

from __future__ import annotations

from typing import Protocol

from pytest_dialeval.records.model import ChatAnswer, ChatCall


class Chat(Protocol):
    """Answers one call, or raises; `deadline` is in seconds from now."""

    async def chat(self, call: ChatCall, *, deadline: float) -> ChatAnswer: ...
