"""How a model is asked for a line of the user: once, and once more where it cannot be sent."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_dialeval.conversation.fault import message_of, place_of
from pytest_dialeval.conversation.fidelity import ASKED_AGAIN, LINES, TEMPLATE
from pytest_dialeval.conversation.user_reply import UnusableLine, UserReply, read_user_reply
from pytest_dialeval.errors import (
    BudgetSpent,
    HarnessFault,
    NotMeasured,
    ProviderFault,
    RunError,
)
from pytest_dialeval.models.chat import Chat
from pytest_dialeval.models.watch import LoopWatch, Watch
from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelSpec

logger = logging.getLogger(__name__)

GRACE = 5.0  # seconds after which a chat that forgets its deadline is given up


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked in one trial."""

    chat: Chat
    spec: ModelSpec
    case: str
    trial: int
    max_context_chars: int | None
    deadline: float  # seconds for one line, asking again included
    watch: Watch = field(default_factory=LoopWatch)


@dataclass(frozen=True, slots=True)
class Question:
    """One call for one line."""

    messages: tuple[Mapping[str, object], ...]
    schema: Mapping[str, object]
    nonce: str
    heard: Sequence[str]  # what the agent said: a reply that stands there is not the model's own
    check: Callable[[str], None]  # UnusableLine says why a line cannot be sent


class Refused(tuple[UnusableLine, ...]):
    """Replies that could not be sent, in the order they came."""

    __slots__ = ()

    def __str__(self) -> str:
        first, second = map(str, self)
        return f"{first}, twice" if first == second else f"{first}; asked again: {second}"


class Asker:
    """Asks for the lines of one conversation, and counts how they came about."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._counts: Counter[str] = Counter({LINES: 0})

    @property
    def counts(self) -> Mapping[str, int]:
        """Lines of the model, replies that were not sent by reason, lines that stood in."""
        return dict(self._counts)

    @property
    def deadline(self) -> float:
        """Longer than the calls may take, so that a late model is told as one."""
        return self._asking.deadline + 3 * GRACE

    def template(self) -> None:
        """A line that is no model's stands in."""
        self._counts[TEMPLATE] += 1

    async def line(self, turn: int, question: Callable[[str], Question]) -> UserReply | Refused:
        """The line; `question` is given why the reply before was refused, or "".

        Whatever the chat raises for want of an answer is raised here: it is not the user's fault.
        """
        ends = self._asking.watch.now + self._asking.deadline
        refused: list[UnusableLine] = []
        while len(refused) < 2:
            asked = question(str(refused[-1]) if refused else "")
            again = ", re-ask" if refused else ""
            answer = await self._answer(asked, f"turn {turn}{again}", ends)
            try:
                reply = read_user_reply(answer, asked.heard)
                asked.check(reply.say)
            except UnusableLine as problem:
                self._note_refusal(problem, turn, first=not refused)
                refused.append(problem)
                continue
            self._counts[LINES] += 1
            return reply
        return Refused(refused)

    def _note_refusal(self, problem: UnusableLine, turn: int, *, first: bool) -> None:
        logger.info("the user's model, turn %d: not sent (%s): %s", turn, problem.reason, problem)
        if first:
            self._counts[ASKED_AGAIN] += 1
            self._counts[problem.reason] += 1

    async def _answer(self, question: Question, purpose: str, ends: float) -> ChatAnswer:
        call = ChatCall(
            spec=self._asking.spec,
            messages=question.messages,
            case=self._asking.case,
            trial=self._asking.trial,
            purpose=purpose,
            schema=question.schema,
            nonce=question.nonce,
        )
        left = max(0.0, ends - self._asking.watch.now)
        try:
            async with self._asking.watch.timeout(left + GRACE):
                return await self._asking.chat.chat(call, deadline=left)
        except (ProviderFault, BudgetSpent, NotMeasured, HarnessFault, RunError):
            raise
        except TimeoutError:
            raise ProviderFault(f"the user's model gave no answer within {left:.3g} s") from None
        except Exception as error:  # a chat object of the user's own
            text = f"the user's model raised {type(error).__name__}: {message_of(error)}"
            raise ProviderFault(f"{text}{place_of(error)}", transient=False) from error
