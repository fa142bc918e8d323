from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable

import pytest

from pytest_dialeval.conversation.threads import LEFT_MAX, AgentThread, Crew, left_threads
from pytest_dialeval.errors import AgentFault, HarnessFault


def ended(thread: AgentThread) -> bool:
    thread.join(timeout=5)
    return not thread.is_alive()


async def leave(crew: Crew, gate: threading.Event) -> AgentThread:
    """A thread that hangs in a call which was given up."""
    thread, begun = crew.thread(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def stuck() -> None:
        loop.call_soon_threadsafe(begun.set)
        gate.wait(10)

    call = asyncio.create_task(thread.call(stuck))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    return thread


def test_calls_share_one_daemon_thread():
    async def main() -> None:
        thread = Crew("a").thread()
        first = await thread.call(threading.get_ident)
        second = await thread.call(threading.get_ident)
        assert first == second == thread.ident != threading.get_ident()
        assert thread.daemon
        thread.finish()
        assert ended(thread)

    asyncio.run(main())


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyboardInterrupt(), SystemExit(1), StopIteration(), GeneratorExit()]
)
def test_whatever_is_raised_is_the_agents_fault(error: BaseException):
    def fail() -> None:
        raise error

    async def main() -> None:
        thread = Crew("a").thread()
        with pytest.raises(AgentFault, match=type(error).__name__):
            await thread.call(fail)
        assert await thread.call(lambda: 7) == 7
        thread.finish()

    asyncio.run(main())


def test_an_exception_that_is_returned_is_a_value():
    async def main() -> object:
        thread = Crew("a").thread()
        try:
            return await thread.call(lambda: AgentFault("data"))
        finally:
            thread.finish()

    assert isinstance(asyncio.run(main()), AgentFault)


def test_context_variables_reach_the_thread():
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="none")

    async def main() -> str:
        thread = Crew("a").thread()
        name.set("conversation 7")
        try:
            return await thread.call(name.get)
        finally:
            thread.finish()

    assert asyncio.run(main()) == "conversation 7"


def test_a_call_given_up_is_named_until_it_returns():
    gate, closed = threading.Event(), threading.Event()

    async def main() -> AgentThread:
        thread = await leave(Crew("shop"), gate)
        thread.finish(closed.set)
        return thread

    thread = asyncio.run(main())
    assert [each for each in left_threads() if "shop" in each] == ["agent shop in None"]
    gate.set()
    assert ended(thread) and closed.is_set()
    assert not [each for each in left_threads() if "shop" in each]


def test_no_more_threads_once_too_many_are_stuck():
    gate = threading.Event()

    async def main() -> list[AgentThread]:
        crew = Crew("stuck")
        threads = [await leave(crew, gate) for _ in range(LEFT_MAX)]
        with pytest.raises(HarnessFault, match="16 calls of agent 'stuck' have never returned"):
            crew.thread()
        Crew("other").thread().finish()  # another agent is not to suffer
        return threads

    threads = asyncio.run(main())
    for each in threads:
        each.finish()
    gate.set()
    assert all(map(ended, threads))


def test_an_answer_after_the_loop_has_closed_is_dropped():
    gate = threading.Event()

    async def main() -> AgentThread:
        return await leave(Crew("late"), gate)

    thread = asyncio.run(main())
    thread.finish()
    gate.set()
    assert ended(thread)


def test_errors_of_a_last_word_are_heard_by_nobody():
    def fail() -> None:
        raise SystemExit

    async def main() -> AgentThread:
        thread = Crew("a").thread()
        thread.finish(fail)
        return thread

    assert ended(asyncio.run(main()))


def test_calls_of_two_threads_run_at_once():
    meeting = threading.Barrier(2)

    async def main() -> None:
        crew = Crew("a")
        threads = [crew.thread(), crew.thread()]
        meet: Callable[[], int] = lambda: meeting.wait(5)  # noqa: E731
        await asyncio.gather(*(each.call(meet) for each in threads))
        for each in threads:
            each.finish()

    asyncio.run(main())
