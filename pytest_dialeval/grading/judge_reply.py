"""What a model wrote as a judge, read without guessing: a form may vary, a verdict may not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pytest_dialeval.errors import JudgeFault
from pytest_dialeval.grading.judge import (
    CANNOT_TELL,
    DECISIONS,
    Citation,
    Decision,
    JudgeReply,
    UnusableReply,
)
from pytest_dialeval.models.json_reply import UnreadableReply, one_object
from pytest_dialeval.records.model import ChatAnswer

_SHOWN = 80
_TURN = re.compile(r"(?:turn\s*)?#?(\d{1,9})", re.IGNORECASE)


def read_reply(
    answer: ChatAnswer, said: Sequence[str] = (), levels: Sequence[str] = ()
) -> JudgeReply:
    """The reply about one rubric; UnusableReply says what is wrong with it.

    A reply that stands in `said`, the texts of the transcript, is not the judge's own.
    """
    try:
        return _reply(_object(_usable(answer), "verdict", said), levels)
    except UnusableReply as problem:
        problem.reply = answer.text
        raise


def read_replies(
    answer: ChatAnswer, rubrics: Mapping[str, Sequence[str]], said: Sequence[str] = ()
) -> dict[str, JudgeReply | UnusableReply]:
    """The reply about each rubric, matched by id; what one of them lacks spoils no other.

    `rubrics` has the names of each one's levels, none where it is met or not met.
    """
    try:
        entries = _object(_usable(answer), "verdicts", said)["verdicts"]
    except UnusableReply as problem:
        problem.reply = answer.text
        raise
    if not isinstance(entries, list):
        raise UnusableReply(f"verdicts {_shown(entries)} is no list")
    return {each: _of(each, levels, entries) for each, levels in rubrics.items()}


def _of(
    rubric: str, levels: Sequence[str], entries: Sequence[object]
) -> JudgeReply | UnusableReply:
    own = [each for each in entries if isinstance(each, dict) and each.get("rubric") == rubric]
    if len(own) != 1:
        number = "no verdict" if not own else f"{len(own)} verdicts"
        return UnusableReply(f"{rubric!r} has {number}; give one")
    try:
        return _reply(own[0], levels)
    except UnusableReply as problem:
        return problem


def _usable(answer: ChatAnswer) -> str:
    """The text, where there is one that the model finished."""
    if answer.refusal:
        raise JudgeFault(f"the judge refused: {answer.refusal[:500]}")
    if answer.finish == "content_filter":
        raise JudgeFault("the judge's endpoint filtered the reply")
    if answer.finish == "length":
        raise UnusableReply("the reply was cut off at its greatest length: be shorter")
    if not answer.text.strip():
        raise UnusableReply("the reply is empty")
    return answer.text


def _object(text: str, key: str, said: Sequence[str]) -> Mapping[str, object]:
    try:
        return one_object(text, key, said)
    except UnreadableReply as problem:
        raise UnusableReply(str(problem)) from None


def _reply(found: Mapping[str, object], levels: Sequence[str]) -> JudgeReply:
    reasoning = found.get("reasoning")
    if not isinstance(reasoning, str) or not reasoning.strip():
        raise UnusableReply("the reasoning is empty")
    absence = found.get("absence") or False
    if not isinstance(absence, bool):
        raise UnusableReply(f"absence {_shown(absence)} is neither true nor false")
    decision, level = _decided(found.get("verdict"), levels)
    evidence = _evidence(found.get("evidence"))
    return JudgeReply(decision, reasoning, evidence, absence, level=level)


def _decided(written: object, levels: Sequence[str]) -> tuple[Decision, str]:
    """A decision with the level's name, where there are levels.

    Another spelling of a word is that word; another word is no verdict.
    """
    if levels:
        for level in levels:
            if _spelt(written) == _spelt(level):
                return "met", level
        if _spelt(written) == CANNOT_TELL:
            return CANNOT_TELL, ""
    else:
        for decision in DECISIONS:
            if _spelt(written) == decision:
                return decision, ""
    words = ", ".join([*levels, CANNOT_TELL] if levels else DECISIONS)
    raise UnusableReply(f"verdict {_shown(written)} is none of {words}")


def _spelt(word: object) -> str:
    return re.sub(r"[\s-]+", "_", word.strip().lower()) if isinstance(word, str) else ""


def _evidence(given: object) -> tuple[Citation, ...]:
    if not isinstance(given, list | None):
        raise UnusableReply(f"evidence {_shown(given)} is no list")
    return tuple(_citation(each) for each in given or ())


def _citation(given: object) -> Citation:
    quote = given.get("quote") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(quote, str):
        raise UnusableReply(f"evidence {_shown(given)} has no turn_id and quote")
    number = given.get("turn_id")
    if isinstance(number, str) and (found := _TURN.fullmatch(number.strip())):
        number = int(found[1])
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool):
        raise UnusableReply(f"turn_id {_shown(number)} is no id of a turn")
    return Citation(number, quote)


def _shown(value: object) -> str:
    return repr(value)[:_SHOWN]
