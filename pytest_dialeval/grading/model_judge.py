"""A language model as the judge."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_dialeval.errors import JudgeFault
from pytest_dialeval.grading.binding import binding
from pytest_dialeval.grading.briefing import unbarred
from pytest_dialeval.grading.judge import JudgeQuestion, JudgeReply, UnusableReply
from pytest_dialeval.grading.judge_prompt import JudgePrompt, judge_prompt
from pytest_dialeval.grading.judge_reply import read_replies, read_reply
from pytest_dialeval.models.chat import Chat
from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelSpec

DEADLINE = 120.0  # seconds for one call with its retries
_Replies = Mapping[str, JudgeReply | UnusableReply]


class ModelJudge:
    """Asks a model about one rubric a call, or about all with `batch: true` in one call a trial.

    It sees the criterion, the transcript, and what was recorded of rounds and work: not the task's
    prompt, nor how the user was steered.
    Its temperature is that of `spec`: 0 where a suite or option gives none.
    """

    def __init__(
        self,
        chat: Chat,
        spec: ModelSpec,
        *,
        deadline: float = DEADLINE,
        max_context_chars: int | None = None,
    ) -> None:
        self._chat = chat
        self.spec = spec
        self._deadline = deadline
        self._max_context_chars = max_context_chars
        self._batches: dict[tuple[object, ...], asyncio.Task[_Replies]] = {}

    async def __call__(self, question: JudgeQuestion) -> JudgeReply:
        """The model's reply; whatever the chat raises is raised here."""
        asked = [each for each in question.batch if each.votes >= question.vote]
        # What a batch answered unusably is asked for alone: others of it may stand already.
        if len(asked) < 2 or question.refused:
            return await self._alone(question)
        found = (await self._together(question, asked))[question.rubric]
        if isinstance(found, UnusableReply):
            raise found
        return found

    async def _alone(self, question: JudgeQuestion) -> JudgeReply:
        prompt = judge_prompt([question], max_context_chars=self._max_context_chars)
        again = ", re-ask" if question.refused else ""
        purpose = f"rubric {question.rubric}, vote {question.vote}{again}"
        answer = await self._ask(question, prompt, purpose)
        return self._kept(
            read_reply(answer, _said(question), _levels(question)),
            question,
            prompt,
            answer,
        )

    async def _together(self, question: JudgeQuestion, asked: Sequence[JudgeQuestion]) -> _Replies:
        """The replies to all of them, asked for once a trial however many rubrics wait for it."""
        prompt = judge_prompt(asked, max_context_chars=self._max_context_chars)
        # A trial held again has another transcript, and so another nonce.
        key = (question.case, question.trial, question.vote, prompt.nonce, *_asked(asked))
        task = self._batches.get(key)
        if task is None:
            task = asyncio.ensure_future(self._batch(question, asked, prompt))
            self._batches[key] = task
            task.add_done_callback(lambda done: self._forget_unanswered(key, done))
        # One rubric that is given up does not take the others' call along.
        return await asyncio.shield(task)

    async def _batch(
        self, question: JudgeQuestion, asked: Sequence[JudgeQuestion], prompt: JudgePrompt
    ) -> _Replies:
        answer = await self._ask(question, prompt, f"batch, vote {question.vote}")
        replies = read_replies(
            answer, {each.rubric: _levels(each) for each in asked}, _said(question)
        )
        return {
            each.rubric: reply
            if isinstance(reply := replies[each.rubric], UnusableReply)
            else self._kept(reply, each, prompt, answer)
            for each in asked
        }

    def _forget_unanswered(self, key: tuple[object, ...], done: asyncio.Task[_Replies]) -> None:
        # A reply that was read stays, also where nothing in it is of use: it is asked for once.
        if done.cancelled() or not isinstance(done.exception(), JudgeFault | None):
            self._batches.pop(key, None)

    async def _ask(self, question: JudgeQuestion, prompt: JudgePrompt, purpose: str) -> ChatAnswer:
        call = ChatCall(
            spec=self._spec(question.vote),
            messages=prompt.messages,
            case=question.case,
            trial=question.trial,
            purpose=purpose,
            schema=prompt.schema,
            nonce=prompt.nonce,
        )
        return await self._chat.chat(call, deadline=self._deadline)

    def _spec(self, vote: int) -> ModelSpec:
        """Votes differ by their seed: asked alike, a model would only repeat itself."""
        if vote == 1:
            return self.spec
        return replace(self.spec, seed=(self.spec.seed or 0) + vote - 1)

    def _kept(
        self,
        reply: JudgeReply,
        question: JudgeQuestion,
        prompt: JudgePrompt,
        answer: ChatAnswer,
    ) -> JudgeReply:
        """The reply with what it stands on; nothing is absent from turns that were not shown."""
        made_by = binding(self.spec, question, max_context_chars=self._max_context_chars)
        details: dict[str, object] = {"judge": {**made_by.fields(), "answered_by": answer.model}}
        if prompt.omitted:
            details["omitted"] = list(prompt.omitted)
        if prompt.shortened:
            details["shortened"] = list(prompt.shortened)
        hidden = {*prompt.omitted, *prompt.shortened}
        unseen = hidden and {each.id for each in question.searched()} & hidden
        if reply.absence and unseen and reply.verdict != "cannot_tell":
            why = "it says that something is absent, but was not shown all turns"
            return JudgeReply("cannot_tell", f"{why}: {reply.reasoning}", details=details)
        return replace(reply, details=details)


def _asked(questions: Sequence[JudgeQuestion]) -> list[tuple[object, ...]]:
    return [(each.rubric, each.criterion, each.after) for each in questions]


def _levels(question: JudgeQuestion) -> list[str]:
    return [each.name for each in question.levels]


def _said(question: JudgeQuestion) -> list[str]:
    texts = [text for each in question.turns for text in each.texts]
    # What programs printed may hold a verdict too, and stands behind bars there.
    return [*texts, unbarred(question.briefing)] if question.briefing else texts
