from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pytest_dialeval.conversation.agent import Brief, Reply
from pytest_dialeval.conversation.agent_task import AgentTask
from pytest_dialeval.conversation.clock import LoopClock
from pytest_dialeval.conversation.deadline import Deadline
from pytest_dialeval.errors import AgentFault, HarnessFault, NotMeasured, ProviderFault
from tests.conversation.stage import Stub

SOON = Deadline(0.02, "too late")
LONG = Deadline(10, "much too late")
BRIEF = Brief("task")


async def asked(reply: Callable[[], Awaitable[Any]], deadline: Deadline = LONG) -> Reply:
    task = AgentTask(lambda: Stub(reply), LoopClock())
    try:
        await task.start(BRIEF, LONG)
        return await task.reply((), deadline)
    finally:
        await task.end()


async def hello() -> Reply:
    return Reply("hello")


def test_the_reply_comes_back():
    assert asyncio.run(asked(hello)) == Reply("hello")


class Slow(Stub):
    """It knows whom it waits for."""

    def overdue(self, late: str) -> ProviderFault:
        return ProviderFault(f"the endpoint: {late}")


@pytest.mark.parametrize("deadline", [SOON, Deadline(0, "too late")])
def test_an_agent_may_know_better_whose_its_lateness_is(deadline: Deadline):
    asked_for = []

    async def wait() -> Reply:
        asked_for.append(1)
        return await asyncio.Event().wait()  # type: ignore[func-returns-value, return-value]

    async def main() -> None:
        task = AgentTask(lambda: Slow(wait), LoopClock())
        await task.start(BRIEF, LONG)
        with pytest.raises(ProviderFault, match="the endpoint: too late"):
            await task.reply((), deadline)
        await task.end()

    asyncio.run(main())
    assert len(asked_for) == (1 if deadline.seconds else 0)


def test_an_endpoint_that_is_late_is_not_told_how_not_to_block():
    """A few moments of our own work for it are no reason, and nothing that a user could mend."""

    async def wait() -> Reply:
        time.sleep(0.2)  # noqa: ASYNC251 (more than a tenth of the deadline, less than half)
        return await asyncio.Event().wait()  # type: ignore[func-returns-value, return-value]

    async def main() -> None:
        clock = LoopClock()
        clock.start(asyncio.get_running_loop())
        task = AgentTask(lambda: Slow(wait), clock)
        await task.start(BRIEF, LONG)
        with pytest.raises(ProviderFault, match=r"^the endpoint: too late$"):
            await task.reply((), Deadline(0.6, "too late"))
        await task.end()

    asyncio.run(main())


def test_all_calls_run_in_one_task():
    tasks = []

    async def note() -> Reply:
        tasks.append(asyncio.current_task())
        return Reply()

    async def main() -> None:
        task = AgentTask(lambda: Stub(note, start=note, close=note), LoopClock())
        await task.start(BRIEF, LONG)
        await task.reply((), LONG)
        await task.end()
        assert len(tasks) == 3 and len(set(tasks)) == 1 and tasks[0].done()
        assert asyncio.current_task() not in tasks

    asyncio.run(main())


def test_a_context_variable_set_in_start_is_there_in_reply():
    span: contextvars.ContextVar[str] = contextvars.ContextVar("span", default="none")

    async def start() -> None:
        span.set("mine")

    async def reply() -> Reply:
        return Reply(span.get())

    async def main() -> str:
        task = AgentTask(lambda: Stub(reply, start=start), LoopClock())
        await task.start(BRIEF, LONG)
        text = (await task.reply((), LONG)).text
        await task.end()
        return f"{text} {span.get()}"

    assert asyncio.run(main()) == "mine none"


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        TimeoutError(),
        KeyboardInterrupt(),
        SystemExit(1),
        StopAsyncIteration(),
        asyncio.CancelledError(),
    ],
)
def test_whatever_is_raised_is_the_agents_fault(error: BaseException):
    async def fail() -> Reply:
        raise error

    with pytest.raises(AgentFault, match=f"the agent raised {type(error).__name__}"):
        asyncio.run(asked(fail))


def test_an_agent_that_raises_generator_exit_is_over():
    async def fail() -> Reply:
        raise GeneratorExit

    with pytest.raises(AgentFault, match="ended the asyncio task"):
        asyncio.run(asked(fail))


def test_an_agent_that_cancels_its_own_task_is_at_fault():
    async def cancel() -> Reply:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return Reply()

    with pytest.raises(AgentFault, match="ended the asyncio task"):
        asyncio.run(asked(cancel))


def test_an_agent_whose_task_ended_between_two_calls_keeps_nobody_waiting():
    async def start() -> None:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_later(0.01, task.cancel)

    async def talk() -> None:
        task = AgentTask(lambda: Stub(hello, start=start), LoopClock())
        await task.start(BRIEF, LONG)
        await asyncio.sleep(0.05)  # the user's turn
        with pytest.raises(AgentFault, match="ended the asyncio task"):
            await task.reply((), LONG)
        await task.end()

    asyncio.run(asyncio.wait_for(talk(), 2))


@pytest.mark.parametrize("error", [NotMeasured("down"), HarnessFault("disk")])
def test_faults_that_are_not_the_agents_stay(error: Exception):
    async def fail() -> Reply:
        raise error

    with pytest.raises(type(error), match=str(error)):
        asyncio.run(asked(fail))


def test_an_error_while_it_is_made_is_its_fault():
    def make() -> Stub:
        raise RuntimeError("no key")

    async def main() -> None:
        task = AgentTask(make, LoopClock())
        with pytest.raises(AgentFault, match="RuntimeError: no key"):
            await task.start(BRIEF, LONG)
        await task.end()

    asyncio.run(main())


def test_a_late_answer_is_cancelled_and_the_agent_closed():
    events = []

    async def hang() -> Reply:
        try:
            await asyncio.Event().wait()
        finally:
            events.append("cleaned up")
        return Reply()

    async def close() -> None:
        await asyncio.sleep(0)  # its cancellation was taken back: it may wait again
        task = asyncio.current_task()
        assert task is not None and not task.cancelling()
        events.append("closed")

    async def main() -> None:
        task = AgentTask(lambda: Stub(hang, close=close), LoopClock())
        await task.start(BRIEF, LONG)
        with pytest.raises(AgentFault, match="too late"):
            await task.reply((), SOON)
        await task.end()

    asyncio.run(main())
    assert events == ["cleaned up", "closed"]


def test_an_answer_given_on_being_cancelled_is_late_all_the_same():
    async def stubborn() -> Reply:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
        return Reply("at last")

    with pytest.raises(AgentFault, match="too late"):
        asyncio.run(asked(stubborn, SOON))


def test_an_agent_that_swallows_its_cancellation_is_left_and_named(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pytest_dialeval.conversation.agent_task.GRACE", 0.02)

    async def main() -> None:
        release = asyncio.Event()

        async def swallow() -> Reply:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            return Reply()

        with pytest.raises(AgentFault, match="too late"):
            await asked(swallow, SOON)
        release.set()

    asyncio.run(main())
    assert "does not stop; it is left running" in caplog.text


def test_errors_in_closing_are_a_warning(caplog: pytest.LogCaptureFixture):
    async def close() -> None:
        raise KeyError("session")

    async def main() -> None:
        task = AgentTask(lambda: Stub(hello, close=close), LoopClock())
        await task.start(BRIEF, LONG)
        await task.end()

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert "closing the agent" in caplog.text and "KeyError: 'session'" in caplog.text


def test_the_loop_can_stop_while_an_agent_is_asked():
    # asyncio.run cancels every task and waits for it: the agent's task must not resist.
    cleaned = []

    async def hang() -> Reply:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)
        return Reply()

    async def main() -> None:
        task = AgentTask(lambda: Stub(hang), LoopClock())
        await task.start(BRIEF, LONG)
        waiting = asyncio.create_task(task.reply((), LONG))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiting.done()

    asyncio.run(main())
    assert cleaned


def test_a_call_that_had_not_begun_is_dropped_and_the_agent_still_closed():
    events = []

    async def reply() -> Reply:
        events.append("asked")
        return Reply()

    async def close() -> None:
        events.append("closed")

    async def main() -> None:
        task = AgentTask(lambda: Stub(reply, close=close), LoopClock())
        await task.start(BRIEF, LONG)
        asking = asyncio.create_task(task.reply((), LONG))
        asyncio.get_running_loop().call_soon(asking.cancel)
        await asyncio.sleep(0)
        await task.end(hurry=True)
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(main())
    assert events[-1] == "closed"
