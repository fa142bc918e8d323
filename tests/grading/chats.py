"""Doubles of a chat model: one that answers as told, and one that reads what it is given."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from pytest_dialeval.grading.model_judge import ModelJudge
from pytest_dialeval.models.specs import parse_spec
from pytest_dialeval.records.model import ChatAnswer, ChatCall

SPEC = parse_spec("judge", "openai:grader")
Reply = str | ChatAnswer | BaseException


class Chat:
    """Answers in turn, or by a function of the call; keeps every call and its deadline."""

    def __init__(self, *replies: Reply, by: Callable[[ChatCall], Reply] | None = None) -> None:
        self.replies = list(replies)
        self.by = by
        self.calls: list[ChatCall] = []
        self.deadlines: list[float] = []

    async def chat(self, call: ChatCall, *, deadline: float) -> ChatAnswer:
        self.calls.append(call)
        self.deadlines.append(deadline)
        reply = self.by(call) if self.by else self.replies[len(self.calls) - 1]
        if isinstance(reply, BaseException):
            raise reply
        return ChatAnswer(reply, model="grader-1") if isinstance(reply, str) else reply

    @property
    def purposes(self) -> list[str]:
        return [each.purpose for each in self.calls]


def judge_of(*replies: Reply, **more: object) -> tuple[ModelJudge, Chat]:
    chat = Chat(*replies, by=more.pop("by", None))
    return ModelJudge(chat, more.pop("spec", SPEC), **more), chat


def written(verdict: str = "met", *quotes: tuple[int, str], **more: object) -> str:
    """What a model writes."""
    evidence = [{"turn_id": turn, "quote": quote} for turn, quote in quotes]
    reply = {"reasoning": "it says so", "verdict": verdict, "evidence": evidence}
    return json.dumps({**reply, "absence": not quotes, **more})


def message(call: ChatCall) -> str:
    """All that the model reads about this dialogue."""
    return str(call.messages[-1]["content"])


def blocks(text: str, nonce: str) -> list[tuple[str, str]]:
    """What stands below each line that begins with the mark: title and data."""
    parts = re.split(rf"^<<<{nonce} (.*)$", text, flags=re.MULTILINE)[1:]
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [(title, data.removeprefix("\n").removesuffix("\n")) for title, data in pairs]


def reads_for(words: str) -> Callable[[ChatCall], str]:
    """A judge that believes the marks: met where an agent's own turn has the words."""

    def answer(call: ChatCall) -> str:
        for title, data in blocks(message(call), call.nonce):
            found = re.fullmatch(r"turn (\d+), agent", title)
            if found and words in data:
                return written("met", (int(found[1]), words))
        return written("not_met")

    return answer
