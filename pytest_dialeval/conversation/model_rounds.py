"""A model that words follow-ups; the schedule says which one is due."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_dialeval.conversation.asking import Asker, Asking, Question
from pytest_dialeval.conversation.follow_up_checks import Guarded, check_follow_up
from pytest_dialeval.conversation.follow_up_context import context
from pytest_dialeval.conversation.follow_up_facts import Past, facts, output_of_tests, patch_of
from pytest_dialeval.conversation.follow_up_lines import filled, usable
from pytest_dialeval.conversation.follow_up_prompt import (
    INSTRUCTIONS,
    SCHEMA,
    Asked,
    follow_up_messages,
)
from pytest_dialeval.conversation.rounds_user import FollowUp, RoundsUser, TemplateFollowUps
from pytest_dialeval.conversation.user import Simulator
from pytest_dialeval.conversation.user_checks import Expected
from pytest_dialeval.conversation.user_reply import UserReply
from pytest_dialeval.errors import SimulatorFault
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.follow_up import Behaviour, Rounds
from pytest_dialeval.records.task import Persona, Script, State, Task


def model_rounds_simulator(asking: Asking) -> Simulator:
    """Who follows up in one trial: the schedule steers, the model words."""

    def simulator(
        task: Task, persona: Persona, draw: Draw, matchers: Mapping[str, Matcher]
    ) -> RoundsUser:
        wording = ModelFollowUps(asking, task, persona, draw)
        return RoundsUser(task, persona, draw, matchers, wording)

    return simulator


class ModelFollowUps:
    """Asks a model for each follow-up, once more where its reply cannot be sent.

    It sees the request, what was said and done, and what the behaviour wants: never the task's
    prompt, rubrics, nor what anchors are meant for.
    """

    def __init__(self, asking: Asking, task: Task, persona: Persona, draw: Draw) -> None:
        assert task.rounds is not None, "only a task with rounds has such a user"
        self._asker = Asker(asking)
        self._limit = asking.max_context_chars
        self._language = task.language
        self._rounds = task.rounds
        self._persona = _playing(persona, task.rounds, task.language)
        self._hidden = tuple(_hidden(task.rounds))
        self._draw = draw
        self._template = TemplateFollowUps(task.language, draw)

    @property
    def fidelity(self) -> Mapping[str, int]:
        """Messages of the model, replies that were not sent by reason, lines that stood in."""
        return self._asker.counts

    @property
    def deadline(self) -> float:
        """Longer than the calls may take, so that a late model is told as one."""
        return self._asker.deadline

    async def words(self, due: FollowUp) -> str:
        """The model's message; else a line of the behaviour, else SimulatorFault."""
        found = await self._asker.line(due.number, lambda refused: self._question(due, refused))
        if isinstance(found, UserReply):
            return found.say
        text = self._template.drawn(due)
        if text is None:
            raise SimulatorFault(
                f"the simulated user's model gave no message for {due.behaviour.id!r} that could "
                f"be sent: {found}. Give the behaviour lines (`say`) to fall back on"
            )
        self._asker.template()
        return text

    def _question(self, due: FollowUp, refused: str) -> Question:
        shown = context(due.request, due.behaviour.goal, due.past, self._limit)
        examples = self._examples(due)
        texts = [each.text for each in shown.sections]
        purpose = f"nonce of follow-up {due.number}"
        nonce = self._draw.unseen_word(purpose, [*texts, *examples])
        asked = Asked(self._persona, self._language, shown, examples, nonce, refused)
        expected = self._expected(due, nonce, examples)
        guarded = Guarded(tuple(_work(due.past)), self._hidden)
        return Question(
            follow_up_messages(asked),
            SCHEMA,
            nonce,
            expected.heard,
            lambda line: check_follow_up(line, expected, guarded),
        )

    def _examples(self, due: FollowUp) -> list[str]:
        known = facts(due.request, due.past)
        lines = usable(due.behaviour.lines(self._language), known)
        return [filled(each, known, self._language) for each in lines]

    def _expected(self, due: FollowUp, nonce: str, examples: Sequence[str]) -> Expected:
        return Expected(
            self._persona,
            State(due.behaviour.id, tuple(examples), due.behaviour.goal),
            self._language,
            nonce,
            said=[each.instruction for each in due.past],
            heard=[each.reply.text for each in due.past if each.reply],
            instructions=INSTRUCTIONS,
        )


def _playing(persona: Persona, rounds: Rounds, language: str) -> Persona:
    """Who the model is: its own manner and the profile's tone; behaviours are its states."""
    states = {each.id: _state(each, language) for each in rounds.behaviours.values()}
    manner = dict.fromkeys(filter(None, (persona.personality, rounds.profile.tone)))
    return replace(persona, personality="\n".join(manner), script=Script(states))


def _state(behaviour: Behaviour, language: str) -> State:
    return State(behaviour.id, behaviour.lines(language), behaviour.goal)


def _hidden(rounds: Rounds) -> Iterator[str]:
    for each in rounds.anchors.values():
        yield from filter(None, (each.intent, each.expected))


def _work(past: Sequence[Past]) -> Iterator[str]:
    yield from filter(None, map(patch_of, past))
    yield from filter(None, [output_of_tests(past)])
