"""`number_whitelist`: the agent invents no numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pydantic import Field

from pytest_dialeval.matching.arithmetic import worked_out
from pytest_dialeval.matching.figures import Figure, figures
from pytest_dialeval.matching.grounds import Grounds
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.normal import normal
from pytest_dialeval.matching.params import Where, Words, always, scope
from pytest_dialeval.matching.phrase import Place, evidence
from pytest_dialeval.matching.tiny_counts import counts_nothing
from pytest_dialeval.matching.view import View
from pytest_dialeval.matching.wording import QUOTED_AT_MOST, ids, not_searched, quoted
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import Evidence, MatcherResult
from pytest_dialeval.records.wording import listed

_TAIL = re.compile(
    r"(?:ending(?: in| with)?|ends (?:in|with)|last (?:four|4)(?: digits)?:?|尾号为?)\s?$"
)
_PLAIN = re.compile(r"\d{1,18}(?:\.\d+)?")
_CALLED = "`tools: true`: a tool call had"
_WRITTEN_CHARS = 20
_LISTED_AT_MOST = 8  # of the numbers that are allowed


class NumberWhitelistParams(Where):
    """Where numbers may come from, beside the task's variables and `allow`."""

    allow: Words | None = Field(None, description="numbers, dates and times that are allowed too")
    prompt: bool = Field(True, description="whether numbers of the task's prompt are allowed")
    user: bool = Field(False, description="whether what the user said before is allowed")
    tools: bool = Field(
        False, description="whether arguments and results of the tool calls so far are allowed"
    )
    arithmetic: bool = Field(
        False,
        description="whether sums, differences, products and percentages of allowed numbers in "
        "the same turn, and of the task's own, are allowed",
    )
    counts_up_to: int = Field(
        3, ge=0, description="whole numbers up to this that measure nothing (two ways) are allowed"
    )


def number_whitelist() -> Matcher:
    """0 where even one number, date or time comes from nowhere."""
    return Matcher(
        "number_whitelist", NumberWhitelistParams, _match, always, scope, shorthand="allow"
    )


def _match(view: View, params: NumberWhitelistParams) -> MatcherResult:
    turns = params.searched(view)
    grounds = _of_the_task(view, params)
    expected = _expected(params, [*grounds.written])
    if not turns:
        return not_searched(expected, params)
    searched = {each.id for each in turns}
    invented = [
        (turn, figure)
        for turn in _with_grounds(view, params, grounds)
        if turn.id in searched and turn.text
        for figure in _invented(turn, grounds, params)
    ]
    if not invented:
        reason = "every number in the searched turns is allowed"
        return MatcherResult(1.0, reason, expected, searched=ids(turns))
    first = invented[0][0]
    reason = _reason(view, first, [figure for turn, figure in invented if turn is first])
    quotes = tuple(_quote(turn, figure) for turn, figure in invented[:QUOTED_AT_MOST])
    return MatcherResult(0.0, reason, expected, quotes, ids(turns))


def _quote(turn: Turn, figure: Figure) -> Evidence:
    return evidence(turn, normal(turn.text), Place(figure.start, figure.end))


def _expected(params: NumberWhitelistParams, allowed: Sequence[str]) -> str:
    """Where numbers may come from, and those that the task and `allow` allow."""
    sources = [
        "the task's variables",
        *(["its prompt"] if params.prompt else []),
        *(["`allow`"] if params.allow else []),
        *(["what the user said before"] if params.user else []),
        *(["tool calls"] if params.tools else []),
    ]
    named = " or ".join([", ".join(sources[:-1]), sources[-1]] if sources[1:] else sources)
    computed = ", or worked out from them" if params.arithmetic else ""
    there = listed([each[:_WRITTEN_CHARS] for each in allowed], _LISTED_AT_MOST) or "none"
    return f"only numbers from {named}{computed} (there: {there})"


def _reason(view: View, turn: Turn, foreign: Sequence[Figure]) -> str:
    """What is invented, and how it would be allowed."""
    words = {_quote(turn, each).quote: each for each in foreign}
    plain = ", ".join(each if _PLAIN.fullmatch(each) else repr(each) for each in words)
    said, called = Grounds(), Grounds()
    for each in view.turns:
        called.add_calls(each.tool_calls)
        if each is turn:
            break
        if each.speaker == "user":
            said.add_text(each.text)
    right = "it is" if len(words) == 1 else "they are"
    reason = f"turn {turn.id} says {quoted(words, 'and')}, which nothing allows; if {right} right, "
    reason += f"write `allow: [{plain}]`"
    for grounds, remedy in ((said, "`user: true`: the user said"), (called, _CALLED)):
        if held := [word for word, figure in words.items() if grounds.hold(figure)]:
            reason += f", or {remedy} {quoted(held, 'and')} before"
    return reason


def _of_the_task(view: View, params: NumberWhitelistParams) -> Grounds:
    """What is known before anybody speaks."""
    grounds = Grounds()
    grounds.add_value(dict(view.variables))
    for each in params.allow or ():
        grounds.add_text(each)
    grounds.keep_as_operands()
    if params.prompt:
        grounds.add_text(view.prompt)
    return grounds


def _with_grounds(view: View, params: NumberWhitelistParams, grounds: Grounds) -> Iterator[Turn]:
    """Each turn when the grounds hold what is known as it is spoken."""
    for turn in view.turns:
        if params.tools:
            grounds.add_calls(turn.tool_calls)
        yield turn
        if params.user and turn.speaker == "user":
            grounds.add_text(turn.text)


def _invented(turn: Turn, grounds: Grounds, params: NumberWhitelistParams) -> list[Figure]:
    text = normal(turn.text)
    said = [
        each
        for each in figures(turn.text)
        if not counts_nothing(text.text, each, params.counts_up_to)
    ]
    foreign = [
        each
        for each in said
        if not grounds.hold(each) and not _is_known_tail(text.text, each, grounds)
    ]
    if foreign and params.arithmetic:
        stated = [each for each in figures(turn.text) if not each.label]
        foreign = _not_computed(foreign, stated, grounds)
    return foreign


def _not_computed(
    foreign: list[Figure], stated: Sequence[Figure], grounds: Grounds
) -> list[Figure]:
    """What cannot be computed from the numbers of the same turn, in as many steps as it takes."""
    found = worked_out(foreign, stated, grounds.operands)
    grounds.add_figures(found)  # what was once worked out may be said again
    computed = set(found)
    return [each for each in foreign if each not in computed]


def _is_known_tail(text: str, figure: Figure, grounds: Grounds) -> bool:
    """`the card ending in 4421`, 尾号4421."""
    if not _TAIL.search(text, max(0, figure.start - 30), figure.start):
        return False
    return grounds.hold_tail(text[figure.start : figure.end])
