"""One trial, from the first word to its verdicts on disk."""

from __future__ import annotations

import asyncio
import time
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
from pytest_dialeval.grading.grade import (
    CompiledRubric,
    Dialogue,
    grade,
    grade_by_rule,
)
from pytest_dialeval.grading.judge import Judge, NoJudge
from pytest_dialeval.grading.rule_thread import RuleThread
from pytest_dialeval.grading.scoring import score_trial
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.run import Conversation, Graded, WorkExcerpt
from pytest_dialeval.records.suite import TIMEOUT, Limits, Scoring
from pytest_dialeval.records.task import Persona, Task
from pytest_dialeval.records.transcript import (
    UNMEASURED_OUTCOMES,
    Outcome,
    Recording,
    Transcript,
    Turn,
)
from pytest_dialeval.records.verdict import TrialScore, Verdict
from pytest_dialeval.records.work import Check
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.excerpt import excerpt, work_excerpt
from pytest_dialeval.runs.ledger import LedgerWriter
from pytest_dialeval.runs.rewards import rewards_of
from pytest_dialeval.runs.rounds import heard
from pytest_dialeval.suites.work_lint import asks_verifier
from pytest_dialeval.traces.clearing import cleared
from pytest_dialeval.traces.reader import read_trace
from pytest_dialeval.traces.redaction import Redaction
from pytest_dialeval.traces.writer import TraceWriter

RESULT_SCHEMA = "dialeval.result/1"
SHORT = 20_000  # characters
OffLoop = Callable[[Callable[[], None]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Held:
    """A conversation that is over: what is graded, and how it went."""

    dialogue: Dialogue
    conversation: Conversation


@dataclass(frozen=True, slots=True, eq=False)
class Grader:
    """What grading a source's trials needs; shared by all of them."""

    task: Task
    rubrics: Mapping[str, CompiledRubric]
    scoring: Scoring | None
    judge: Judge | NoJudge | None
    directory: RunDirectory
    ledger: LedgerWriter
    body: str | None = None  # the rubric that stands for a decorated test's body
    batch: tuple[CompiledRubric, ...] = ()  # judged in one call a trial
    # Told of a trial, by case and number, that ended unmeasured by what models replied.
    forget: Callable[[str, int], None] | None = None
    body_held: Callable[[Dialogue], None] | None = None  # told of what a body will ask about
    deadline: float = TIMEOUT  # seconds for one verdict
    clock: LoopClock = field(default_factory=LoopClock)
    # A matcher of ours reads a short text in less time than a thread takes to wake.
    rules: RuleThread | None = None  # where others decide; None: on the loop, as all do
    users_matchers: bool = False  # whether some rubric may be decided by a matcher of the user's
    redaction: Redaction = field(default_factory=lambda: Redaction({}))

    async def grade(self, held: Held, rubric: str) -> Graded:
        """One verdict, in the ledger before anybody sees it; a body decides for itself, later."""
        if rubric == self.body:
            if self.body_held is not None:
                self.body_held(held.dialogue)
            return self._for_body(held, rubric)
        return self._filed(held, await self._in_time(rubric, held))

    async def _in_time(self, rubric: str, held: Held) -> Verdict:
        """A judge or a matcher that never answers gives no verdict, and keeps nobody waiting."""
        compiled = self.rubrics[rubric]
        slow = self.users_matchers or compiled.slow or _is_long(held.dialogue.transcript)
        if compiled.check is not None and self.rules is not None and slow:
            return await self._by_rule(self.rules, compiled, held.dialogue)
        if compiled.check is not None:
            return grade_by_rule(compiled, held.dialogue)
        try:
            async with self.clock.timeout(self.deadline):
                return await grade(compiled, held.dialogue, self.judge)
        except TimeoutError:
            reason = f"the judge gave no verdict within {self.deadline:g} s (limits.timeout)"
            return Verdict(rubric, "unscored", reason=reason, fault="judge_error")

    async def _by_rule(
        self, rules: RuleThread, rubric: CompiledRubric, dialogue: Dialogue
    ) -> Verdict:
        try:
            return await rules(lambda: grade_by_rule(rubric, dialogue), self.deadline)
        except TimeoutError:
            who = f"matcher {rubric.rubric.spec.method!r}"
            reason = f"{who} gave no verdict within {self.deadline:g} s (limits.timeout)"
            return Verdict(rubric.rubric.id, "unscored", reason=reason, fault="harness_error")

    def grade_now(self, held: Held, rubric: str) -> Graded:
        """The same without a loop, for a rule or a body."""
        if rubric == self.body:
            return self._for_body(held, rubric)
        return self._filed(held, self._without_judge(rubric, held))

    def _without_judge(self, rubric: str, held: Held) -> Verdict:
        judge = self.judge if isinstance(self.judge, NoJudge) else None
        return grade_by_rule(self.rubrics[rubric], held.dialogue, judge)

    def dialogue(self, planned: PlannedTrial, transcript: Transcript) -> Dialogue:
        """What is graded, with the names that a judge's calls are recorded by."""
        return Dialogue(transcript, self.task, planned.case, planned.number, self.batch)

    def grade_lost(self, held: Held, rubric: str) -> Graded:
        """The same while the loop stands still: no judge can be asked."""
        if rubric == self.body:
            return self._for_body(held, rubric)
        verdict = self._without_judge(rubric, held)
        if held.conversation.outcome == "agent_error" and verdict.status == "unscored":
            reason = f"it cannot be decided: {held.dialogue.transcript.reason}"
            verdict = replace(verdict, reason=reason, fault="harness_error")
        return self._filed(held, verdict)

    def _filed(self, held: Held, verdict: Verdict) -> Graded:
        """In the ledger; what crosses over to be shown holds no secret."""
        verdict, conversation = self.redaction.record(verdict), held.conversation
        try:
            self.ledger.verdict(conversation.trial, verdict, conversation.attempt)
        except RunError as error:  # what no ledger holds is not known
            verdict = Verdict(verdict.rubric, "unscored", reason=str(error), fault="harness_error")
        return Graded(
            verdict, conversation, self._excerpt(held, verdict), self._work(held, verdict)
        )

    def _work(self, held: Held, verdict: Verdict) -> WorkExcerpt | None:
        spec = self.rubrics[verdict.rubric].rubric.spec if verdict.rubric in self.rubrics else None
        if spec is None or not asks_verifier(spec.method, spec.params):
            return None
        return work_excerpt(held.dialogue.transcript, verdict, self.redaction.text)

    def _excerpt(self, held: Held, verdict: Verdict) -> tuple[Turn, ...]:
        return excerpt(
            held.dialogue.transcript, verdict, lambda turn: cleared(turn, self.redaction)
        )

    def _for_body(self, held: Held, rubric: str) -> Graded:
        transcript = held.dialogue.transcript
        if transcript.outcome in UNMEASURED_OUTCOMES:  # the body will never run
            reason, fault = transcript.reason, transcript.outcome
            return self._filed(held, Verdict(rubric, "unscored", reason=reason, fault=fault))
        if transcript.outcome == "agent_error":
            reason = self.redaction.text(f"the agent failed: {transcript.reason}")
            verdict = Verdict(rubric, "failed", score=0.0, reason=reason)
        else:
            verdict = Verdict(rubric, "passed", score=1.0)
        excerpt_ = self._excerpt(held, verdict)
        return Graded(verdict, held.conversation, excerpt_, transcript=transcript)

    def finish(self, held: Held, graded: Sequence[Graded]) -> None:
        """Write `<trial>.result.json` over the rubrics graded: the ledger's lines, to be read."""
        conversation = held.conversation
        if self.forget is not None and _void_by_replies(conversation, graded):
            self.forget(held.dialogue.case, held.dialogue.trial)
        if conversation.attempt > 1:
            return
        verdicts = {each.verdict.rubric: each.verdict for each in graded}
        result: dict[str, object] = {
            "schema": RESULT_SCHEMA,
            "conversation": conversation,
            "verdicts": [each for name, each in verdicts.items() if name != self.body],
            "score": None if self.body else self._score(verdicts, conversation.outcome),
        }
        if rewards := rewards_of(self.scoring, verdicts, conversation):
            result["rewards"] = rewards
        with suppress(RunError):  # the ledger holds it all; a full disk is said by the summary
            self.directory.write_result(conversation.trial, self.redaction.record(result))

    def _score(self, verdicts: Mapping[str, Verdict], outcome: Outcome) -> TrialScore:
        rubrics = [self.rubrics[each].rubric for each in verdicts]
        return score_trial(rubrics, verdicts, self.scoring, outcome)


def _void_by_replies(conversation: Conversation, graded: Sequence[Graded]) -> bool:
    """Calls that failed are on no record; this is about replies that are, and were of no use."""
    faults = {each.verdict.fault for each in graded if each.verdict.status == "unscored"}
    return conversation.outcome == "simulator_error" or "judge_error" in faults


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
        began = time.monotonic()
        try:
            transcript = await self._converse(self._begun())
        except RunError as error:
            transcript = _void(str(error))
        except asyncio.CancelledError:
            stopped = Transcript(outcome="cancelled", reason="it was stopped before its end")
            self._file(stopped, time.monotonic() - began)
            raise
        return self._file(transcript, time.monotonic() - began)

    def lost(self, rubrics: Sequence[str], outcome: Outcome, reason: str) -> list[Graded]:
        """End it on another thread, as the loop stands still, and file what can be said of it."""
        transcript = Transcript(outcome=outcome, reason=reason)
        if self.writing:
            transcript = _broken_off(self.writing[-1], transcript)
        held = self._file(transcript, None)
        graded = [self.grader.grade_lost(held, each) for each in rubrics]
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
        finally:  # fsync takes milliseconds: not on the loop
            await self.off_loop(lambda: trace.close(sync=True))

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
    return Held(grader.dialogue(planned, transcript), conversation)


def _is_long(transcript: Transcript) -> bool:
    texts = sum(len(each.text) for each in transcript.turns)
    calls = (call for each in transcript.turns for call in each.tool_calls)
    return texts + sum(len(each.result or "") for each in calls) > SHORT


def _broken_off(trace: TraceWriter, ending: Transcript) -> Transcript:
    """What was said so far, with this ending; the trace gets it too."""
    try:
        said = read_trace(trace.part).transcript
        trace.error(ending.outcome, ending.reason)
        trace.end(ending.outcome, ending.reason)
        trace.close(sync=True)
    except RunError as error:
        return _void(str(error))
    except TranscriptError:  # it had not begun: it waited for a place with its agent
        return ending
    return replace(ending, turns=said.turns, work=said.work, checks=said.checks)


def _void(why: str) -> Transcript:
    return Transcript(outcome="harness_error", reason=why)
