"""`ordered_keyword`: steps are said one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import pydantic

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.normal import Normal, normal
from pytest_dialeval.matching.order import Spot, in_order
from pytest_dialeval.matching.params import Steps, Where, scope
from pytest_dialeval.matching.phrase import Place, evidence, phrase
from pytest_dialeval.matching.view import View
from pytest_dialeval.matching.wording import alternatives, ids, not_searched
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import MatcherResult

_Said = tuple[Turn, Normal, Place]
_PLACES_AT_MOST = 1000  # of one word in one turn


class OrderedKeywordParams(Where):
    """Each step is a word, or a list of words of which one is enough."""

    steps: Steps = pydantic.Field(
        description="words in their order; where a step is a list, one of its words is enough"
    )


def ordered_keyword() -> Matcher:
    """The fraction of the steps that is said in their order; a missing one costs only itself."""
    return Matcher(
        "ordered_keyword", OrderedKeywordParams, _match, _is_boolean, scope, shorthand="steps"
    )


def _is_boolean(params: OrderedKeywordParams) -> bool:
    return len(params.steps) == 1


def _match(view: View, params: OrderedKeywordParams) -> MatcherResult:
    turns = params.searched(view)
    expected = alternatives(params.steps)
    if not turns:
        return not_searched(expected, params)
    spots = [_spots(step, turns) for step in params.steps]
    found = in_order(spots)
    return MatcherResult(
        len(found) / len(spots),
        _reason(params.steps, spots, [number for number, _ in found]),
        expected,
        tuple(evidence(*spot.what) for _, spot in found),
        ids(turns),
    )


def _spots(step: Sequence[str], turns: Sequence[Turn]) -> list[Spot[_Said]]:
    return [
        Spot((number, place.start), (number, place.end), (turn, text, place))
        for number, turn in enumerate(turns)
        for text in [normal(turn.text)]
        for word in step
        for place in islice(phrase(word).places(text), _PLACES_AT_MOST)
    ]


def _reason(
    steps: Sequence[Sequence[str]], spots: Sequence[Sequence[object]], done: Sequence[int]
) -> str:
    reason = f"{len(done)} of {len(steps)} steps are said in order"
    left = [number for number in range(len(steps)) if number not in done]
    unsaid = [alternatives([steps[each]]) for each in left if not spots[each]]
    misplaced = [alternatives([steps[each]]) for each in left if spots[each]]
    if unsaid:
        reason += f"; not said: {', '.join(unsaid)}"
    if misplaced:
        reason += f"; out of order: {', '.join(misplaced)}"
    return reason
