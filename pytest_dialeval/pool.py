"""Conversations held and graded ahead of the items that ask for them, on one background loop.

Only the main thread touches pytest; only the loop touches conversations. What crosses over is a
frozen record. The unit is a trial: its conversation once, then its rubrics.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pytest_dialeval.conversation.blocker import Blocker, blocker_of
from pytest_dialeval.conversation.clock import LoopClock
from pytest_dialeval.conversation.current import Line, current_line
from pytest_dialeval.conversation.lull import Lull
from pytest_dialeval.conversation.owned_task import owned_task
from pytest_dialeval.conversation.steps import Steps
from pytest_dialeval.errors import DialevalError, HarnessFault
from pytest_dialeval.programs.begun import begun
from pytest_dialeval.records.monotonic import monotonic
from pytest_dialeval.records.run import Graded
from pytest_dialeval.records.suite import TURN_TIMEOUT
from pytest_dialeval.records.transcript import Outcome
from pytest_dialeval.runs.disk_thread import DiskThread

T = TypeVar("T")
Lost = Callable[[Sequence[str], Outcome, str], Sequence[Graded]] | None
POLL = 0.25  # seconds; an untimed wait on a lock would keep Ctrl-C out
JOIN = 0.5  # seconds that closing waits before it names what would not stop
POLITE = 0.05  # seconds that an item lets the loop go first
MARGIN = 0.1  # seconds for what is already on its way to the disk
STANDSTILL = 10.0  # seconds beyond two turns' deadlines that the loop may be blocked
STOPPED = "the run was stopped before its end"
GONE = "its agent was torn down before the conversation ended"
SHUT = "some code in this process closes files that are not its own"
FOREIGN = "the asyncio task that held it was cancelled by code of some agent or simulated user"
CURE = "await what it waits for, or make it a plain function, which gets a thread of its own"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Work:
    """One trial: `hold` talks, `grade` decides one rubric of what was said.

    `at_once` decides one that waits for nothing, and leaves all others to `grade`; `file` takes all
    those together. `lost` gives the verdicts where the conversation cannot go on, as the loop
    stands still, in the order of the rubrics; it is called on another thread.
    """

    trial: str
    rubrics: tuple[str, ...]
    hold: Callable[[], Awaitable[Any]]
    grade: Callable[[Any, str], Awaitable[Graded]]
    finish: Callable[[Any, Sequence[Graded]], None]
    lost: Lost = None
    at_once: Callable[[Any, str], Any] = lambda held, rubric: None
    file: Callable[[Any, Sequence[Any]], Sequence[Graded]] = lambda held, decided: decided
    turn_timeout: float = TURN_TIMEOUT


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why there is no verdict. An exception raised in many items would carry all their frames."""

    why: str


@dataclass(slots=True, eq=False)
class _Job:
    work: Work
    answers: dict[str, Graded | _Failure] = field(default_factory=dict)
    news: threading.Event = field(default_factory=threading.Event)  # one of them has come
    started: bool = False
    over: threading.Event = field(default_factory=threading.Event)  # nobody talks to its agent
    why: str = FOREIGN  # if it is cancelled

    @property
    def settled(self) -> bool:
        """Whether every verdict is known."""
        return len(self.answers) == len(self.work.rubrics)

    def settle(self, rubric: str, answer: Graded | _Failure) -> None:
        self.answers.setdefault(rubric, answer)  # else a loop that was given up comes too late
        self.news.set()

    def fail(self, why: str) -> None:
        """Answer whatever has no answer yet."""
        if not self.settled:  # as it is where all went well
            for rubric in self.work.rubrics:
                self.settle(rubric, _Failure(why))

    def give_up(self, why: str, guilt: str = "") -> None:
        """Answer on the main thread what the loop will not; guilt is of its own agent."""
        if self.started and not self.over.is_set() and self.work.lost is not None:
            outcome: Outcome = "agent_error" if guilt else "harness_error"
            try:
                graded = self.work.lost(self.work.rubrics, outcome, guilt or why)
                for rubric, each in zip(self.work.rubrics, graded, strict=True):
                    self.settle(rubric, each)
            except Exception as error:
                self.fail(_said(error))
        self.fail(why)
        self.over.set()


class _Loop(asyncio.SelectorEventLoop):
    """One whose timers no test can stop."""

    def time(self) -> float:
        return monotonic()


class Pool:
    """At most `concurrency` conversations at once, in the order submitted."""

    def __init__(
        self,
        *,
        concurrency: int,
        closing: Callable[[], Awaitable[None]] | None = None,
        tick: Callable[[], None] | None = None,
    ) -> None:
        """`closing` runs on the loop when nobody talks any more, `tick` while an item waits."""
        self._tick = tick
        self.concurrency = concurrency
        self._closing = closing
        self._jobs: dict[str, _Job] = {}
        self._queue: deque[_Job] = deque()
        self._live: dict[_Job, asyncio.Task[None]] = {}  # conversations being held
        self._tasks: dict[asyncio.Task[Any], _Job | None] = {}
        self.clock = LoopClock()
        self._closed = False
        self._deadline = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lull = Lull()
        self._stop = asyncio.Event()
        self._thread: threading.Thread | None = None
        self.off_loop = DiskThread()
        self._lost = ""  # why nothing goes on: the loop stands still
        self._still = 0.0  # seconds that the main thread has seen it standing
        self._beats = 0

    # ---- the main thread's side

    def submit(self, work: Work) -> None:
        """Queue a trial; harmless to repeat."""
        if work.trial in self._jobs or self._closed:
            return
        job = _Job(work)
        self._jobs[work.trial] = job
        if not self._send(self._enqueue, job):
            job.give_up(self._lost or STOPPED)

    def knows(self, trial: str) -> bool:
        """Whether that trial was submitted."""
        return trial in self._jobs

    def abandon(self, trial: str) -> None:
        """Stop one trial's conversation, because its agent goes away; harmless when it is over."""
        job = self._jobs.get(trial)
        if job is not None and not job.over.is_set() and not self._closed:
            self._send(self._abandon, job)
            job.over.wait(JOIN)

    def graded(self, trial: str, rubric: str) -> Graded:
        """Wait for one verdict of a trial; HarnessFault where there will be none."""
        job = self._jobs.get(trial)
        if job is None:  # submitted after the end
            raise HarnessFault(f"{trial}: {STOPPED}")
        if not job.started:
            self._send(self._hurry, job)
        if not self._wait(lambda: rubric in job.answers or job.settled, job.news):
            raise HarnessFault(f"{trial}: {self._lost or STOPPED}")
        if not self._over:
            self._lull.await_one(POLITE)
        answer = job.answers[rubric]
        if isinstance(answer, _Failure):
            raise HarnessFault(f"{trial}: {answer.why}")
        return answer

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for it."""
        future: Future[T] = Future()
        ended = threading.Event()
        future.add_done_callback(lambda _: ended.set())
        if not self._send(self._begin, coroutine, future):
            coroutine.close()
        if not self._wait(future.done, ended) or future.cancelled():
            raise HarnessFault(self._lost or STOPPED)
        return future.result()

    @property
    def counts(self) -> tuple[int, int]:
        """Trials that are decided, and those begun that are not."""
        jobs = list(self._jobs.values())
        over = sum(each.settled for each in jobs)
        return over, sum(each.started and not each.settled for each in jobs)

    def soon(self, call: Callable[[], None]) -> bool:
        """Run a function on the loop; False, and nothing happens, where it has ended."""
        return self._send(call)

    def pause(self) -> None:
        """Begin no conversation and take no turn until resume(); for debuggers."""
        self.clock.pause.begin()

    def resume(self) -> None:
        """Go on."""
        self.clock.pause.leave()
        if self._thread is not None:
            self._send(self._go_on)

    def close(self) -> tuple[str, ...]:
        """Cancel what still runs; harmless to repeat. Names the trials that would not stop."""
        thread, loop = self._thread, self._loop
        if not self._closed:
            self._closed = True
            self._deadline = monotonic() + JOIN
            if loop is not None:
                with suppress(RuntimeError):  # it ended by itself
                    loop.call_soon_threadsafe(self._stop.set)
        if thread is None:
            return ()
        # What never let go before will not now.
        thread.join(timeout=0.0 if self._lost else self._left())
        self.off_loop.close(timeout=self._left() + MARGIN)
        if not thread.is_alive():
            return ()
        if self._lost:  # nobody is stubborn but the one who blocks it
            return ("the event loop",)
        return tuple(sorted({each.get_name() for each in list(self._tasks)}))

    def _left(self) -> float:
        return max(0.0, self._deadline - monotonic())

    def _wait(self, done: Callable[[], bool], news: threading.Event) -> bool:
        """Whether it was done, which news tell, before everything ended."""
        while not done():
            if self._over:
                return False
            news.clear()  # first: what comes just now is seen by the next look
            late = not done() and not news.wait(POLL)
            if late and self._tick is not None:
                self._tick()
            if late:
                self._watch()
        return True

    @property
    def _over(self) -> bool:
        if self._closed or self._lost or self._thread is None:
            return True
        return not self._thread.is_alive()

    def _watch(self) -> None:
        """Notice a loop that does not go on; called after each wait in vain."""
        beats, self._beats = self._beats, self.clock.beats
        if beats != self._beats or self.clock.pause.on:
            self._still = 0.0
            return
        # Counted in waits and not by a clock: a machine that slept blames nobody.
        self._still += POLL
        if self._still < STANDSTILL or self._loop is None or self._thread is None:
            return
        blocker = blocker_of(self._loop, self._thread.ident)
        job = self._jobs.get(blocker.line.trial) if blocker.line else None
        timeouts = [each.work.turn_timeout for each in ([job] if job else self._jobs.values())]
        if self._still >= STANDSTILL + 2 * max(timeouts, default=TURN_TIMEOUT):
            self._give_up(blocker, job)

    def _give_up(self, blocker: Blocker, guilty: _Job | None) -> None:
        """End all trials: what is bound to a loop (sessions, locks) cannot go on in another."""
        self.clock.given_up = True
        self._lost = f"{blocker}, so that no conversation could go on"
        for job in self._jobs.values():
            if job is guilty and blocker.line and blocker.line.agent:
                job.give_up(self._lost, f"no answer, and it never let go: {blocker}; {CURE}")
            else:
                job.give_up(self._lost)

    def _send(self, call: Callable[..., None], *args: object) -> bool:
        if self._closed or self._lost:
            return False
        try:
            loop = self._loop or self._begun()
            loop.call_soon_threadsafe(call, *args)
        except HarnessFault as error:
            self._lost = str(error)
            return False
        except RuntimeError:  # it ended by itself: whoever waits is told
            return False
        return True

    def _begun(self) -> asyncio.AbstractEventLoop:
        loop = _Loop(self._lull)
        loop.set_task_factory(owned_task)
        try:
            self._thread = begun(
                lambda: threading.Thread(
                    target=self._run, args=(loop,), name="dialeval-pool", daemon=True
                )
            )
        except HarnessFault:
            loop.close()
            raise
        self._loop = loop
        return loop

    # ---- the loop's side

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        serving = loop.create_task(self._serve())
        self.clock.start(loop)
        try:
            while not (serving.done() or self.clock.given_up or loop.is_closed()):
                # Raised in a task that an agent started, these leave the loop, and so does its
                # stop(), which is said by a RuntimeError; others go on.
                with suppress(KeyboardInterrupt, SystemExit, RuntimeError, asyncio.CancelledError):
                    loop.run_until_complete(serving)
                if serving.cancelled() and not self._closed:  # not by us
                    serving = loop.create_task(self._serve())
        except OSError as error:  # of its own pipes and selector
            self._lost = f"the event loop broke: {error}; {SHUT}"
        finally:
            self._leave(loop)

    def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        if self.clock.given_up:  # nobody need hear what was still pending
            loop.set_exception_handler(lambda _loop, _context: None)
        with suppress(OSError):  # of what somebody else has closed
            loop.close()

    async def _serve(self) -> None:
        await self._stop.wait()
        while self._queue:
            self._drop(self._queue.popleft(), STOPPED)
        await self._cancel_all()
        # What agents started and left; not before, because they may still clean up themselves.
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            self._keep(task)
        await self._cancel_all()
        if self._closing is not None:
            await self._closing()
        await asyncio.get_running_loop().shutdown_asyncgens()

    async def _cancel_all(self) -> None:
        for task, job in self._tasks.items():
            if job is None or not job.settled:  # what is graded may still be written
                task.cancel()
        while self._tasks:  # close() stops waiting for one that swallows it
            await asyncio.wait(list(self._tasks))

    def _keep(self, task: asyncio.Task[Any], job: _Job | None = None) -> None:
        self._tasks[task] = job
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled():
            task.exception()  # told to whoever waits; asyncio need not report it too

    def _begin(self, coroutine: Coroutine[Any, Any, T], future: Future[T]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine, name="a call")
        self._keep(task)
        task.add_done_callback(lambda _: _pass_on(task, future))

    def _enqueue(self, job: _Job) -> None:
        self._queue.append(job)
        self._feed()

    def _hurry(self, job: _Job) -> None:
        if job in self._queue:
            self._queue.remove(job)
            self._queue.appendleft(job)
            self._feed()

    def _feed(self) -> None:
        while self._queue and len(self._live) < self.concurrency:
            if self.clock.pause.on or self._closed:
                return
            self._start(self._queue.popleft())

    def _start(self, job: _Job) -> None:
        job.started = True
        context = copy_context()
        context.run(current_line.set, Line(job.work.trial))
        task = asyncio.get_running_loop().create_task(
            Steps(self._hold_and_grade(job), self.clock), name=job.work.trial, context=context
        )
        self._live[job] = task
        self._keep(task, job)
        # Not inside the coroutine: one that is cancelled before its first step never runs.
        task.add_done_callback(lambda _: self._drop(job, STOPPED if self._closed else job.why))

    async def _hold_and_grade(self, job: _Job) -> None:
        try:
            held = await job.work.hold()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if not self.clock.given_up:  # else it is torn down, and answered already
                job.fail(_said(error))
            return
        self._release(job)  # grading needs no place among the conversations
        if self._closed:  # its cancellation was swallowed: no call may follow
            return
        graded = await self._graded(job, held)
        known = [each for each in graded if each is not None]
        if len(known) == len(graded):
            try:
                job.work.finish(held, known)
            except Exception as error:
                _said(error)

    async def _graded(self, job: _Job, held: Any) -> list[Graded | None]:
        """In the order of its rubrics; several that wait for something take a task each."""
        graded = self._at_once(job, held)
        later = [each for each in job.work.rubrics if each not in job.answers]
        if len(later) == 1:
            graded[later[0]] = await self._grade(job, held, later[0])
        elif later:
            steps = (Steps(self._grade(job, held, each), self.clock) for each in later)
            graded |= zip(later, await asyncio.gather(*steps), strict=True)
        return list(graded.values())

    def _at_once(self, job: _Job, held: Any) -> dict[str, Graded | None]:
        """Each rubric, with its verdict where it waits for nothing."""
        graded: dict[str, Graded | None] = dict.fromkeys(job.work.rubrics)
        decided = {}
        for each in graded:
            try:
                decided[each] = job.work.at_once(held, each)
            except BaseException as error:
                self._undecided(job, each, error)
        known = {rubric: each for rubric, each in decided.items() if each is not None}
        try:
            filed = dict(zip(known, job.work.file(held, list(known.values())), strict=True))
        except BaseException as error:
            for each in known:
                self._undecided(job, each, error)
            return graded
        for rubric, answer in filed.items():
            job.settle(rubric, answer)
        return graded | filed

    async def _grade(self, job: _Job, held: Any, rubric: str) -> Graded | None:
        try:
            graded = await job.work.grade(held, rubric)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling() or self._closed:
                raise
            job.settle(rubric, _Failure(_said(error)))  # raised by a judge of the user's
            return None
        except BaseException as error:
            self._undecided(job, rubric, error)
            return None
        job.settle(rubric, graded)
        return graded

    def _undecided(self, job: _Job, rubric: str, error: BaseException) -> None:
        if not self.clock.given_up:  # else it is torn down, and answered already
            job.settle(rubric, _Failure(_said(error)))

    def _go_on(self) -> None:
        self.clock.pause.end()
        self._feed()

    def _release(self, job: _Job) -> None:
        """Nobody talks to its agent any more: its place is free."""
        job.over.set()
        if self._live.pop(job, None) is not None:
            self._feed()

    def _drop(self, job: _Job, why: str) -> None:
        """It is over, or will never be: leave nobody waiting."""
        job.fail(why)
        self._release(job)

    def _abandon(self, job: _Job) -> None:
        job.why = GONE
        if job in self._queue:
            self._queue.remove(job)
            self._drop(job, GONE)
        elif job in self._live:
            self._live[job].cancel()


def _pass_on(task: asyncio.Task[T], future: Future[T]) -> None:
    """The task's end, as the main thread may meet it: never an exit."""
    if task.cancelled():
        future.cancel()
        return
    error = task.exception()
    if error is None:
        future.set_result(task.result())
    else:
        future.set_exception(error if isinstance(error, Exception) else HarnessFault(_said(error)))


def _said(error: BaseException) -> str:
    """What went wrong, in one sentence; where it is no fault with a text of its own, logged too."""
    if isinstance(error, DialevalError):
        return str(error)
    logger.error("a fault of pytest-dialeval itself", exc_info=error)
    return f"internal error: {type(error).__name__}: {error}"
