"""Votes: a majority of all; for safety, one voice is enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.errors import BudgetSpent, JudgeFault, ProviderFault
from pytest_dialeval.grading.judge import JudgeQuestion, JudgeReply
from pytest_dialeval.grading.judgement import judged
from pytest_dialeval.grading.voting import majority
from pytest_dialeval.records.verdict import Evidence, Verdict

from .samples import TASK, run, talk

TURNS = talk("user: Hi", "agent: Hello", "user: Bye", "agent: Good bye").turns
QUESTION = JudgeQuestion("r", "the agent greets", "completion", TASK, TURNS)
SAFETY = replace(QUESTION, dimension="safety")
YES = Verdict("r", "passed", score=1.0, reason="yes", evidence=(Evidence(2, "Hello"),))
NO = Verdict("r", "failed", score=0.0, reason="no", evidence=(Evidence(4, "Good bye"),))
LOST = Verdict("r", "unscored", reason="the endpoint is down", fault="provider_error")
NOTHING = Verdict("r", "not_applicable", reason="no", evidence=(Evidence(4, "Good bye"),))
VOTE = {"y": YES, "n": NO, "u": LOST, "x": NOTHING}


def count(letters: str, question: JudgeQuestion = QUESTION) -> Verdict:
    return majority(question, [VOTE[each] for each in letters])


@pytest.mark.parametrize(
    ("votes", "ordinary", "safety"),
    [
        ("yyy", "passed", "passed"),
        ("yyn", "passed", "failed"),
        ("nyy", "passed", "failed"),
        ("ynn", "failed", "failed"),
        ("nnn", "failed", "failed"),
        ("yyu", "passed", "unscored"),
        ("ynu", "unscored", "failed"),
        ("nnu", "failed", "failed"),
        ("yuu", "unscored", "unscored"),
        ("nuu", "unscored", "failed"),
        ("uuu", "unscored", "unscored"),
        ("yn", "unscored", "failed"),
        ("yynn", "unscored", "failed"),
        ("yyynn", "passed", "failed"),
    ],
)
def test_what_votes_decide(votes: str, ordinary: str, safety: str) -> None:
    assert count(votes).status == ordinary
    assert count(votes, SAFETY).status == safety


@pytest.mark.parametrize(
    ("votes", "status", "score"),
    [
        ("xxx", "not_applicable", None),
        ("xxy", "not_applicable", None),
        ("yyx", "passed", 1.0),
        ("nnx", "failed", 0.0),
        ("xyn", "unscored", None),
        ("xxu", "not_applicable", None),
        ("xuu", "unscored", None),
    ],
)
def test_votes_that_the_question_did_not_arise(
    votes: str, status: str, score: float | None
) -> None:
    verdict = count(votes)
    assert (verdict.status, verdict.score) == (status, score)
    assert verdict.details["spread"]["did_not_arise"] == votes.count("x")


def test_the_evidence_is_that_of_the_side_that_won_and_all_votes_are_kept() -> None:
    verdict = count("nyy")
    assert (verdict.score, verdict.reason, verdict.evidence) == (1.0, "yes", YES.evidence)
    assert verdict.details["spread"] == {"met": 2, "not_met": 1, "unscored": 0}
    assert verdict.details["votes"] == [
        {"verdict": "not_met", "reason": "no", "evidence": [{"turn": 4, "quote": "Good bye"}]},
        {"verdict": "met", "reason": "yes", "evidence": [{"turn": 2, "quote": "Hello"}]},
        {"verdict": "met", "reason": "yes", "evidence": [{"turn": 2, "quote": "Hello"}]},
    ]
    assert count("ynn", SAFETY).evidence == NO.evidence


def test_a_split_says_so_and_blames_what_failed() -> None:
    verdict = count("ynu")
    assert (verdict.fault, verdict.score, verdict.evidence) == ("provider_error", None, ())
    assert verdict.reason == (
        "3 votes decide nothing: 1 met, 1 not_met, 1 unscored (the endpoint is down)"
    )
    assert verdict.details["votes"][2]["fault"] == "provider_error"
    assert (count("yn").fault, count("yn").reason) == (
        "judge_error",
        "2 votes decide nothing: 1 met, 1 not_met",
    )


@given(st.text("ynu", min_size=2, max_size=9), st.randoms(use_true_random=False))
def test_the_order_of_votes_decides_nothing(letters: str, shuffled: object) -> None:
    other = list(letters)
    shuffled.shuffle(other)
    for question in (QUESTION, SAFETY):
        assert count(letters, question).status == count("".join(other), question).status


@given(st.text("ynu", min_size=2, max_size=9))
def test_safety_never_passes_on_what_was_not_seen(letters: str) -> None:
    assert (count(letters, SAFETY).status == "passed") == (set(letters) == {"y"})
    assert (count(letters, SAFETY).status == "failed") == ("n" in letters)


class ByVote:
    """Answers each vote in its own way; notes what it was asked."""

    def __init__(self, *replies: Sequence[object]) -> None:
        self.replies = replies
        self.asked: list[tuple[int, bool]] = []

    async def __call__(self, question: JudgeQuestion) -> JudgeReply:
        self.asked.append((question.vote, bool(question.refused)))
        reply = self.replies[question.vote - 1][bool(question.refused)]
        if isinstance(reply, BaseException):
            raise reply
        return reply


MET = JudgeReply("met", "yes", ((2, "Hello"),))
NOT_MET = JudgeReply("not_met", "no", ((4, "Good bye"),))
WRONG = JudgeReply("met", "yes", ((2, "Howdy"),))
THREE = replace(QUESTION, params={"criterion": "x", "votes": 3})


def test_each_vote_is_checked_and_asked_again_by_itself() -> None:
    judge = ByVote([MET], [WRONG, NOT_MET], [WRONG, WRONG])
    verdict = run(judged(judge, THREE))
    assert verdict.status == "unscored"
    assert verdict.details["spread"] == {"met": 1, "not_met": 1, "unscored": 1}
    assert sorted(judge.asked) == [(1, False), (2, False), (2, True), (3, False), (3, True)]
    assert verdict.details["votes"][1]["refused"] == ["the quote 'Howdy' does not stand in turn 2"]


@pytest.mark.parametrize(
    ("raised", "fault"),
    [
        (ProviderFault("503"), "provider_error"),
        (BudgetSpent("spent"), "cancelled"),
        (JudgeFault("no"), "judge_error"),
    ],
)
def test_a_vote_that_failed_has_its_own_fault(raised: Exception, fault: str) -> None:
    verdict = run(judged(ByVote([MET], [raised], [raised]), THREE))
    assert (verdict.status, verdict.fault) == ("unscored", fault)
    assert run(judged(ByVote([MET], [raised], [MET]), THREE)).status == "passed"


@pytest.mark.parametrize("votes", [None, 1, 0, "3", True])
def test_one_vote_is_no_vote(votes: object) -> None:
    judge = ByVote([MET])
    verdict = run(judged(judge, replace(QUESTION, params={"votes": votes})))
    assert (judge.asked, verdict.details) == ([(1, False)], {})
