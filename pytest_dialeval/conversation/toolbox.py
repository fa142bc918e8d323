"""The tools of one conversation: every call has a result, also one that cannot be made."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping

from pytest_dialeval.conversation.agent import Brief
from pytest_dialeval.conversation.fault import message_of, shortened, users_frames
from pytest_dialeval.conversation.python_agent import is_async
from pytest_dialeval.conversation.threads import AgentThread, Crew
from pytest_dialeval.conversation.tool import Tool, Unfit, result_text
from pytest_dialeval.errors import DialevalError
from pytest_dialeval.models import wire
from pytest_dialeval.records.model import ModelToolCall
from pytest_dialeval.records.transcript import ToolCall
from pytest_dialeval.records.wording import did_you_mean

_SHOWN = 200

logger = logging.getLogger(__name__)


class Toolbox:
    """Calls functions, blocking ones in a thread of the conversation's own."""

    def __init__(self, tools: Mapping[str, Tool], crew: Crew) -> None:
        self._tools = tools
        self._crew = crew
        self._thread: AgentThread | None = None
        self.brief = Brief("")  # of the conversation, once it has begun
        self.running: str | None = None  # the tool whose result is waited for

    @property
    def definitions(self) -> tuple[Mapping[str, object], ...]:
        """What the model is told of them."""
        return tuple(each.definition for each in self._tools.values())

    async def use(self, call: ModelToolCall) -> ToolCall:
        """The call as it was made, with its result, or with what the model did wrong."""
        arguments = arguments_of(call)
        try:
            text, failed = await self._result(call.name, arguments), False
        except Unfit as error:
            text, failed = str(error), True
        return ToolCall(call.name, arguments, id=call.id, result=text, error=failed)

    def close(self) -> None:
        """Let the thread end, when it comes back."""
        if self._thread is not None:
            self._thread.finish()

    async def _result(self, name: str, arguments: object) -> str:
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            guess = did_you_mean(name, self._tools)
            raise Unfit(f"there is no tool {shortened(name, _SHOWN)!r}{guess} (tools: {known})")
        if not isinstance(arguments, Mapping):
            written = shortened(str(arguments), _SHOWN)
            raise Unfit(f"the arguments must be a JSON object, not {written!r}")
        bound = tool.bound(arguments, self.brief)
        self.running = name
        try:
            return result_text(await self._called(tool, bound))
        finally:
            self.running = None

    async def _called(self, tool: Tool, bound: Callable[[], object]) -> object:
        """What it returns; Unfit with what it raises, which the model may do something about."""
        try:
            if is_async(tool.function):
                result = bound()
            else:
                result = await self._in_thread(lambda: _caught(bound))
            if isinstance(result, BaseException):
                raise result
            return await result if inspect.isawaitable(result) else result
        except DialevalError:
            raise
        except (Exception, SystemExit) as error:
            logger.warning("tool %s raised", tool.name, exc_info=users_frames(error))
            raise Unfit(f"{type(error).__name__}: {message_of(error)}".rstrip(": ")) from error

    async def _in_thread(self, function: Callable[[], object]) -> object:
        if self._thread is None:
            self._thread = self._crew.thread()
        return await self._thread.call(function)


def arguments_of(call: ModelToolCall) -> object:
    """The arguments as values; what is no JSON stays the text that the model wrote."""
    if not call.arguments.strip():
        return {}  # how some endpoints write that there are none
    try:
        return wire.parse(call.arguments)
    except ValueError:
        return call.arguments


def _caught(function: Callable[[], object]) -> object:
    """What it raises as a value: a thread's own faults are told apart from a tool's."""
    try:
        return function()
    except (Exception, SystemExit) as error:
        return error
