"""Rule 5: a judge's reply counts only where its evidence stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from pytest_dialeval.errors import JudgeFault, NotMeasured
from pytest_dialeval.grading.judge import Citation, JudgeQuestion, JudgeReply, UnusableReply
from pytest_dialeval.grading.judgement import judged
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import Evidence, Verdict

from .samples import CALL, TASK, run

TURNS = (
    Turn(1, "agent", "Hello, this is support."),
    Turn(2, "user", "What does it cost?"),
    Turn(3, "agent", "The upgrade is free of charge."),
    Turn(4, "user", "Good, order it."),
    Turn(5, "agent", "", tool_calls=(CALL,)),
)
QUESTION = JudgeQuestion(
    "flow.explain", "the agent said that the upgrade is free", "completion", TASK, TURNS
)


class Recorder:
    """Answers in turn, and keeps what it was asked."""

    def __init__(self, *replies: object) -> None:
        self.replies = list(replies)
        self.questions: list[JudgeQuestion] = []

    async def __call__(self, question: JudgeQuestion) -> JudgeReply:
        self.questions.append(question)
        reply = self.replies[len(self.questions) - 1]
        if isinstance(reply, BaseException):
            raise reply
        return reply


def met(*evidence: object, **more: object) -> JudgeReply:
    return JudgeReply("met", "it says so", tuple(evidence), **more)


def ask(*replies: object, question: JudgeQuestion = QUESTION) -> tuple[Verdict, Recorder]:
    judge = Recorder(*replies)
    return run(judged(judge, question)), judge


def test_met_with_a_quote_passes() -> None:
    verdict, judge = ask(met(Citation(3, "FREE of charge")))
    assert verdict == Verdict(
        "flow.explain",
        "passed",
        score=1.0,
        reason="it says so",
        expected="the agent said that the upgrade is free",
        evidence=(Evidence(3, "free of charge", 15),),
    )
    assert judge.questions == [QUESTION]


def test_not_met_fails() -> None:
    verdict, _ = ask(JudgeReply("not_met", "no price named", ((1, "this is support"),)))
    assert (verdict.status, verdict.score) == ("failed", 0.0)
    assert verdict.evidence == (Evidence(1, "this is support", 7),)


def test_deeds_may_be_quoted() -> None:
    verdict, _ = ask(met((5, "lookup")))
    assert verdict.evidence == (Evidence(5, "lookup", 0, "tool_calls"),)


def test_a_verdict_about_absence_names_the_turns_that_were_searched() -> None:
    verdict, _ = ask(JudgeReply("not_met", "nowhere", absence=True))
    assert (verdict.status, verdict.evidence, verdict.searched) == ("failed", (), (1, 3, 5))


def test_the_users_words_come_behind_the_agents() -> None:
    verdict, _ = ask(met((2, "What does it cost?"), (3, "free of charge")))
    assert [each.turn for each in verdict.evidence] == [3, 2]
    assert verdict.searched == ()


REFUSED = [
    (met(), "no quote is of the agent"),
    (met((2, "What does it cost?")), "no quote is of the agent"),
    (met((9, "free")), "there is no turn 9; turns are 1 to 5"),
    (met((0, "free")), "there is no turn 0"),
    (met((True, "Hello")), "there is no turn True"),
    (met(("3", "free")), "there is no turn '3'"),
    (met((3, "costs nothing")), "the quote 'costs nothing' does not stand in turn 3"),
    (met((1, "free of charge")), "does not stand in turn 1; it stands in turn 3"),
    (met((3, "free of charge"), (3, "and quick")), "'and quick' does not stand in turn 3"),
    (met((3, ".")), "does not stand in turn 3"),
    (met((3,)), "is no pair of turn id and quote"),
    (met((3, None)), "is no pair of turn id and quote"),
    (met("free"), "is no pair of turn id and quote"),
    (JudgeReply("satisfied", "yes"), "verdict 'satisfied' is none of met, not_met, cannot_tell"),
    (JudgeReply(True, "yes"), "verdict True is none of"),
    (JudgeReply("met", " \n", ((3, "free"),)), "the reasoning is empty"),
    (JudgeReply("cannot_tell", ""), "the reasoning is empty"),
    ({"verdict": "met"}, "the reply is a dict, not a JudgeReply"),
    (None, "the reply is a NoneType, not a JudgeReply"),
]


@pytest.mark.parametrize(("reply", "reason"), REFUSED)
def test_a_reply_that_cannot_stand_is_asked_for_once_more_with_the_reason(
    reply: object, reason: str
) -> None:
    verdict, judge = ask(reply, met((3, "free of charge")))
    assert verdict.status == "passed"
    assert [each.refused == "" for each in judge.questions] == [True, False]
    assert reason in judge.questions[1].refused
    assert verdict.details == {"refused": [judge.questions[1].refused]}


@pytest.mark.parametrize(("reply", "reason"), REFUSED)
def test_a_second_reply_that_cannot_stand_leaves_the_rubric_unscored(
    reply: object, reason: str
) -> None:
    verdict, judge = ask(met((3, "costs nothing")), reply)
    assert len(judge.questions) == 2
    assert (verdict.status, verdict.score, verdict.fault) == ("unscored", None, "judge_error")
    assert verdict.reason.startswith("no reply of the judge could stand: the quote 'costs nothing'")
    assert reason in verdict.reason
    assert verdict.evidence == ()


def test_what_was_replied_is_shown_once_where_both_replies_are_refused_alike() -> None:
    first, again = (
        UnusableReply("verdict 'ok' is none of met"),
        UnusableReply("verdict 'ok' is none of met"),
    )
    again.reply = '{"verdict": "ok"}'  # of a batch only the second reply is to this rubric alone
    verdict, _ = ask(first, again)
    assert verdict.reason == (
        "no reply of the judge could stand: verdict 'ok' is none of met "
        '(it replied \'{"verdict": "ok"}\'), twice'
    )


def test_cannot_tell_is_unscored_and_not_asked_again() -> None:
    verdict, judge = ask(JudgeReply("cannot_tell", "the line is cut off"))
    assert (verdict.status, verdict.fault) == ("unscored", "judge_error")
    assert verdict.reason == "the judge cannot tell: the line is cut off"
    assert len(judge.questions) == 1


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (JudgeFault("the endpoint is down"), "the endpoint is down"),
        (NotMeasured("over budget"), "over budget"),
        (KeyError("verdict"), "the judge raised KeyError: 'verdict'"),
        (RuntimeError(), "the judge raised RuntimeError"),
        (ValueError("a\n\x1b[31mb"), "the judge raised ValueError: a b"),
    ],
)
def test_a_judge_that_raises_is_no_failure_of_the_agent(raised: Exception, reason: str) -> None:
    verdict, judge = ask(raised)
    assert (verdict.status, verdict.fault, verdict.reason) == ("unscored", "judge_error", reason)
    assert len(judge.questions) == 1


def test_a_judge_that_raises_when_asked_again() -> None:
    verdict, _ = ask(met((3, "costs nothing")), JudgeFault("the endpoint is down"))
    assert (verdict.status, verdict.reason) == ("unscored", "the endpoint is down")
    assert len(verdict.details["refused"]) == 1


def test_being_cancelled_is_no_verdict() -> None:
    import asyncio

    with pytest.raises(asyncio.CancelledError):
        ask(asyncio.CancelledError())


def test_a_level_of_anothers_judge_is_checked_too() -> None:
    levels = [{"name": "poor", "score": 0.2, "example": "x"}]
    question = replace(QUESTION, params={"levels": levels}, min=0.2)
    verdict, judge = ask(
        met((3, "free"), level="splendid"), met((3, "free"), level="poor"), question=question
    )
    assert judge.questions[1].refused == "level 'splendid' is none of its levels: poor"
    assert (verdict.status, verdict.score, verdict.details["level"]) == ("passed", 0.2, "poor")
    plain, _ = ask(met((3, "free")), question=question)  # a judge that knows no levels
    assert (plain.status, plain.score) == ("passed", 1.0)
    no, _ = ask(JudgeReply("not_met", "no", ((3, "free"),)), question=replace(question, min=0.0))
    assert (no.status, no.score) == ("failed", 0.0)


AFTER = JudgeQuestion("flow.explain", "it is free", "completion", TASK, TURNS, after=2)


def test_what_the_agent_said_before_the_trigger_does_not_count() -> None:
    verdict, judge = ask(met((1, "this is support")), met((3, "free of charge")), question=AFTER)
    assert judge.questions[1].refused == "turn 1 is too early: only turns from 3 on count"
    assert verdict.status == "passed"


def test_the_trigger_itself_may_be_quoted_beside_the_agent() -> None:
    verdict, _ = ask(met((2, "What does it cost?"), (3, "free")), question=AFTER)
    assert [each.turn for each in verdict.evidence] == [3, 2]


def test_absence_after_a_trigger_was_searched_after_it() -> None:
    verdict, _ = ask(JudgeReply("not_met", "nowhere", absence=True), question=AFTER)
    assert verdict.searched == (3, 5)


def test_the_reasoning_is_cleaned_once() -> None:
    verdict, _ = ask(JudgeReply("met", " so\x1b[2J\ud800 ", ((3, "free"),)))
    assert verdict.reason == "so\ufffd"


def test_unpacking_is_enough() -> None:
    """A reply's evidence may be plain pairs."""
    pairs: Sequence[Callable[[int, str], object]] = (Citation, lambda turn, quote: (turn, quote))
    assert len({ask(met(pair(3, "free")))[0].evidence for pair in pairs}) == 1
