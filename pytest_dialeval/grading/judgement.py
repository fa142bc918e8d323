"""A judge's reply becomes a verdict only if its evidence stands (design rule 5)."""

from __future__ import annotations

from dataclasses import replace

from pytest_dialeval.errors import JudgeFault, NotMeasured
from pytest_dialeval.grading.evidence import find_quote
from pytest_dialeval.grading.judge import DECISIONS, Citation, Judge, JudgeQuestion, JudgeReply
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.verdict import Evidence, Verdict

_ASKED_AT_MOST = 2
_SHOWN = 80  # characters of a refused quote


class _Refused(Exception):
    """The reply can't stand; the text goes back to the judge."""


async def judged(judge: Judge, question: JudgeQuestion) -> Verdict:
    """The judge's verdict; a reply that can't stand is asked for once more with the reason."""
    refused: list[str] = []
    while len(refused) < _ASKED_AT_MOST:
        try:
            reply = await judge(question)
        except (JudgeFault, NotMeasured) as exc:
            return _unscored(question, str(exc), refused)
        except Exception as exc:
            return _unscored(question, f"the judge raised {describe(exc)}", refused)
        try:
            return _verdict(question, reply, refused)
        except _Refused as exc:
            refused.append(str(exc))
            question = replace(question, refused=str(exc))
    return _unscored(question, "no reply of the judge could stand: " + "; ".join(refused), refused)


def describe(exc: Exception) -> str:
    """An exception as one line: data from outside, never a traceback."""
    text = " ".join(clean(str(exc)).split())[:500]
    return f"{type(exc).__name__}: {text}" if text else type(exc).__name__


def _unscored(question: JudgeQuestion, reason: str, refused: list[str]) -> Verdict:
    return Verdict(
        question.rubric,
        "unscored",
        reason=reason,
        expected=question.criterion,
        fault="judge_error",
        details={"refused": refused} if refused else {},
    )


def _verdict(question: JudgeQuestion, reply: JudgeReply, refused: list[str]) -> Verdict:
    _check_form(reply)
    reasoning = clean(reply.reasoning).strip()
    if reply.verdict == "cannot_tell":
        return _unscored(question, f"the judge cannot tell: {reasoning}", refused)
    evidence = _checked_evidence(question, reply)
    met = reply.verdict == "met"
    return Verdict(
        question.rubric,
        "passed" if met else "failed",
        score=1.0 if met else 0.0,
        reason=reasoning,
        expected=question.criterion,
        evidence=evidence,
        searched=tuple(each.id for each in question.searched()) if reply.absence else (),
        details={"refused": refused} if refused else {},
    )


def _check_form(reply: object) -> None:
    if not isinstance(reply, JudgeReply):
        raise _Refused(f"the reply is a {type(reply).__name__}, not a JudgeReply")
    if reply.verdict not in DECISIONS:
        raise _Refused(f"verdict {reply.verdict!r} is none of {', '.join(DECISIONS)}")
    if not isinstance(reply.reasoning, str) or not reply.reasoning.strip():
        raise _Refused("the reasoning is empty")


def _checked_evidence(question: JudgeQuestion, reply: JudgeReply) -> tuple[Evidence, ...]:
    """Evidence with verbatim quotes, the agent's first."""
    found = [_checked(question, each) for each in reply.evidence]
    agent = {each.id for each in question.turns if each.speaker == "agent"}
    deciding = [each for each in found if each.turn in agent]
    if not deciding and not reply.absence:
        raise _Refused(
            "no quote is of the agent: quote the agent's words or tool calls that decide it, "
            "or say that the verdict is about absence"
        )
    return (*deciding, *(each for each in found if each.turn not in agent))


def _checked(question: JudgeQuestion, cited: object) -> Evidence:
    if not isinstance(cited, tuple) or len(cited) != 2 or not isinstance(cited[1], str):
        raise _Refused(f"evidence {cited!r:.{_SHOWN}} is no pair of turn id and quote")
    number, quote = Citation(*cited)
    turn = next((each for each in question.turns if each.id == number), None)
    # True == 1, but no judge means turn 1 by it.
    if turn is None or isinstance(number, bool):
        raise _Refused(f"there is no turn {number!r}; turns are 1 to {len(question.turns)}")
    if turn.speaker == "agent" and number <= (question.after or 0):
        raise _Refused(f"turn {number} is too early: only turns after {question.after} count")
    evidence = find_quote(turn, quote)
    if evidence is None:
        raise _Refused(f"the quote {quote[:_SHOWN]!r} does not stand in turn {number}")
    return evidence
