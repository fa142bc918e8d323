"""A model that words the simulated user's lines; the script says which line is due."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_dialeval.conversation.fault import message_of, place_of
from pytest_dialeval.conversation.fidelity import ASKED_AGAIN, LINES, TEMPLATE
from pytest_dialeval.conversation.user import SimulatedUser, Simulator
from pytest_dialeval.conversation.user_checks import Expected, check_line
from pytest_dialeval.conversation.user_prompt import (
    Scene,
    Spoken,
    nonce_of,
    user_messages,
)
from pytest_dialeval.conversation.user_reply import (
    SCHEMA,
    UnusableLine,
    UserReply,
    read_user_reply,
)
from pytest_dialeval.conversation.wording import Due, TemplateWording, Worded
from pytest_dialeval.errors import (
    BudgetSpent,
    HarnessFault,
    NotMeasured,
    ProviderFault,
    RunError,
    SimulatorFault,
)
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.models.chat import Chat
from pytest_dialeval.models.watch import LoopWatch, Watch
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelSpec
from pytest_dialeval.records.task import Persona, State, Task
from pytest_dialeval.records.transcript import Turn

logger = logging.getLogger(__name__)

GRACE = 5.0  # seconds after which a chat that forgets its deadline is given up


def model_simulator(
    chat: Chat,
    spec: ModelSpec,
    *,
    case: str,
    trial: int,
    max_context_chars: int | None,
    deadline: float,
    watch: Watch | None = None,
) -> Simulator:
    """Who plays the personas of one trial: the script steers, the model words.

    `deadline` is in seconds for one line, asking again included.
    """
    asking = Asking(chat, spec, case, trial, max_context_chars, deadline, watch or LoopWatch())

    def simulator(
        task: Task, persona: Persona, draw: Draw, matchers: Mapping[str, Matcher]
    ) -> SimulatedUser:
        wording = ModelWording(asking, persona, task.language, draw)
        return SimulatedUser(task, persona, draw, matchers, wording)

    return simulator


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked in one trial."""

    chat: Chat
    spec: ModelSpec
    case: str
    trial: int
    max_context_chars: int | None
    deadline: float
    watch: Watch = field(default_factory=LoopWatch)


class ModelWording:
    """Asks a model for each line, once more where its reply cannot be sent.

    It sees the persona and what was said: never the task's prompt, nor rubrics.
    """

    def __init__(self, asking: Asking, persona: Persona, language: str, draw: Draw) -> None:
        self._asking = asking
        self._persona = persona
        self._language = language
        self._draw = draw
        self._template = TemplateWording(draw)
        self._past: list[Turn | Spoken] = []
        self._note = ""  # beside the line that is about to be said
        self._counts: Counter[str] = Counter({LINES: 0})

    @property
    def fidelity(self) -> Mapping[str, int]:
        """Lines of the model, replies that were not sent by reason, lines of the script's."""
        return dict(self._counts)

    @property
    def deadline(self) -> float:
        """Longer than the calls may take, so that a late model is told as one."""
        return self._asking.deadline + 3 * GRACE

    def can_say(self, state: State) -> bool:
        """Whether it is told what to say or what to want."""
        return bool(state.say or state.goal)

    def heard(self, turn: Turn) -> None:
        """The agent's turn."""
        self._past.append(turn)

    def said(self, text: str) -> None:
        """A line that was sent, whoever worded it."""
        self._past.append(Spoken(text, self._note))
        self._note = ""

    async def words(self, due: Due) -> Worded:
        """The model's line; else one of the state's own, else SimulatorFault.

        Whatever the chat raises for want of an answer is raised here: it is not the user's fault.
        """
        ends = self._asking.watch.now + self._asking.deadline
        refused: list[UnusableLine] = []
        while len(refused) < 2:
            try:
                reply = await self._reply(due, refused, ends)
            except UnusableLine as problem:
                self._note_refusal(problem, due, first=not refused)
                refused.append(problem)
                continue
            self._counts[LINES] += 1
            self._note = reply.note
            return Worded(reply.say, reply.done)
        return self._fallback(due, refused)

    def _note_refusal(self, problem: UnusableLine, due: Due, *, first: bool) -> None:
        logger.info(
            "the user's model, turn %d: not sent (%s): %s", due.turn, problem.reason, problem
        )
        if first:
            self._counts[ASKED_AGAIN] += 1
            self._counts[problem.reason] += 1

    def _fallback(self, due: Due, refused: list[UnusableLine]) -> Worded:
        if due.state.say:
            self._counts[TEMPLATE] += 1
            return Worded(self._template.drawn(due))
        first, second = map(str, refused)
        both = f"{first}, twice" if first == second else f"{first}; asked again: {second}"
        raise SimulatorFault(
            f"the simulated user's model gave no line for state {due.state.id!r} that could be "
            f"sent: {both}. Give the state lines (`say`) to fall back on"
        )

    async def _reply(self, due: Due, refused: list[UnusableLine], ends: float) -> UserReply:
        scene = Scene(
            self._persona,
            self._language,
            due.state,
            self._past,
            nonce_of(self._draw, self._past),
            self._asking.max_context_chars,
            str(refused[-1]) if refused else "",
        )
        again = ", re-ask" if refused else ""
        answer = await self._answer(scene, f"turn {due.turn}{again}", ends)
        heard = [each.text for each in self._past if isinstance(each, Turn)]
        said = [each.text for each in self._past if isinstance(each, Spoken)]
        reply = read_user_reply(answer, heard)
        expected = Expected(
            self._persona,
            due.state,
            self._language,
            scene.nonce,
            said,
            heard,
        )
        check_line(reply.say, expected)
        return reply

    async def _answer(self, scene: Scene, purpose: str, ends: float) -> ChatAnswer:
        call = ChatCall(
            spec=self._asking.spec,
            messages=user_messages(scene),
            case=self._asking.case,
            trial=self._asking.trial,
            purpose=purpose,
            schema=SCHEMA,
            nonce=scene.nonce,
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
