"""One trial, from its first word to a conversation that can be graded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path

from pytest_dialeval.conversation.agent import AgentFactory
from pytest_dialeval.conversation.clock import LoopClock
from pytest_dialeval.conversation.converse import converse
from pytest_dialeval.conversation.site import Site
from pytest_dialeval.conversation.user import Simulator
from pytest_dialeval.errors import RunError, TraceTaken, TranscriptError
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.monotonic import monotonic
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.run import Conversation, Graded
from pytest_dialeval.records.suite import Limits
from pytest_dialeval.records.task import Persona
from pytest_dialeval.records.transcript import (
    Outcome,
    Recording,
    Transcript,
)
from pytest_dialeval.records.work import Check
from pytest_dialeval.runs.grader import Grader, Held, is_long
from pytest_dialeval.runs.rounds import heard
from pytest_dialeval.traces.reader import read_trace
from pytest_dialeval.traces.redaction import Redaction
from pytest_dialeval.traces.writer import TraceWriter

OffLoop = Callable[[Callable[[], None]], Awaitable[None]]


@dataclass(frozen=True, slots=True, eq=False)
class LiveTrial:
    """A conversation to hold: the trace is on disk before grading starts."""

    planned: PlannedTrial
    persona: Persona
    agent: AgentFactory
    seed: str
    limits: Limits
    header: Mapping[str, object]
    matchers: Mapping[str, Matcher]
    grader: Grader
    off_loop: OffLoop
    isolated: bool
    simulator: Simulator
    clock: LoopClock
    # Makes the folder that the agent works in; given a name of its own below traces/.
    site: Callable[[str], Site] | None = None
    redaction: Redaction | None = None  # None: what the environment's names give away
    writing: list[TraceWriter] = field(default_factory=list)  # the last one is this trial's

    async def hold(self) -> Held:
        """Converse; a disk that fails voids this trial alone."""
        began = monotonic()
        try:
            transcript = await self._converse(self._begun())
        except RunError as error:
            transcript = _void(str(error))
        except asyncio.CancelledError:
            stopped = Transcript(outcome="cancelled", reason="it was stopped before its end")
            self._file(stopped, monotonic() - began)
            raise
        return self._file(transcript, monotonic() - began)

    def lost(self, rubrics: Sequence[str], outcome: Outcome, reason: str) -> list[Graded]:
        """End it on another thread, as the loop stands still, and file what can be said of it."""
        transcript = Transcript(outcome=outcome, reason=reason)
        if self.writing:
            transcript = _broken_off(self.writing[-1], transcript)
        held = self._file(transcript, None)
        graded = self.grader.grade_lost(held, rubrics)
        self.grader.finish(held, graded)
        return graded

    def _begun(self) -> TraceWriter:
        """Each attempt has a trace of its own; so has a trial that a lost worker had begun."""
        attempt = f".{self.planned.attempt}" if self.planned.attempt > 1 else ""
        stem = self.grader.directory.traces / f"{self.planned.id}{attempt}"
        names = chain([""], (f".again{number}" for number in count(2)))
        for each in names:
            with suppress(TraceTaken):
                trace = TraceWriter(Path(f"{stem}{each}.jsonl"), redaction=self.redaction)
                self.writing.append(trace)
                break
        return self.writing[-1]

    async def _converse(self, trace: TraceWriter) -> Transcript:
        draw = Draw(self.seed, self.planned.task, self.planned.persona, self.planned.number)
        try:
            return await converse(
                self.grader.task,
                self.persona,
                self.agent,
                draw=draw,
                limits=self.limits,
                trace=trace,
                header=self.header,
                matchers=self.matchers,
                simulator=self.simulator,
                clock=self.clock,
                case=self.planned.case,
                trial=self.planned.number,
                site=self.site(trace.path.stem) if self.site else None,
            )
        finally:
            with trace:  # closed here: fsync takes milliseconds, all else is quicker than a thread
                await self.off_loop(trace.sync)

    def _file(self, transcript: Transcript, seconds: float | None) -> Held:
        conversation = replace(
            _told(self.planned, transcript),
            seconds=None if seconds is None else round(seconds, 4),
            trace=self.writing[-1].named if self.writing else None,
            isolated=self.isolated,
        )
        return _filed(self.planned, transcript, conversation, self.grader)


def held_recording(planned: PlannedTrial, recording: Recording, grader: Grader, where: str) -> Held:
    """A conversation that exists already; `where` is its file as rootdir knows it."""
    transcript = recording.transcript
    conversation = replace(
        _told(planned, transcript),
        recording=recording.named(where),
        sha256=recording.sha256,
    )
    return _filed(planned, transcript, conversation, grader)


def held_without(planned: PlannedTrial, why: str, grader: Grader) -> Held:
    """A conversation that could not begin: nothing can be said about the agent."""
    void = _void(why)
    return _filed(planned, void, _told(planned, void), grader)


def _told(planned: PlannedTrial, transcript: Transcript) -> Conversation:
    """How it went, as far as its transcript tells."""
    return Conversation(
        trial=planned.id,
        outcome=transcript.outcome,
        reason=transcript.reason,
        rounds=max((each.round for each in transcript.turns), default=0),
        turns=len(transcript.turns),
        attempt=planned.attempt,
        fidelity=transcript.fidelity,
        checks={str(each.round): _reward(each) for each in transcript.checks},
        said=heard(transcript),
    )


def _reward(check: Check) -> float | None:
    """None where nothing is known of the work."""
    return None if check.passed is None else check.reward


def _filed(
    planned: PlannedTrial, transcript: Transcript, conversation: Conversation, grader: Grader
) -> Held:
    """In the ledger before anything is graded; a conversation that it does not hold is void."""
    conversation = grader.redaction.record(conversation)
    try:
        grader.ledger.conversation(conversation)
    except RunError as error:
        transcript = _void(str(error))
        conversation = replace(conversation, outcome=transcript.outcome, reason=transcript.reason)
    return Held(grader.dialogue(planned, transcript), conversation, is_long(transcript))


def _broken_off(trace: TraceWriter, ending: Transcript) -> Transcript:
    """What was said so far, with this ending; the trace gets it too."""
    try:
        with trace:  # closed whatever fails: the loop may never come back to do it
            trace.flush()
            said = read_trace(trace.part).transcript
            trace.error(ending.outcome, ending.reason)
            trace.end(ending.outcome, ending.reason)
            trace.sync()
    except RunError as error:
        return _void(str(error))
    except TranscriptError:  # it had not begun: it waited for a place with its agent
        return ending
    return replace(ending, turns=said.turns, work=said.work, checks=said.checks)


def _void(why: str) -> Transcript:
    return Transcript(outcome="harness_error", reason=why)
