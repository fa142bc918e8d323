"""`number_whitelist`: the agent invents no numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

import pydantic

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

_TAIL = re.compile(
    r"(?:ending(?: in| with)?|ends (?:in|with)|last (?:four|4)(?: digits)?:?|尾号为?)\s?$"
)
EXPECTED = "only numbers that the task, or what was said before, allows"


class NumberWhitelistParams(Where):
    """Where numbers may come from, beside the task's variables and `allow`."""

    allow: Words | None = None
    prompt: bool = True  # the task's own prompt
    user: bool = False  # what the user said before
    tools: bool = False  # arguments and results of the tool calls so far
    arithmetic: bool = False  # sums, differences, products of numbers in the same turn
    counts_up_to: int = pydantic.Field(default=3, ge=0)


def number_whitelist() -> Matcher:
    """0 where even one number, date or time comes from nowhere."""
    return Matcher(
        "number_whitelist", NumberWhitelistParams, _match, always, scope, shorthand="allow"
    )


def _match(view: View, params: NumberWhitelistParams) -> MatcherResult:
    turns = params.searched(view)
    if not turns:
        return not_searched(EXPECTED, params)
    searched = {each.id for each in turns}
    found: list[Evidence] = []
    for turn, grounds in _with_grounds(view, params):
        if turn.id in searched and turn.text:
            found += _invented(turn, grounds, params)
    if not found:
        reason = "every number in the searched turns is allowed"
        return MatcherResult(1.0, reason, EXPECTED, searched=ids(turns))
    words = dict.fromkeys(each.quote for each in found if each.turn == found[0].turn)
    reason = f"turn {found[0].turn} says {quoted(words, 'and')}, which nothing allows"
    return MatcherResult(0.0, reason, EXPECTED, tuple(found[:QUOTED_AT_MOST]), ids(turns))


def _with_grounds(view: View, params: NumberWhitelistParams) -> Iterator[tuple[Turn, Grounds]]:
    """Each turn with what is known when it is spoken; one object, which grows."""
    grounds = Grounds()
    grounds.add_value(dict(view.variables))
    for each in params.allow or ():
        grounds.add_text(each)
    grounds.keep_as_operands()
    if params.prompt:
        grounds.add_text(view.prompt)
    for turn in view.turns:
        if params.tools:
            grounds.add_calls(turn.tool_calls)
        yield turn, grounds
        if params.user and turn.speaker == "user":
            grounds.add_text(turn.text)


def _invented(turn: Turn, grounds: Grounds, params: NumberWhitelistParams) -> list[Evidence]:
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
    return [evidence(turn, text, Place(each.start, each.end)) for each in foreign]


def _not_computed(
    foreign: list[Figure], stated: Sequence[Figure], grounds: Grounds
) -> list[Figure]:
    """What cannot be computed from the numbers of the same turn, in as many steps as it takes."""
    while foreign:
        computed = grounds.computed([each for each in stated if each not in foreign])
        found = [each for each in foreign if _size(each) in computed]
        if not found:
            break
        # What was once worked out may be said again.
        grounds.add_figures(found)
        foreign = [each for each in foreign if each not in found]
    return foreign


def _size(figure: Figure) -> Decimal | None:
    return abs(figure.value) if isinstance(figure.value, Decimal) else None


def _is_known_tail(text: str, figure: Figure, grounds: Grounds) -> bool:
    """`the card ending in 4421`, 尾号4421."""
    if not _TAIL.search(text, max(0, figure.start - 30), figure.start):
        return False
    return grounds.hold_tail(text[figure.start : figure.end])
