"""Work that waits for a word from the test, and notes what becomes of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pytest_dialeval.pool import Pool, Work
from pytest_dialeval.records.run import Conversation, Graded
from pytest_dialeval.records.verdict import Verdict

PATIENCE = 10.0  # seconds after which a test gives up; none waits that long


class Gate:
    """Opened on any thread, awaited on the loop."""

    def __init__(self, *, opened: bool = False) -> None:
        self._open = opened
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._lock = threading.Lock()

    def open(self) -> None:
        with self._lock:
            self._open = True
            for loop, event in self._waiting:
                loop.call_soon_threadsafe(event.set)

    async def passed(self) -> None:
        event = asyncio.Event()
        with self._lock:
            if self._open:
                return
            self._waiting.append((asyncio.get_running_loop(), event))
        await event.wait()


class Notes:
    """What happened, in order; the test can wait for a line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._more = threading.Condition()

    def add(self, line: str) -> None:
        with self._more:
            self.lines.append(line)
            self._more.notify_all()

    def wait(self, *lines: str) -> None:
        with self._more:
            there = self._more.wait_for(lambda: set(lines) <= set(self.lines), PATIENCE)
        assert there, f"{set(lines) - set(self.lines)} never came; {self.lines}"


def graded(trial: str, rubric: str) -> Graded:
    return Graded(Verdict(rubric, "passed", score=1.0), Conversation(trial, outcome="completed"))


class Trial:
    """A trial's work: it notes each step, and waits at its gates."""

    def __init__(
        self, name: str, notes: Notes, rubrics: Sequence[str] = ("r",), *, held: bool = True
    ) -> None:
        self.name = name
        self.notes = notes
        self.rubrics = tuple(rubrics)
        self.held = Gate(opened=held)
        self.graded = Gate(opened=True)
        self.threads: set[str] = set()
        self.at_once: Callable[[Any, str], Graded | None] = lambda held, rubric: None

    async def hold(self) -> str:
        self.threads.add(threading.current_thread().name)
        self.notes.add(f"hold {self.name}")
        try:
            await self.held.passed()
        except asyncio.CancelledError:
            self.notes.add(f"stopped {self.name}")
            raise
        self.notes.add(f"held {self.name}")
        return f"talk of {self.name}"

    async def grade(self, held: Any, rubric: str) -> Graded:
        assert held == f"talk of {self.name}"
        self.notes.add(f"grade {self.name} {rubric}")
        await self.graded.passed()
        return graded(self.name, rubric)

    def finish(self, held: Any, found: Sequence[Graded]) -> None:
        rubrics = " ".join(each.verdict.rubric for each in found)
        self.notes.add(f"finish {self.name} {rubrics}")

    @property
    def work(self) -> Work:
        parts = (self.hold, self.grade, self.finish)
        return Work(self.name, self.rubrics, *parts, at_once=self.at_once)


def failing(name: str, error: BaseException, rubrics: Sequence[str] = ("r",)) -> Work:
    """Work whose conversation raises."""

    async def hold() -> None:
        raise error

    return Work(name, tuple(rubrics), hold, never_graded, never_finished)


async def never_graded(held: Any, rubric: str) -> Graded:
    raise AssertionError("nothing was held")


def never_finished(held: Any, found: Sequence[Graded]) -> None:
    raise AssertionError("nothing was graded")


@contextmanager
def on_a_thread(call: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
    """Run it elsewhere; the result, or what it raised, comes back when asked for."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def result() -> Any:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "it still waits"
        return found[0]

    yield result
    thread.join(PATIENCE)


@contextmanager
def a_pool(concurrency: int = 4) -> Iterator[Pool]:
    made = Pool(concurrency=concurrency)
    try:
        yield made
    finally:
        made.close()


Step = Callable[[], Awaitable[Any]]
