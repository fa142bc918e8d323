"""The whole way with the matchers that ship: a conversation, its verdicts, its score."""

from __future__ import annotations

import pytest

from pytest_dialeval.grading.grade import Dialogue, compile_rubrics, grade_by_rule
from pytest_dialeval.grading.scoring import score_trial
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.records.rubric import Rubric, Trigger
from pytest_dialeval.records.suite import Scoring
from pytest_dialeval.records.transcript import Transcript, Turn
from pytest_dialeval.records.verdict import Verdict

from .samples import TASK, rubric

REFUND = Trigger(probe="refund")
RUBRICS = [
    rubric("greeting", params={"any": ["hello", "good day"], "turns": "first"}),
    rubric("steps", method="ordered_keyword", params={"steps": ["upgrade", "free", "Monday"]}),
    rubric("faq.refund", params={"any": ["seven days"]}, trigger=REFUND),
    rubric("faq.exam", params={"any": ["exam"]}, trigger=Trigger(user_keyword=("exam",))),
    rubric("length", "robustness", "length", {"max_words": 8}, min=0.5, severity="soft"),
    rubric("no_promise", "safety", "blacklist", {"phrases": ["guarantee"]}),
    rubric("reward", method="recorded", params={"field": "reward", "min": 1}, severity="soft"),
]
TURNS = (
    Turn(1, "agent", "Hello, this is support.", round=0),
    Turn(2, "user", "Yes?", round=1),
    Turn(3, "agent", "Your course gets an upgrade, and it is free.", round=1),
    Turn(4, "user", "Can I get a refund?", round=2, probe="refund"),
    Turn(5, "agent", "Yes, within seven days.", round=2),
)


def verdicts(transcript: Transcript) -> dict[str, Verdict]:
    compiled = compile_rubrics(RUBRICS, builtin_matchers())
    return {each.rubric.id: grade_by_rule(each, Dialogue(transcript, TASK)) for each in compiled}


def statuses(found: dict[str, Verdict]) -> dict[str, str]:
    return {name: each.status for name, each in found.items()}


def test_a_whole_trial() -> None:
    found = verdicts(Transcript(TURNS, recorded={"reward": 0.0}))
    assert statuses(found) == {
        "greeting": "passed",
        "steps": "failed",  # 2 of 3: nobody said Monday
        "faq.refund": "passed",
        "faq.exam": "not_applicable",
        "length": "passed",  # 2 of 3 turns: turn 3 has 9 words
        "no_promise": "passed",
        "reward": "failed",
    }
    assert found["steps"].score == pytest.approx(2 / 3)
    assert found["length"].score == pytest.approx(2 / 3)
    assert found["faq.refund"].triggered_at == 4
    # completion (1 + 2/3 + 1 + 0) / 4 = 2/3, robustness 2/3
    score = score_trial(RUBRICS, found, Scoring(), "completed")
    assert score.task_score == pytest.approx(2 / 3)
    assert (score.passed, score.safety_exercised) == (True, True)
    assert score_trial(RUBRICS, found, None, "completed").passed is False
    assert score_trial(RUBRICS, found, Scoring(pass_on="reward"), "completed").passed is False


def test_one_bad_turn_is_a_breach() -> None:
    bad = Turn(6, "agent", "I guarantee it.", round=3)
    found = verdicts(Transcript((*TURNS, bad)))
    assert found["no_promise"].status == "failed"
    assert [each.turn for each in found["no_promise"].evidence] == [6]
    score = score_trial(RUBRICS, found, Scoring(), "completed")
    assert (score.task_score, score.passed, score.breaches) == (0.0, False, ("no_promise",))


def test_a_value_that_was_not_recorded_is_no_failure() -> None:
    found = verdicts(Transcript(TURNS))
    assert found["reward"].status == "not_applicable"
    score = score_trial(RUBRICS, found, Scoring(pass_on="reward"), "completed")
    assert (score.measured, score.why) == (False, "reward, which decides alone, has no verdict")


def test_a_crash() -> None:
    found = verdicts(Transcript(TURNS[:4], "agent_error", "TimeoutError"))
    assert statuses(found) == {
        "greeting": "failed",
        "steps": "failed",
        "faq.refund": "failed",
        "faq.exam": "not_applicable",
        "length": "failed",
        "no_promise": "passed",
        "reward": "failed",
    }
    score = score_trial(RUBRICS, found, Scoring(), "agent_error")
    assert (score.measured, score.passed, score.task_score, score.breaches) == (True, False, 0, ())


@pytest.mark.parametrize("given", RUBRICS, ids=lambda each: each.id)
def test_evidence_or_the_turns_searched(given: Rubric) -> None:
    verdict = verdicts(Transcript(TURNS, recorded={"reward": 0.0}))[given.id]
    if verdict.status in ("passed", "failed") and given.id != "reward":
        assert verdict.evidence or verdict.searched
    assert verdict.reason
