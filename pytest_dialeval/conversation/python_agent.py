"""Agents that are Python objects: functions, classes, instances; async ones and blocking ones."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from pytest_dialeval.conversation.agent import Agent, AgentFactory, Brief, LimitedFactory, Reply
from pytest_dialeval.conversation.answer import reply_from
from pytest_dialeval.conversation.fault import shown
from pytest_dialeval.conversation.signature import Call, takes_nothing
from pytest_dialeval.conversation.threads import AgentThread, Crew
from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.records.transcript import Turn

T = TypeVar("T")

CONCURRENCY = 16  # conversations at once with an agent that blocks, where nothing else is said


def adapt(obj: object, *, concurrency: int | None = None, name: str) -> AgentFactory:
    """A factory for what the user gave; HarnessFault where it cannot be an agent.

    A function of a message is an agent. A class, or a function without parameters, makes one for
    each conversation. Another object with `reply` is one agent for all conversations.
    """
    make = _maker(obj, name)
    crew = Crew(name)

    def agent() -> Agent:
        return PythonAgent(make, crew, makes_in_thread=inspect.isclass(obj) and _blocks(obj))

    if concurrency is None and not _blocks(obj):
        return agent
    return LimitedFactory(agent, asyncio.Semaphore(concurrency or CONCURRENCY))


def _maker(obj: object, name: str) -> Callable[[], object]:
    if inspect.isclass(obj):
        _check_class(obj, name)
        return obj
    if callable(getattr(obj, "reply", None)):
        Call.of(obj.reply, "message")  # type: ignore[attr-defined]
        return lambda: obj
    if not callable(obj):
        text = f"agent {name!r}: it is {shown(obj)}; it must be a function of a message, or a class"
        raise HarnessFault(f"{text} or an object with `reply`")
    if takes_nothing(obj):
        return cast(Callable[[], object], obj)
    Call.of(obj, "message")
    return lambda: obj


def _check_class(obj: type, name: str) -> None:
    if not callable(getattr(obj, "reply", None)):
        raise HarnessFault(f"agent {name!r}: class {obj.__name__} has no method `reply`")
    if not takes_nothing(obj):
        text = f"agent {name!r}: class {obj.__name__} needs arguments to be made"
        way = "take the brief in `start`, or give a function without parameters that makes it"
        raise HarnessFault(f"{text}; {way}")


def _blocks(obj: object) -> bool:
    """Whether answers may keep a thread; what a function makes is not known beforehand."""
    return not is_async(getattr(obj, "reply", obj))


def is_async(function: object) -> bool:
    """Whether calling it gives an awaitable and keeps no thread."""
    call = getattr(type(function), "__call__", None)  # noqa: B004 (an object, not its class)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _agent_like(made: object, name: str) -> object:
    if inspect.isclass(made) or not (callable(made) or hasattr(made, "reply")):
        text = f"agent {name!r}: it is a function without parameters, so it makes the agent"
        raise HarnessFault(f"{text}: a function or an object with `reply`, not {shown(made)}")
    return made


class PythonAgent:
    """One conversation with a Python object; its blocking methods share one thread."""

    def __init__(self, make: Callable[[], object], crew: Crew, *, makes_in_thread: bool) -> None:
        self._make = make
        self._crew = crew
        self._makes_in_thread = makes_in_thread
        self._thread: AgentThread | None = None
        self._object: object = None
        self._brief = Brief(task="")

    async def start(self, brief: Brief) -> None:
        """Make the object, and tell it what it is for if it wants to know."""
        self._brief = brief
        self._object = _agent_like(await self._made(), self._crew.agent)
        await self._do("start", main="brief")

    async def reply(self, turns: tuple[Turn, ...]) -> Reply:
        """Its answer, whatever form it has."""
        function = getattr(self._object, "reply", self._object)
        return reply_from(await self._called(function, "message", turns))

    async def close(self) -> None:
        """Let it close; one that is stuck may do so when it comes back."""
        if self._thread is not None and self._thread.left:
            close = self._method("close")
            self._thread.finish(None if is_async(close) else close)
            return
        try:
            await self._do("close", main="")
        finally:
            if self._thread is not None:
                self._thread.finish()

    async def _made(self) -> object:
        # What an async agent makes for itself (a session, a lock) belongs to the loop.
        if self._makes_in_thread:
            return await self._in_thread(self._make)
        made = self._make()
        return await made if inspect.isawaitable(made) else made

    async def _do(self, method: str, main: str) -> None:
        function = self._method(method)
        if function is not None:
            await self._called(function, main, ())

    def _method(self, name: str) -> Callable[[], object] | None:
        # A mere function that happens to be an object with `close` is shared: leave it open.
        return getattr(self._object, name, None) if hasattr(self._object, "reply") else None

    async def _called(self, function: object, main: str, turns: tuple[Turn, ...]) -> object:
        call = Call.of(function, main).bound(turns, self._brief)
        result = call() if is_async(function) else await self._in_thread(call)
        return await cast(Awaitable[object], result) if inspect.isawaitable(result) else result

    async def _in_thread(self, function: Callable[[], T]) -> T:
        if self._thread is None:
            self._thread = self._crew.thread()
        return await self._thread.call(function)
