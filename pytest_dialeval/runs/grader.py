"""Verdicts of a conversation that is over: given, filed before anybody sees them, and told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pytest_dialeval.conversation.clock import LoopClock
from pytest_dialeval.errors import RunError
from pytest_dialeval.grading.grade import (
    CompiledRubric,
    Dialogue,
    grade,
    grade_by_rule,
)
from pytest_dialeval.grading.judge import Judge, NoJudge
from pytest_dialeval.grading.rule_thread import RuleThread
from pytest_dialeval.grading.scoring import score_trial
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.run import Conversation, Graded, WorkExcerpt
from pytest_dialeval.records.suite import TIMEOUT, Scoring
from pytest_dialeval.records.task import Task
from pytest_dialeval.records.transcript import (
    UNMEASURED_OUTCOMES,
    Outcome,
    Transcript,
    Turn,
)
from pytest_dialeval.records.verdict import TrialScore, Verdict
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.excerpt import excerpt, work_excerpt
from pytest_dialeval.runs.ledger import LedgerWriter
from pytest_dialeval.runs.rewards import rewards_of
from pytest_dialeval.suites.work_lint import asks_verifier
from pytest_dialeval.traces.clearing import cleared
from pytest_dialeval.traces.redaction import Redaction

RESULT_SCHEMA = "dialeval.result/1"
SHORT = 20_000  # characters


@dataclass(frozen=True, slots=True)
class Held:
    """A conversation that is over: what is graded, and how it went."""

    dialogue: Dialogue
    conversation: Conversation
    is_long: bool  # so that matchers take more than a moment to read it


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
        """One verdict, in the ledger before anybody sees it."""
        verdict = self.at_once(held, rubric)
        verdict = await self._in_time(rubric, held) if verdict is None else verdict
        return self.file(held, [verdict])[0]

    def at_once(self, held: Held, rubric: str) -> Verdict | None:
        """A verdict that takes but a moment; None of a judge's, or one decided on a thread."""
        if rubric == self.body:
            if self.body_held is not None:
                self.body_held(held.dialogue)
            return self._for_body(held, rubric)
        compiled = self.rubrics[rubric]
        slow = self.users_matchers or compiled.slow or held.is_long
        if compiled.check is None or (self.rules is not None and slow):
            return None
        return grade_by_rule(compiled, held.dialogue)

    async def _in_time(self, rubric: str, held: Held) -> Verdict:
        """A judge or a matcher that never answers gives no verdict, and keeps nobody waiting."""
        compiled = self.rubrics[rubric]
        if compiled.check is not None and self.rules is not None:
            return await self._by_rule(self.rules, compiled, held.dialogue)
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

    def grade_now(self, held: Held, rubrics: Sequence[str]) -> list[Graded]:
        """Several without a loop, of rules or a body."""
        return self.file(held, [self._without_judge(each, held) for each in rubrics])

    def _without_judge(self, rubric: str, held: Held) -> Verdict:
        if rubric == self.body:
            return self._for_body(held, rubric)
        judge = self.judge if isinstance(self.judge, NoJudge) else None
        return grade_by_rule(self.rubrics[rubric], held.dialogue, judge)

    def dialogue(self, planned: PlannedTrial, transcript: Transcript) -> Dialogue:
        """What is graded, with the names that a judge's calls are recorded by."""
        return Dialogue(transcript, self.task, planned.case, planned.number, self.batch)

    def grade_lost(self, held: Held, rubrics: Sequence[str]) -> list[Graded]:
        """The same while the loop stands still: no judge can be asked."""
        return self.file(held, [self._of_lost(each, held) for each in rubrics])

    def _of_lost(self, rubric: str, held: Held) -> Verdict:
        verdict = self._without_judge(rubric, held)
        if held.conversation.outcome == "agent_error" and verdict.status == "unscored":
            reason = f"it cannot be decided: {held.dialogue.transcript.reason}"
            return replace(verdict, reason=reason, fault="harness_error")
        return verdict

    def file(self, held: Held, verdicts: Sequence[Verdict]) -> list[Graded]:
        """In the ledger, in one write; what crosses over to be shown holds no secret.

        A body's that will run is left out: it decides and files it itself.
        """
        conversation, lost = held.conversation, ""
        final = self.redaction.record([each for each in verdicts if not self._is_open(each)])
        try:
            self.ledger.verdicts(conversation.trial, final, conversation.attempt)
        except RunError as error:
            lost = str(error)
        rest = iter(final)
        return [
            self._open(held, each) if self._is_open(each) else self._final(held, next(rest), lost)
            for each in verdicts
        ]

    def _is_open(self, verdict: Verdict) -> bool:
        return verdict.rubric == self.body and verdict.status != "unscored"

    def _open(self, held: Held, verdict: Verdict) -> Graded:
        verdict = replace(verdict, reason=self.redaction.text(verdict.reason))
        shown, transcript = self._excerpt(held, verdict), held.dialogue.transcript
        return Graded(verdict, held.conversation, shown, transcript=transcript)

    def _final(self, held: Held, verdict: Verdict, lost: str) -> Graded:
        if lost:  # what no ledger holds is not known
            verdict = Verdict(verdict.rubric, "unscored", reason=lost, fault="harness_error")
        shown, work = self._excerpt(held, verdict), self._work(held, verdict)
        return Graded(verdict, held.conversation, shown, work)

    def _work(self, held: Held, verdict: Verdict) -> WorkExcerpt | None:
        spec = self.rubrics[verdict.rubric].rubric.spec if verdict.rubric in self.rubrics else None
        if spec is None or not asks_verifier(spec.method, spec.params):
            return None
        return work_excerpt(held.dialogue.transcript, verdict, self.redaction.text)

    def _excerpt(self, held: Held, verdict: Verdict) -> tuple[Turn, ...]:
        return excerpt(
            held.dialogue.transcript, verdict, lambda turn: cleared(turn, self.redaction)
        )

    def _for_body(self, held: Held, rubric: str) -> Verdict:
        transcript = held.dialogue.transcript
        if transcript.outcome in UNMEASURED_OUTCOMES:  # the body will never run
            reason, fault = transcript.reason, transcript.outcome
            return Verdict(rubric, "unscored", reason=reason, fault=fault)
        if transcript.outcome == "agent_error":
            reason = f"the agent failed: {transcript.reason}"
            return Verdict(rubric, "failed", score=0.0, reason=reason)
        return Verdict(rubric, "passed", score=1.0)

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


def is_long(transcript: Transcript) -> bool:
    """Whether a thread that reads it spares the loop more than it takes to wake one."""
    texts = sum(len(each.text) for each in transcript.turns)
    calls = (call for each in transcript.turns for call in each.tool_calls)
    return texts + sum(len(each.result or "") for each in calls) > SHORT
