"""A judge's reply becomes a verdict only if its evidence stands (design rule 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_dialeval.errors import (
    BudgetSpent,
    CassetteMiss,
    DialevalError,
    HarnessFault,
    ProviderFault,
    RunError,
)
from pytest_dialeval.grading.evidence import find_quote
from pytest_dialeval.grading.judge import (
    DECISIONS,
    Citation,
    Judge,
    JudgeQuestion,
    JudgeReply,
    UnusableReply,
)
from pytest_dialeval.grading.voting import majority
from pytest_dialeval.records.text import clean, clean_value
from pytest_dialeval.records.transcript import Outcome
from pytest_dialeval.records.verdict import Evidence, Status, Verdict
from pytest_dialeval.records.wording import told

_ASKED_AT_MOST = 2
_SHOWN = 80  # characters of a refused quote


async def judged(judge: Judge, question: JudgeQuestion) -> Verdict:
    """The judge's verdict, or the majority of its `votes`, each of them checked by itself."""
    if question.votes == 1:
        return await _vote(judge, question)
    asked = (replace(question, vote=each + 1) for each in range(question.votes))
    votes = await asyncio.gather(*(_vote(judge, each) for each in asked))
    return majority(question, votes)


async def _vote(judge: Judge, question: JudgeQuestion) -> Verdict:
    """One vote; a reply that can't stand is asked for once more with the reason."""
    refused: list[str] = []
    replies: dict[str, str] = {}  # reason -> what was replied, for people alone
    while len(refused) < _ASKED_AT_MOST:
        try:
            return _verdict(question, await judge(question), refused)
        except UnusableReply as exc:
            reason = clean(str(exc))
            refused.append(reason)
            replies[reason] = _replied(exc) or replies.get(reason, "")
            question = replace(question, refused=reason)
        except Exception as exc:
            return _unscored(question, _why(exc), refused, fault=_fault(exc))
    why = told([f"{each}{replies[each]}" for each in refused])
    return _unscored(question, f"no reply of the judge could stand: {why}", refused)


def _replied(exc: UnusableReply) -> str:
    """The beginning of a reply that could not be read."""
    text = " ".join(clean(exc.reply).split())
    if not text:
        return ""
    return f" (it replied {text if len(text) <= _SHOWN else f'{text[:_SHOWN]}...'!r})"


def _why(exc: Exception) -> str:
    return (
        clean(str(exc)) if isinstance(exc, DialevalError) else f"the judge raised {describe(exc)}"
    )


def _fault(exc: Exception) -> Outcome:
    match exc:
        case ProviderFault() | CassetteMiss():  # nobody was asked: the judge is not to blame
            return "provider_error"
        case BudgetSpent():
            return "cancelled"
        case HarnessFault() | RunError():
            return "harness_error"
    return "judge_error"


def describe(exc: BaseException) -> str:
    """An exception as one line: data from outside, never a traceback."""
    text = " ".join(clean(str(exc)).split())[:500]
    return f"{type(exc).__name__}: {text}" if text else type(exc).__name__


def _unscored(
    question: JudgeQuestion,
    reason: str,
    refused: list[str],
    *,
    fault: Outcome = "judge_error",
    details: Mapping[str, object] | None = None,
) -> Verdict:
    return Verdict(
        question.rubric,
        "unscored",
        reason=reason,
        expected=question.criterion,
        fault=fault,
        details=_details(details or {}, refused),
    )


def _details(given: Mapping[str, object], refused: list[str]) -> dict[str, Any]:
    kept: Any = clean_value(dict(given))
    return {**kept, "refused": refused} if refused else kept


def _verdict(question: JudgeQuestion, reply: JudgeReply, refused: list[str]) -> Verdict:
    _check_form(reply)
    reasoning = clean(reply.reasoning).strip()
    if reply.verdict == "cannot_tell":
        reason = f"the judge cannot tell: {reasoning}"
        return _unscored(question, reason, refused, details=reply.details)
    score = _score(question, reply)
    level = {"level": reply.level} if reply.level else {}
    evidence = _checked_evidence(question, reply)
    return Verdict(
        question.rubric,
        _status(question, reply, score),
        score=score,
        reason=reasoning,
        expected=question.criterion,
        evidence=evidence,
        searched=tuple(each.id for each in question.searched()) if reply.absence else (),
        details=_details({**reply.details, **level}, refused),
    )


def _status(question: JudgeQuestion, reply: JudgeReply, score: float | None) -> Status:
    if score is None:
        return "not_applicable"
    # Rounded as a matcher's score is. Without levels `min` says nothing.
    least = question.min if reply.level else 1.0
    return "passed" if round(score, 12) >= least else "failed"


def _check_form(reply: object) -> None:
    if not isinstance(reply, JudgeReply):
        raise UnusableReply(f"the reply is a {type(reply).__name__}, not a JudgeReply")
    if reply.verdict not in DECISIONS:
        raise UnusableReply(f"verdict {reply.verdict!r} is none of {', '.join(DECISIONS)}")
    if not isinstance(reply.reasoning, str) or not reply.reasoning.strip():
        raise UnusableReply("the reasoning is empty")


def _score(question: JudgeQuestion, reply: JudgeReply) -> float | None:
    if not reply.level:
        return 1.0 if reply.verdict == "met" else 0.0
    for level in question.levels:
        if level.name == reply.level:
            return level.score
    names = ", ".join(each.name for each in question.levels) or "none"
    raise UnusableReply(f"level {reply.level!r:.{_SHOWN}} is none of its levels: {names}")


def _checked_evidence(question: JudgeQuestion, reply: JudgeReply) -> tuple[Evidence, ...]:
    """Evidence with verbatim quotes, the agent's first."""
    found = [_checked(question, each) for each in reply.evidence]
    agent = {each.id for each in question.turns if each.speaker == "agent"}
    deciding = [each for each in found if each.turn in agent]
    if not deciding and not reply.absence:
        raise UnusableReply(
            "no quote is of the agent: quote the agent's words or tool calls that decide it, "
            "or set absence to true if the verdict is that something never happened"
        )
    return (*deciding, *(each for each in found if each.turn not in agent))


def _checked(question: JudgeQuestion, cited: object) -> Evidence:
    if not isinstance(cited, tuple) or len(cited) != 2 or not isinstance(cited[1], str):
        raise UnusableReply(f"evidence {cited!r:.{_SHOWN}} is no pair of turn id and quote")
    number, quote = Citation(*cited)
    turn = next((each for each in question.turns if each.id == number), None)
    # True == 1, but no judge means turn 1 by it.
    if turn is None or isinstance(number, bool):
        raise UnusableReply(f"there is no turn {number!r}; turns are 1 to {len(question.turns)}")
    if turn.speaker == "agent" and number <= (question.after or 0):
        first = (question.after or 0) + 1
        raise UnusableReply(f"turn {number} is too early: only turns from {first} on count")
    evidence = find_quote(turn, quote)
    if evidence is None:
        where = _where(question, quote)
        raise UnusableReply(f"the quote {quote[:_SHOWN]!r} does not stand in turn {number}{where}")
    return evidence


def _where(question: JudgeQuestion, quote: str) -> str:
    """Models count rounds for turns: they are told, and must cite it rightly themselves."""
    found = [str(each.id) for each in question.turns if find_quote(each, quote)]
    return f"; it stands in turn {' and '.join(found[:3])}" if found else ""
