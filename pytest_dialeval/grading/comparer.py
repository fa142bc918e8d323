"""A model that judges, as a round's user, which of two agents answered better."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_dialeval.errors import JudgeFault
from pytest_dialeval.grading.comparer_prompt import FIRST, SECOND, Asked, Side, comparer_prompt
from pytest_dialeval.grading.judge import UnusableReply
from pytest_dialeval.models.chat import Chat
from pytest_dialeval.models.json_reply import UnreadableReply, one_object
from pytest_dialeval.records.match import Winner
from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelSpec

DEADLINE = 120.0  # seconds for one call with its retries


@dataclass(frozen=True, slots=True)
class RoundQuestion:
    """One round of two agents, who are nowhere named; what they say is data."""

    user: str  # who the user is
    language: str
    left: Side
    right: Side
    case: str  # for recordings of calls: pair and persona
    trial: int
    round: int


class RoundComparer(Protocol):
    """Says who was better with left first, then with right first; raises where it cannot."""

    async def __call__(self, question: RoundQuestion) -> tuple[Winner, Winner]: ...


def agreed(orders: tuple[Winner, Winner]) -> Winner:
    """The winner where both orders name it; else what was seen was the order, and it is a tie."""
    first, second = orders
    return first if first == second else "tie"


class ModelComparer:
    """Asks a model twice, each answer once in front; once more where a reply can't be used."""

    def __init__(
        self,
        chat: Chat,
        spec: ModelSpec,
        *,
        max_context_chars: int | None = None,
        deadline: float = DEADLINE,
    ) -> None:
        self._chat = chat
        self._spec = spec
        self._max_context_chars = max_context_chars
        self._deadline = deadline

    async def __call__(self, question: RoundQuestion) -> tuple[Winner, Winner]:
        """The two verdicts, in terms of the sides; whatever the chat raises is raised here."""
        left, right = question.left, question.right
        one, other = await asyncio.gather(
            self._better(question, (left, right), "left first"),
            self._better(question, (right, left), "right first"),
        )
        return _winner(one, "A", "B"), _winner(other, "B", "A")

    async def _better(self, question: RoundQuestion, sides: tuple[Side, Side], order: str) -> str:
        purpose = f"round {question.round}, {order}"
        try:
            return await self._ask(question, sides, purpose, "")
        except UnusableReply as problem:
            return await self._ask(question, sides, f"{purpose}, re-ask", str(problem))

    async def _ask(
        self, question: RoundQuestion, sides: tuple[Side, Side], purpose: str, refused: str
    ) -> str:
        asked = Asked(question.user, question.language, sides, refused)
        prompt = comparer_prompt(asked, max_context_chars=self._max_context_chars)
        call = ChatCall(
            spec=self._spec,
            messages=prompt.messages,
            case=question.case,
            trial=question.trial,
            purpose=purpose,
            schema=prompt.schema,
            nonce=prompt.nonce,
        )
        answer = await self._chat.chat(call, deadline=self._deadline)
        return read_better(answer, prompt.said)


def read_better(answer: ChatAnswer, said: Sequence[str] = ()) -> str:
    """`first`, `second` or `tie`; UnusableReply says what is wrong with the reply.

    A reply that stands in `said`, what the agents said, is not the model's own.
    """
    if answer.refusal or answer.finish == "content_filter":
        raise JudgeFault(f"the comparer refused: {(answer.refusal or 'filtered')[:500]}")
    if answer.finish == "length":
        raise UnusableReply("the reply was cut off at its greatest length: be shorter")
    try:
        found = one_object(answer.text, "better", said)
    except UnreadableReply as problem:
        raise UnusableReply(str(problem)) from None
    reasoning, better = found.get("reasoning"), found.get("better")
    if not isinstance(reasoning, str) or not reasoning.strip():
        raise UnusableReply("reasoning is missing: say in a sentence or two why")
    word = better.strip().lower() if isinstance(better, str) else ""
    if word not in (FIRST, SECOND, "tie"):
        raise UnusableReply(f"better {better!r:.80} is none of {FIRST}, {SECOND}, tie")
    return word


def _winner(better: str, first: Winner, second: Winner) -> Winner:
    if better == FIRST:
        return first
    return second if better == SECOND else "tie"
