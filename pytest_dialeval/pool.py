"""Conversations held and graded ahead of the items that ask for them, on one background loop.

Only the main thread touches pytest; only the loop touches conversations. What crosses over is a
future with a frozen record. The unit is a trial: its conversation once, then its rubrics.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.records.run import Graded

T = TypeVar("T")
POLL = 0.25  # seconds; an untimed wait on a lock would keep Ctrl-C out
JOIN = 0.5  # seconds that closing waits before it names what would not stop


@dataclass(frozen=True, slots=True)
class Work:
    """One trial: `hold` talks, `grade` decides one rubric of what was said."""

    trial: str
    rubrics: tuple[str, ...]
    hold: Callable[[], Awaitable[Any]]
    grade: Callable[[Any, str], Awaitable[Graded]]
    finish: Callable[[Any, Sequence[Graded]], None]


@dataclass(slots=True)
class _Job:
    work: Work
    verdicts: dict[str, Future[Graded]] = field(default_factory=dict)
    started: bool = False


class Pool:
    """At most `concurrency` conversations at once, in the order submitted."""

    def __init__(self, *, concurrency: int) -> None:
        self.concurrency = concurrency
        self._jobs: dict[str, _Job] = {}
        self._queue: deque[_Job] = deque()
        self._live: set[str] = set()
        self._tasks: dict[asyncio.Task[None], str] = {}
        self._paused = False
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self.off_loop = Disk()

    # ---- the main thread's side

    def submit(self, work: Work) -> None:
        """Queue a trial; harmless to repeat."""
        if work.trial in self._jobs or self._closed:
            return
        job = _Job(work, {each: Future() for each in work.rubrics})
        self._jobs[work.trial] = job
        self._send(self._enqueue, job)

    def knows(self, trial: str) -> bool:
        """Whether that trial was submitted."""
        return trial in self._jobs

    def abandon(self, trial: str) -> None:
        """Stop one trial's conversation, because its agent goes away; harmless when it is over."""
        if trial in self._jobs and self._thread is not None and self._thread.is_alive():
            stopped = threading.Event()
            self._send(self._abandon, trial, stopped)
            stopped.wait(JOIN)

    def graded(self, trial: str, rubric: str) -> Graded:
        """Wait for one verdict of a submitted trial; HarnessFault when the pool is closed."""
        job = self._jobs[trial]
        future = job.verdicts[rubric]
        if not job.started:
            self._send(self._hurry, job)
        while True:
            try:
                return future.result(timeout=POLL)
            except NotYet:
                if self._closed or self._thread is None or not self._thread.is_alive():
                    raise HarnessFault(f"{trial}: the run was stopped before its end") from None

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for it."""
        if self._thread is None:
            self._start()
        assert self._loop is not None
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        while True:
            try:
                return future.result(timeout=POLL)
            except NotYet:
                if self._closed:
                    future.cancel()
                    raise HarnessFault("the run was stopped before its end") from None

    def pause(self) -> None:
        """Begin no conversation until resume(); for debuggers."""
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        if self._loop is not None and not self._closed:
            self._send(self._feed)

    def close(self) -> tuple[str, ...]:
        """Cancel what still runs; harmless to repeat. Names the trials that would not stop."""
        self._closed = True
        thread, loop = self._thread, self._loop
        if thread is None or loop is None or not thread.is_alive():
            return ()
        loop.call_soon_threadsafe(self._cancel)
        thread.join(timeout=JOIN)
        self.off_loop.close()
        return tuple(sorted(self._tasks.values())) if thread.is_alive() else ()

    def _send(self, call: Callable[..., None], *args: object) -> None:
        if self._thread is None:
            self._start()
        assert self._loop is not None
        self._loop.call_soon_threadsafe(call, *args)

    def _start(self) -> None:
        ready = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(ready,), name="dialeval-pool", daemon=True
        )
        self._thread.start()
        ready.wait()

    # ---- the loop's side

    def _run(self, ready: threading.Event) -> None:
        loop = asyncio.new_event_loop()
        self._loop, self._stop = loop, asyncio.Event()
        loop.call_soon(ready.set)
        try:
            loop.run_until_complete(self._serve())
        finally:
            loop.close()

    async def _serve(self) -> None:
        assert self._stop is not None
        await self._stop.wait()
        while self._tasks:  # cancelled; close() stops waiting for one that swallows it
            await asyncio.wait(list(self._tasks))
        await asyncio.get_running_loop().shutdown_asyncgens()

    def _enqueue(self, job: _Job) -> None:
        self._queue.append(job)
        self._feed()

    def _hurry(self, job: _Job) -> None:
        if not job.started and job in self._queue:
            self._queue.remove(job)
            self._queue.appendleft(job)
            self._feed()

    def _feed(self) -> None:
        while self._queue and len(self._live) < self.concurrency:
            if self._paused or self._closed:
                return
            job = self._queue.popleft()
            job.started = True
            self._live.add(job.work.trial)
            task = asyncio.get_running_loop().create_task(self._hold_and_grade(job))
            self._tasks[task] = job.work.trial
            task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled():
            task.exception()  # set on the futures already

    async def _hold_and_grade(self, job: _Job) -> None:
        try:
            held = await self._hold(job.work)
            graded = []
            for rubric, future in job.verdicts.items():
                graded.append(await job.work.grade(held, rubric))
                future.set_result(graded[-1])
            await self.off_loop(lambda: job.work.finish(held, graded))
        except BaseException as error:
            for future in job.verdicts.values():
                if not future.done():
                    future.set_exception(_as_data(error))
            raise

    async def _hold(self, work: Work) -> Any:
        try:
            return await work.hold()
        finally:  # grading needs no place among the conversations
            self._live.discard(work.trial)
            self._feed()

    def _abandon(self, trial: str, stopped: threading.Event) -> None:
        found = [task for task, name in self._tasks.items() if name == trial]
        for task in found:
            task.cancel()
            task.add_done_callback(lambda _: stopped.set())
        if not found:
            stopped.set()

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        for job in self._queue:
            for future in job.verdicts.values():
                future.cancel()
        self._queue.clear()
        assert self._stop is not None
        self._stop.set()


def _as_data(error: BaseException) -> Exception:
    """An exception that the main thread may raise: never a cancellation or an exit."""
    if isinstance(error, Exception):
        return error
    return HarnessFault(f"the run was stopped before its end ({type(error).__name__})")


class Disk:
    """One daemon thread for blocking calls of the loop: an fsync takes milliseconds."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def __call__(self, call: Callable[[], None]) -> None:
        """Await a blocking call; what it raises is raised here."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def run() -> None:
            error: Exception | None = None
            try:
                call()
            except Exception as raised:
                error = raised
            with suppress(RuntimeError):  # the loop is gone: nobody waits any more
                loop.call_soon_threadsafe(_settle, done, error)

        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="dialeval-disk", daemon=True)
            self._thread.start()
        self._calls.put(run)
        await done

    def close(self) -> None:
        """Let what was asked for be written, for a bounded time."""
        if self._thread is not None:
            self._calls.put(None)
            self._thread.join(timeout=JOIN)

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            call()


def _settle(done: asyncio.Future[None], error: Exception | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
