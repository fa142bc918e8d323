"""An agent that a chat model plays: its prompt, what was said, and tools between."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from pytest_dialeval.conversation.agent import Brief, Reply
from pytest_dialeval.conversation.answer import reply_from
from pytest_dialeval.conversation.current import current_case
from pytest_dialeval.conversation.threads import Crew
from pytest_dialeval.conversation.tool import Tool
from pytest_dialeval.conversation.toolbox import Toolbox, arguments_of
from pytest_dialeval.errors import AgentFault, DialevalError, HarnessFault, ProviderFault
from pytest_dialeval.models.chat import Chat
from pytest_dialeval.models.endpoints import PYTHON
from pytest_dialeval.models.watch import LoopWatch, Watch
from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelSpec
from pytest_dialeval.records.transcript import ToolCall, Turn, Usage

STEPS = 10  # calls of the model in one turn
_SHARE, _MOMENT = 0.02, 0.25  # of the turn, and seconds: a call is late before its turn is
_WORDS = {
    "length": "was cut at its longest (finish_reason length)",
    "content_filter": "was filtered by the endpoint (finish_reason content_filter)",
}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Role:
    """What the model is and may do."""

    spec: ModelSpec
    tools: Mapping[str, Tool] = field(default_factory=dict)
    own_prompt: bool = False  # whether `prompt` stands instead of the task's
    prompt: str | None = None

    @property
    def name(self) -> str:
        return f"{self.spec.endpoint}:{self.spec.model}"


@dataclass(frozen=True, slots=True, eq=False)
class ChatAgents:
    """What makes the agents; without a chat it can be checked, and no agent be made."""

    role: Role
    chat: Chat | None
    crew: Crew
    watch: Watch = field(default_factory=LoopWatch)

    @property
    def is_ours(self) -> bool:
        """Whether no code of a user's runs in them: no tool, and no client object."""
        return not self.role.tools and not self.role.spec.endpoint.startswith(PYTHON)

    def __call__(self) -> ChatAgent:
        """An agent for one conversation."""
        if self.chat is None:
            raise HarnessFault(f"{self.role.name}: no model is connected here")
        return ChatAgent(self.role, self.chat, Toolbox(self.role.tools, self.crew), self.watch)


@dataclass(slots=True)
class _Turn:
    """What has come of a turn so far."""

    number: int
    ends: float  # by its watch
    texts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)

    def reply(self) -> Reply:
        """All that was said and done in it."""
        text = "\n".join(each for each in self.texts if each.strip())
        return reply_from(Reply(text or "".join(self.texts), tuple(self.calls), usage=self.usage))

    @property
    def usage(self) -> Usage:
        """The sum of its calls; unknown where one of them is."""
        if len(self.usages) == 1:
            return self.usages[0]
        return Usage(**{each.name: self._sum(each.name) for each in fields(Usage)})

    def _sum(self, name: str) -> Any:
        values = [getattr(each, name) for each in self.usages]
        return None if None in values else sum(values)


class ChatAgent:
    """One conversation; what the model was told and said before is kept as it was."""

    def __init__(self, role: Role, chat: Chat, tools: Toolbox, watch: Watch) -> None:
        self._role = role
        self._chat = chat
        self._tools = tools
        self._watch = watch
        self._messages: list[Mapping[str, object]] = []
        self._timeout = 0.0

    async def start(self, brief: Brief) -> None:
        """Nothing is asked yet."""
        self._timeout = brief.turn_timeout
        self._tools.brief = brief
        prompt = self._role.prompt if self._role.own_prompt else brief.prompt
        if prompt and prompt.strip():
            self._messages.append({"role": "system", "content": prompt})

    async def reply(self, turns: tuple[Turn, ...]) -> Reply:
        """The model's words, after as many calls of tools as it wants, within bounds."""
        ends = self._watch.now + self._timeout
        turn = _Turn(len(turns) + 1, ends - min(_MOMENT, _SHARE * self._timeout))
        if turns:
            self._messages.append({"role": "user", "content": turns[-1].text})
        for step in range(1, STEPS + 1):
            answer = _with_ids(await self._asked(turn, step), turn.number, step)
            turn.usages.append(answer.usage)
            turn.texts.append(_said(answer, turn.number))
            self._messages.append(_message(answer))
            if not answer.tool_calls:
                return turn.reply()
            await self._use_tools(turn, answer)
        raise AgentFault(
            f"{self._role.name} still called tools after {STEPS} answers in one turn; "
            f"the last call: {str(turn.calls[-1])[:200]}"
        )

    async def close(self) -> None:
        """Let a thread of the tools end."""
        self._tools.close()

    def overdue(self, late: str) -> DialevalError:
        """A tool is the agent's own; for all else the endpoint was too slow."""
        name = self._role.name
        if tool := self._tools.running:
            return AgentFault(f"{name}: {late}; it waited for its tool {tool!r}")
        return ProviderFault(f"{name}: {late}")

    async def _asked(self, turn: _Turn, step: int) -> ChatAnswer:
        case, trial = current_case.get()
        call = ChatCall(
            spec=self._role.spec,
            messages=tuple(self._messages),
            case=case,
            trial=trial,
            purpose=f"turn {turn.number}" + (f", step {step}" if step > 1 else ""),
            tools=self._tools.definitions,
        )
        left = max(0.0, turn.ends - self._watch.now)
        try:
            return await self._chat.chat(call, deadline=left)
        except DialevalError:
            raise
        except Exception as error:  # ours, not the agent's
            logger.exception("a call of a model failed in an unforeseen way")
            text = f"{self._role.name}: internal error: {type(error).__name__}: {error}"
            raise HarnessFault(text) from error

    async def _use_tools(self, turn: _Turn, answer: ChatAnswer) -> None:
        """One after another, in the order in which the model wants them."""
        for each in answer.tool_calls:
            made = await self._tools.use(each)
            turn.calls.append(made)
            content = made.result or ""
            self._messages.append({"role": "tool", "tool_call_id": each.id, "content": content})


def _with_ids(answer: ChatAnswer, turn: int, step: int) -> ChatAnswer:
    """Results are matched by id, which some endpoints leave out."""
    if not answer.tool_calls:
        return answer
    calls = [
        replace(each, id=each.id or f"call_{turn}_{step}_{place}")
        for place, each in enumerate(answer.tool_calls, start=1)
    ]
    return replace(answer, tool_calls=tuple(calls))


def _said(answer: ChatAnswer, turn: int) -> str:
    """Its words; what is remarkable about them is logged with the conversation."""
    text = answer.text or answer.refusal or ""
    if answer.refusal:
        logger.warning("turn %d: the model refused", turn)
    if answer.finish in _WORDS:
        logger.warning("turn %d: the model's answer %s", turn, _WORDS[answer.finish])
    elif not text and not answer.tool_calls:
        logger.warning("turn %d: the model's answer is empty", turn)
    return text


def _message(answer: ChatAnswer) -> Mapping[str, object]:
    """The answer as it is told to the model again."""
    message: dict[str, object] = {"role": "assistant", "content": answer.text or answer.refusal}
    if not answer.tool_calls:
        return {**message, "content": message["content"] or ""}
    calls = []
    for each in answer.tool_calls:
        # Endpoints refuse a history with broken arguments or odd names, as if it were ours.
        whole = isinstance(arguments_of(each), Mapping)
        arguments = each.arguments.strip() if whole else ""
        name = re.sub(r"[^A-Za-z0-9_-]", "_", each.name)[:64] or "unnamed"
        function = {"name": name, "arguments": arguments or "{}"}
        calls.append({"id": each.id, "type": "function", "function": function})
    return {**message, "content": message["content"] or None, "tool_calls": calls}
