"""A model that words the simulated user's lines; the script says which line is due."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_dialeval.conversation.asking import Asker, Asking, Question, Refused
from pytest_dialeval.conversation.user import SimulatedUser, Simulator
from pytest_dialeval.conversation.user_checks import Expected, check_line
from pytest_dialeval.conversation.user_prompt import (
    Scene,
    Spoken,
    guessed,
    nonce_of,
    user_messages,
)
from pytest_dialeval.conversation.user_reply import SCHEMA, UserReply
from pytest_dialeval.conversation.wording import Due, TemplateWording, Worded
from pytest_dialeval.errors import SimulatorFault
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.task import Persona, State, Task
from pytest_dialeval.records.transcript import Turn


def model_simulator(asking: Asking) -> Simulator:
    """Who plays the personas of one trial: the script steers, the model words."""

    def simulator(
        task: Task, persona: Persona, draw: Draw, matchers: Mapping[str, Matcher]
    ) -> SimulatedUser:
        wording = ModelWording(asking, persona, task.language, draw)
        return SimulatedUser(task, persona, draw, matchers, wording)

    return simulator


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
        self._nonce, self._safe = "", 0  # it stands in none of so many of them
        self._note = ""  # beside the line that is about to be said
        self._asker = Asker(asking)

    @property
    def fidelity(self) -> Mapping[str, int]:
        """Lines of the model, replies that were not sent by reason, lines of the script's."""
        return self._asker.counts

    @property
    def deadline(self) -> float:
        """Longer than the calls may take, so that a late model is told as one."""
        return self._asker.deadline

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
        found = await self._asker.line(due.turn, lambda refused: self._question(due, refused))
        if isinstance(found, UserReply):
            self._note = found.note
            return Worded(found.say, found.done)
        return self._fallback(due, found)

    def _fallback(self, due: Due, refused: Refused) -> Worded:
        if due.state.say:
            self._asker.template()
            return Worded(self._template.drawn(due))
        raise SimulatorFault(
            f"the simulated user's model gave no line for state {due.state.id!r} that could be "
            f"sent: {refused}. Give the state lines (`say`) to fall back on"
        )

    def _drawn(self) -> str:
        """The nonce: looked for in what is new alone, as it has to be in each question."""
        if not self._nonce or guessed(self._nonce, self._past[self._safe :]):
            self._nonce = nonce_of(self._draw, self._past)
        self._safe = len(self._past)
        return self._nonce

    def _question(self, due: Due, refused: str) -> Question:
        scene = Scene(
            self._persona,
            self._language,
            due.state,
            self._past,
            self._drawn(),
            self._asking.max_context_chars,
            refused,
        )
        heard = [each.text for each in self._past if isinstance(each, Turn)]
        said = [each.text for each in self._past if isinstance(each, Spoken)]
        expected = Expected(
            self._persona,
            due.state,
            self._language,
            scene.nonce,
            said,
            heard,
        )
        return Question(
            user_messages(scene),
            SCHEMA,
            scene.nonce,
            heard,
            lambda line: check_line(line, expected),
        )
