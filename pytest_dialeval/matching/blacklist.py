"""`blacklist`: forbidden phrases are not said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pydantic

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.negation import is_negated
from pytest_dialeval.matching.normal import normal
from pytest_dialeval.matching.params import Where, Words, always, scope
from pytest_dialeval.matching.phrase import evidence, phrase
from pytest_dialeval.matching.view import View
from pytest_dialeval.matching.wording import QUOTED_AT_MOST, ids, not_searched, quoted
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import Evidence, MatcherResult
from pytest_dialeval.records.wording import plural


class BlacklistParams(Where):
    """`unless_negated`: a clause that denies the phrase is no breach."""

    phrases: Words = pydantic.Field(description="phrases that are never said")
    unless_negated: bool = pydantic.Field(
        False, description="whether a phrase that its own clause denies is no breach"
    )

    @property
    def expected(self) -> str:
        """What it asks for, in words."""
        unless = " except to deny it" if self.unless_negated else ""
        return f"never {quoted(self.phrases)}{unless}"


def blacklist() -> Matcher:
    """0 where one of the phrases is said even once."""
    return Matcher("blacklist", BlacklistParams, _match, always, scope, shorthand="phrases")


def _match(view: View, params: BlacklistParams) -> MatcherResult:
    turns = params.searched(view)
    if not turns:
        return not_searched(params.expected, params)
    denied: list[Evidence] = []
    said: list[Evidence] = []
    for found, is_denied in _mentions(turns, params.phrases):
        kept = denied if is_denied and params.unless_negated else said
        if len(kept) < QUOTED_AT_MOST:
            kept.append(found)
    evidence_first = said or denied
    return MatcherResult(
        float(not said),
        _reason(said, denied),
        params.expected,
        tuple(evidence_first),
        ids(turns),
    )


def _mentions(turns: Sequence[Turn], phrases: Sequence[str]) -> Iterator[tuple[Evidence, bool]]:
    for turn in turns:
        text = normal(turn.text)
        found = [place for each in phrases for place in phrase(each).places(text)]
        for place in sorted(found, key=lambda place: place.start):
            yield evidence(turn, text, place), is_negated(text, place.start, place.end)


def _reason(said: Sequence[Evidence], denied: Sequence[Evidence]) -> str:
    if said:
        more = f", and {plural(len(said) - 1, 'more mention')}" if len(said) > 1 else ""
        return f"turn {said[0].turn} says {said[0].quote!r}{more}"
    if denied:
        return f"it is only named to deny it: turn {denied[0].turn} says {denied[0].quote!r}"
    return "no searched turn says it"
