"""An agent may cancel its own tasks, and nobody else's."""

from __future__ import annotations

import asyncio
import logging
from contextvars import copy_context
from typing import Any

import pytest

from pytest_dialeval.conversation.current import Line, current_line
from pytest_dialeval.conversation.owned_task import OwnedTask, owned_task


async def forever() -> None:
    await asyncio.Event().wait()


def task_of(line: Line | None, coroutine: Any) -> asyncio.Task[Any]:
    context = copy_context()
    context.run(current_line.set, line)
    return asyncio.get_running_loop().create_task(coroutine, context=context)


def swept_by(line: Line | None) -> list[bool]:
    """Whether a conversation, its agent, the agent's tool and another's agent were cancelled."""
    tools: list[asyncio.Task[Any]] = []

    async def agent() -> None:
        tools.append(asyncio.create_task(forever()))
        await forever()

    async def scene() -> list[bool]:
        asyncio.get_running_loop().set_task_factory(owned_task)
        talk = task_of(Line("a"), forever())
        own = task_of(Line("a", agent=True), agent())
        other = task_of(Line("b", agent=True), forever())
        await asyncio.sleep(0)

        async def sweep() -> None:
            for each in (talk, own, *tools, other):
                each.cancel()

        await task_of(line, sweep())
        await asyncio.sleep(0)
        found = [each.cancelled() for each in (talk, own, *tools, other)]
        for each in (talk, own, *tools, other):
            each.cancel()
        return found

    return asyncio.run(scene())


def test_we_may_cancel_all() -> None:
    assert swept_by(None) == [True, True, True, True]
    assert swept_by(Line("a")) == [True, True, True, True]


def test_an_agent_may_cancel_what_is_its_own(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert swept_by(Line("a", agent=True)) == [False, True, True, False]
    assert "the agent of a tried to cancel 'Task-" in caplog.text


def test_an_agents_callback_is_the_agent() -> None:
    async def scene() -> bool:
        asyncio.get_running_loop().set_task_factory(owned_task)
        talk = task_of(Line("a"), forever())

        async def agent() -> None:
            asyncio.get_running_loop().call_soon(talk.cancel)

        await task_of(Line("a", agent=True), agent())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return talk.cancelled() or not talk.cancel()

    assert not asyncio.run(scene())


def test_a_task_of_ours_keeps_its_name_and_line() -> None:
    async def scene() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(owned_task)
        made = loop.create_task(asyncio.sleep(0), name="it")
        assert isinstance(made, OwnedTask)
        assert (made.get_name(), made.line) == ("it", None)
        await made

    asyncio.run(scene())
