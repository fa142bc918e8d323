"""One rubric on one dialogue: a verdict, from a rule or from the judge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_dialeval.errors import NotMeasured
from pytest_dialeval.grading.briefing import briefing
from pytest_dialeval.grading.evidence import misquoted
from pytest_dialeval.grading.judge import Judge, JudgeQuestion, NoJudge
from pytest_dialeval.grading.judgement import describe, judged
from pytest_dialeval.matching.compiling import Check, compile_spec
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.trigger import fired
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.rubric import Rubric, Trigger
from pytest_dialeval.records.task import Task
from pytest_dialeval.records.transcript import UNMEASURED_OUTCOMES, Outcome, Transcript
from pytest_dialeval.records.verdict import Evidence, MatcherResult, Status, Verdict

NO_JUDGE = "no judge is configured"
SWITCHED_OFF = "no judge"
_SHOWN = 200  # characters quoted of the turn before a crash


@dataclass(frozen=True, slots=True)
class CompiledRubric:
    """A rubric ready to grade."""

    rubric: Rubric
    check: Check | None  # None: the judge decides
    when: Check | None  # of the trigger

    @property
    def slow(self) -> bool:
        """Whether even a short text may take a rule of it more than a moment."""
        return any(each is not None and each.slow for each in (self.check, self.when))


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What is graded."""

    transcript: Transcript
    task: Task
    case: str = ""  # trial id without its number: names the calls of a judge
    trial: int = 1
    batch: tuple[CompiledRubric, ...] = ()  # all of the suite that share one call of the judge


@dataclass(frozen=True, slots=True)
class _Open:
    """The rubric counts and the transcript must say more."""

    view: View
    triggered_at: int | None


def compile_rubrics(
    rubrics: Sequence[Rubric], matchers: Mapping[str, Matcher]
) -> tuple[CompiledRubric, ...]:
    """Check the parameters of every matcher once; SpecError names what is wrong."""
    return tuple(_compile(each, matchers) for each in rubrics)


def _compile(rubric: Rubric, matchers: Mapping[str, Matcher]) -> CompiledRubric:
    when = rubric.trigger.when if rubric.trigger else None
    return CompiledRubric(
        rubric,
        None if rubric.spec.method == "judge" else compile_spec(rubric.spec, matchers),
        None if when is None else compile_spec(when, matchers),
    )


def batched(rubrics: Iterable[CompiledRubric]) -> tuple[CompiledRubric, ...]:
    """Those that share one call of the judge: the whole suite's, whatever is selected."""
    return tuple(each for each in rubrics if each.check is None and _shares_call(each.rubric))


def _shares_call(rubric: Rubric) -> bool:
    return rubric.spec.method == "judge" and rubric.spec.params.get("batch") is True


def grade_by_rule(
    rubric: CompiledRubric, dialogue: Dialogue, judge: NoJudge | None = None
) -> Verdict:
    """The verdict of a matcher. Never raises on any text.

    A rubric for the judge is unscored, or not applicable where judging is switched off.
    """
    found = _opened(rubric, dialogue)
    if isinstance(found, Verdict):
        return found
    if rubric.check is None:
        if judge is None:
            return _unscored(rubric, "judge_error", NO_JUDGE, found.triggered_at)
        at = found.triggered_at
        return Verdict(rubric.rubric.id, "not_applicable", reason=SWITCHED_OFF, triggered_at=at)
    verdict = _by_check(rubric, rubric.check, found, dialogue.transcript)
    return _without_crash(verdict, dialogue.transcript)


async def grade(
    rubric: CompiledRubric, dialogue: Dialogue, judge: Judge | NoJudge | None
) -> Verdict:
    """The verdict of whoever decides this rubric; the judge is asked only where it must be."""
    if judge is None or isinstance(judge, NoJudge):
        return grade_by_rule(rubric, dialogue, judge)
    if rubric.check is not None:
        return grade_by_rule(rubric, dialogue)
    found = _opened(rubric, dialogue)
    if isinstance(found, Verdict):
        return found
    question = _question(rubric.rubric, dialogue, found.view)
    if _shares_call(rubric.rubric):
        question = replace(question, batch=_batch(rubric, dialogue))
    verdict = await judged(judge, question)
    verdict = replace(verdict, triggered_at=found.triggered_at)
    return _without_crash(verdict, dialogue.transcript)


def _opened(rubric: CompiledRubric, dialogue: Dialogue) -> Verdict | _Open:
    """A verdict already where the outcome or the trigger decides."""
    transcript = dialogue.transcript
    if transcript.outcome in UNMEASURED_OUTCOMES:
        reason = transcript.reason or f"the conversation ended with {transcript.outcome}"
        return _unscored(rubric, transcript.outcome, reason)
    if not transcript.finished:
        return _unscored(rubric, "harness_error", "the trace breaks off before the end")
    view = _view(dialogue)
    triggered_at = None
    if trigger := rubric.rubric.trigger:
        try:
            triggered_at = fired(trigger, view, rubric.when)
        except Exception as exc:
            return _raised(rubric, "the trigger's matcher", exc)
        if triggered_at is None:
            return Verdict(rubric.rubric.id, "not_applicable", reason=_not_fired(trigger))
        if trigger.then == "after":
            view = replace(view, after=triggered_at)
    if transcript.outcome == "agent_error" and rubric.rubric.dimension != "safety":
        return _crashed(rubric.rubric, transcript, triggered_at)
    return _Open(view, triggered_at)


def _view(dialogue: Dialogue) -> View:
    task, transcript = dialogue.task, dialogue.transcript
    return View(
        transcript.turns,
        language=task.language,
        variables=task.variables,
        prompt=task.prompt,
        recorded=transcript.recorded,
        work=transcript.work,
        checks=transcript.checks,
    )


def _not_fired(trigger: Trigger) -> str:
    if trigger.probe is not None:
        return f"its trigger never fired: the probe {trigger.probe!r} was not said"
    if trigger.state is not None:
        return f"its trigger never fired: the user was never in the state {trigger.state!r}"
    if trigger.user_keyword:
        words = " or ".join(map(repr, trigger.user_keyword))
        return f"its trigger never fired: the user never said {words}"
    method = trigger.when.method if trigger.when else ""
    return f"its trigger never fired: {method} never matched"


def _crashed(rubric: Rubric, transcript: Transcript, triggered_at: int | None) -> Verdict:
    """Rule 2: what always counts, or counts already, has failed, with the error as evidence."""
    last = transcript.turns[-1] if transcript.turns else None
    quoted = last is not None and bool(last.text)
    return Verdict(
        rubric.id,
        "failed",
        score=0.0,
        reason=f"the agent failed: {transcript.reason or 'no reason was recorded'}",
        expected="the agent answers to the end",
        evidence=(Evidence(last.id, last.text[:_SHOWN]),) if last and quoted else (),
        searched=(last.id,) if last and not quoted else (),
        triggered_at=triggered_at,
    )


def _without_crash(verdict: Verdict, transcript: Transcript) -> Verdict:
    """A safety rubric is not broken by what a crash left unsaid."""
    absent = verdict.status == "failed" and not verdict.evidence
    if transcript.outcome != "agent_error" or not absent:
        return verdict
    reason = f"the agent failed before it could be decided ({verdict.reason})"
    return replace(verdict, status="not_applicable", score=None, reason=reason)


def _by_check(
    rubric: CompiledRubric, check: Check, found: _Open, transcript: Transcript
) -> Verdict:
    name = f"matcher {check.method!r}"
    try:
        result = check(found.view)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as exc:  # pytest.skip(), sys.exit(): no exit of ours
        return _raised(rubric, name, exc, found.triggered_at)
    if problem := _problem(result, transcript):
        return _unscored(rubric, "harness_error", f"{name} {problem}", found.triggered_at)
    status, score = _decided(rubric.rubric, result.score)
    return Verdict(
        rubric.rubric.id,
        status,
        score=score,
        reason=result.reason,
        expected=result.expected,
        evidence=result.evidence,
        searched=result.searched,
        triggered_at=found.triggered_at,
    )


def _decided(rubric: Rubric, score: float | None) -> tuple[Status, float | None]:
    if score is None:
        return "not_applicable", None
    if rubric.dimension == "safety":  # any occurrence is a breach: there is no ratio
        return ("passed", 1.0) if score >= 1 else ("failed", 0.0)
    # Rounded: 1 - 0.9 must reach a min of 0.1.
    return "passed" if round(score, 12) >= rubric.min else "failed", score


def _problem(result: object, transcript: Transcript) -> str:
    """What keeps a matcher's result from being believed; empty where nothing does."""
    if not isinstance(result, MatcherResult):
        return f"gave a {type(result).__name__}, not a MatcherResult"
    score = result.score
    if score is not None and not (math.isfinite(score) and 0 <= score <= 1):
        return f"gave the score {score!r}; it must be from 0 to 1, or None"
    texts: tuple[object, ...] = (result.reason, result.expected)
    if not all(isinstance(each, str) for each in texts):
        return "gave a reason or an expectation that is no text"
    if not {int}.issuperset(map(type, result.searched)):
        return f"gave searched turns {result.searched!r}; they must be turn ids"
    if wrong := misquoted(result.evidence, transcript):
        return f"quotes {wrong.quote[:80]!r}, which does not stand in turn {wrong.turn}"
    return ""


def _raised(
    rubric: CompiledRubric, who: str, exc: BaseException, triggered_at: int | None = None
) -> Verdict:
    reason = str(exc) if isinstance(exc, NotMeasured) else f"{who} raised {describe(exc)}"
    return _unscored(rubric, "harness_error", reason, triggered_at)


def _unscored(
    rubric: CompiledRubric, fault: Outcome, reason: str, triggered_at: int | None = None
) -> Verdict:
    return Verdict(
        rubric.rubric.id, "unscored", reason=reason, triggered_at=triggered_at, fault=fault
    )


def _question(rubric: Rubric, dialogue: Dialogue, view: View) -> JudgeQuestion:
    return JudgeQuestion(
        rubric=rubric.id,
        criterion=str(rubric.spec.params.get("criterion", "")),
        dimension=rubric.dimension,
        task=dialogue.task,
        turns=dialogue.transcript.turns,
        after=view.after,
        params=rubric.spec.params,
        case=dialogue.case,
        trial=dialogue.trial,
        min=rubric.min,
        briefing=briefing(dialogue.task, dialogue.transcript),
    )


def _batch(rubric: CompiledRubric, dialogue: Dialogue) -> tuple[JudgeQuestion, ...]:
    """The questions that share this rubric's call; none where it is no part of a batch."""
    if not any(each.rubric.id == rubric.rubric.id for each in dialogue.batch):
        return ()
    opened = [(each.rubric, _opened(each, dialogue)) for each in dialogue.batch]
    return tuple(
        _question(each, dialogue, found.view) for each, found in opened if isinstance(found, _Open)
    )
