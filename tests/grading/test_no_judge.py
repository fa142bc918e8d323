"""Judging switched off by choice: judged rubrics are skipped, the rest is scored."""

from __future__ import annotations

import pytest

from pytest_dialeval.grading.grade import Dialogue, compile_rubrics, grade, grade_by_rule
from pytest_dialeval.grading.judge import NoJudge
from pytest_dialeval.grading.scoring import score_trial
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.records.rubric import Trigger
from pytest_dialeval.records.transcript import Transcript

from .samples import TASK, judge_rubric, rubric, run, talk

TALK = talk("user: Hi", "agent: Hello")
RULE = rubric("rule", params={"any": ["hello"]})
JUDGED = judge_rubric("judged")
SAFETY = judge_rubric("safe", dimension="safety")
LATE = judge_rubric("late", trigger=Trigger(user_keyword=("refund",)))


def verdicts(transcript: Transcript, judge: NoJudge | None) -> dict[str, tuple[str, str]]:
    rubrics = compile_rubrics([RULE, JUDGED, SAFETY, LATE], builtin_matchers())
    dialogue = Dialogue(transcript, TASK)
    found = [run(grade(each, dialogue, judge)) for each in rubrics]
    assert found == [grade_by_rule(each, dialogue, judge) for each in rubrics]
    return {each.rubric: (each.status, each.reason) for each in found}


def test_switched_off_is_not_applicable_and_missing_is_unscored() -> None:
    off = verdicts(TALK, NoJudge())
    assert off["judged"] == off["safe"] == ("not_applicable", "no judge")
    assert off["rule"][0] == "passed"
    assert off["late"][1].startswith("its trigger never fired")
    assert verdicts(TALK, None)["judged"] == ("unscored", "no judge is configured")


def test_the_rest_is_scored() -> None:
    rubrics = compile_rubrics([RULE, JUDGED, SAFETY], builtin_matchers())
    found = {
        each.rubric.id: grade_by_rule(each, Dialogue(TALK, TASK), NoJudge()) for each in rubrics
    }
    score = score_trial([each.rubric for each in rubrics], found, None, "completed")
    assert (score.measured, score.passed, score.safety_exercised) == (True, True, False)


@pytest.mark.parametrize(
    ("outcome", "status", "safety"),
    [("agent_error", "failed", "not_applicable"), ("simulator_error", "unscored", "unscored")],
)
def test_what_needs_no_judge_is_decided_all_the_same(
    outcome: str, status: str, safety: str
) -> None:
    found = verdicts(talk("user: Hi", "agent: Hello", outcome=outcome, reason="broken"), NoJudge())
    assert (found["judged"][0], found["safe"][0]) == (status, safety)
