"""Verdicts of a conversation that is over."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from pytest_dialeval.conversation.clock import LoopClock
from pytest_dialeval.grading.grade import grade_by_rule
from pytest_dialeval.grading.judge import Judge, JudgeQuestion, JudgeReply
from pytest_dialeval.grading.rule_thread import RuleThread
from pytest_dialeval.records.rubric import Rubric, Trigger
from pytest_dialeval.records.suite import Scoring
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.transcript import OUTCOMES, Outcome, Transcript, Turn
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.grader import Grader
from pytest_dialeval.runs.ledger import LedgerWriter
from pytest_dialeval.traces.redaction import Redaction
from tests.runs.trials import CUBIC, FREE, RECORDED, entries, grader_of, recorded, refuse_lines


def test_a_verdict_is_in_the_ledger_before_anybody_sees_it(
    directory: RunDirectory, grader: Grader, ledger: LedgerWriter
) -> None:
    held = recorded(ledger)
    graded = asyncio.run(grader.grade(held, "free"))
    assert (graded.verdict.status, graded.conversation) == ("passed", held.conversation)
    assert [each.id for each in graded.excerpt] == [1, 2]
    assert graded.transcript is None
    assert entries(directory)[1:] == [("verdict", "passed", 1)]
    assert grader.grade_now(held, ["free"]) == [graded]


def test_a_judge_is_asked_and_without_one_it_is_said(
    directory: RunDirectory, ledger: LedgerWriter
) -> None:
    async def judge(question: JudgeQuestion) -> JudgeReply:
        return JudgeReply("not_met", "it is curt", absence=True)

    async def statuses(given: Judge | None) -> str:
        grader = grader_of(directory, ledger, judge=given)
        return (await grader.grade(recorded(ledger), "polite")).verdict.reason

    assert asyncio.run(statuses(judge)) == "it is curt"
    assert asyncio.run(statuses(None)) == "no judge is configured"
    assert [each[1] for each in entries(directory) if each[0] == "verdict"] == [
        "failed",
        "unscored",
    ]


def test_a_verdict_that_the_ledger_does_not_hold_is_not_known(
    grader: Grader, ledger: LedgerWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = recorded(ledger)
    refuse_lines(monkeypatch, "verdicts")
    for graded in (asyncio.run(grader.grade(held, "free")), *grader.grade_now(held, ["free"])):
        assert (graded.verdict.status, graded.verdict.fault) == ("unscored", "harness_error")
        assert "No space left" in graded.verdict.reason
        assert graded.verdict.rubric == "free"


# ---- a decorated test's body


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_body_runs_only_where_there_is_something_to_see(
    directory: RunDirectory, ledger: LedgerWriter, outcome: Outcome
) -> None:
    grader = grader_of(directory, ledger, body="test_fee")
    told = replace(RECORDED, outcome=outcome, reason="so it is")
    graded = asyncio.run(grader.grade(recorded(ledger, told), "test_fee"))
    filed = [each[1] for each in entries(directory) if each[0] == "verdict"]
    if outcome in ("completed", "limit_reached"):
        assert (graded.verdict.status, filed) == ("passed", [])  # the body decides for itself
        assert graded.transcript == told
    elif outcome == "agent_error":
        assert (graded.verdict.status, filed) == ("failed", [])
        assert graded.verdict.reason == "the agent failed: so it is"
        assert [each.id for each in graded.excerpt] == [1, 2]
    else:
        assert (graded.verdict.status, graded.verdict.fault) == ("unscored", outcome)
        assert (graded.verdict.reason, filed) == ("so it is", ["unscored"])


def test_a_body_is_known_though_its_name_holds_a_secret(
    directory: RunDirectory, ledger: LedgerWriter
) -> None:
    redaction = Redaction({"APP_PASSWORD": "test_login_page"})
    grader = replace(grader_of(directory, ledger, body="test_login_page"), redaction=redaction)
    graded = asyncio.run(grader.grade(recorded(ledger, RECORDED), "test_login_page"))
    assert graded.transcript == RECORDED
    assert not [each for each in entries(directory) if each[0] == "verdict"]
    assert graded.verdict.rubric == "test_login_page"


# ---- the result


def result(directory: RunDirectory) -> Any:
    return json.loads((directory.traces / "t.a.p-1.result.json").read_bytes())


def test_a_result_holds_verdicts_and_score(directory: RunDirectory, ledger: LedgerWriter) -> None:
    grader = grader_of(directory, ledger, scoring=Scoring(pass_on="free"))
    held = recorded(ledger)
    graded = [asyncio.run(grader.grade(held, each)) for each in ("free", "polite")]
    grader.finish(held, graded)
    found = result(directory)
    assert found.keys() == {"schema", "conversation", "verdicts", "score"}
    assert found["schema"] == "dialeval.result/1"
    assert found["conversation"]["recording"] == "data/air.json#3"
    assert [(each["rubric"], each["status"]) for each in found["verdicts"]] == [
        ("free", "passed"),
        ("polite", "unscored"),
    ]
    assert found["verdicts"][0]["evidence"] == [
        {"turn": 2, "quote": "free", "start": 6, "part": "text"}
    ]
    assert (found["score"]["measured"], found["score"]["passed"]) == (False, None)
    assert found["score"]["why"] == "polite is unscored: no judge is configured"


def test_the_score_of_a_decorated_trial_is_left_to_its_body(
    directory: RunDirectory, ledger: LedgerWriter
) -> None:
    grader = grader_of(directory, ledger, body="test_fee")
    held = recorded(ledger)
    graded = [asyncio.run(grader.grade(held, each)) for each in ("test_fee", "free")]
    grader.finish(held, graded)
    assert [each["rubric"] for each in result(directory)["verdicts"]] == ["free"]
    assert result(directory)["score"] is None


def test_a_later_attempt_leaves_the_first_result(
    directory: RunDirectory, grader: Grader, ledger: LedgerWriter
) -> None:
    for attempt, words in ((1, "No idea."), (2, "It is free.")):
        told = Transcript((Turn(1, "user", "?", 1), Turn(2, "agent", words, 1)))
        held = recorded(ledger, told, attempt)
        grader.finish(held, grader.grade_now(held, ["free"]))
    assert result(directory)["verdicts"][0]["status"] == "failed"
    assert [each[1:] for each in entries(directory) if each[0] == "verdict"] == [
        ("failed", 1),
        ("passed", 2),
    ]


def test_a_result_that_cannot_be_written_costs_no_verdict(
    directory: RunDirectory, grader: Grader, ledger: LedgerWriter
) -> None:
    held = recorded(ledger)
    graded = grader.grade_now(held, ["free"])
    directory.traces.rmdir()
    grader.finish(held, graded)
    assert entries(directory)[1:] == [("verdict", "passed", 1)]


@pytest.mark.parametrize(
    ("rubric", "users_matchers", "said", "beside"),
    [
        (FREE, False, "It is free.", False),
        (FREE, True, "It is free.", True),
        (FREE, False, "free " * 5_000, True),
        (replace(FREE, spec=MatcherSpec("regex", {"pattern": "fre+"})), False, "free", False),
        (replace(FREE, spec=CUBIC), False, "It is free:", True),
        (replace(FREE, trigger=Trigger(when=CUBIC, then="all")), False, "It is free:", True),
    ],
)
def test_rules_that_may_take_long_decide_beside_the_loop(
    directory: RunDirectory,
    ledger: LedgerWriter,
    monkeypatch: pytest.MonkeyPatch,
    rubric: Rubric,
    users_matchers: bool,
    said: str,
    beside: bool,
) -> None:
    threads = []

    def noting(*given: Any) -> Any:
        threads.append(threading.current_thread().name)
        return grade_by_rule(*given)

    monkeypatch.setattr("pytest_dialeval.runs.grader.grade_by_rule", noting)
    monkeypatch.setattr("pytest_dialeval.grading.grade.grade_by_rule", noting)
    rules = RuleThread(LoopClock())
    grader = grader_of(directory, ledger, (rubric,), rules=rules, users_matchers=users_matchers)
    held = recorded(ledger, Transcript((Turn(1, "agent", said, 1),)))
    assert asyncio.run(grader.grade(held, "free")).verdict.status == "passed"
    assert (threads == ["dialeval-rules"]) == beside
    assert not rules.close(10)
