"""`regex`: a pattern matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.normal import typed
from pytest_dialeval.matching.params import Where, always, scope
from pytest_dialeval.matching.pattern import SEARCHED_AT_MOST, Pattern, pattern
from pytest_dialeval.matching.view import View
from pytest_dialeval.matching.wording import ids, not_searched
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import Evidence, MatcherResult

_QUOTED_CHARS = 300


def _compiles(written: str) -> str:
    try:
        pattern(written)
    except ValueError as error:
        raise PydanticCustomError("regex", "{why}", {"why": str(error)}) from None
    return written


Regex = Annotated[str, AfterValidator(_compiles)]


class RegexParams(Where):
    """`verbatim`: only the text as it was written, without comparing by meaning."""

    pattern: Regex = Field(description="a regular expression, as Python's `re` reads it")
    verbatim: bool = Field(
        False, description="search only the text as written, not also as a keyboard types it"
    )

    @property
    def expected(self) -> str:
        """What it asks for, in words."""
        return f"a match of {self.pattern!r}"


def regex() -> Matcher:
    """1 where the pattern (Python's `re`) matches somewhere in a turn."""
    return Matcher("regex", RegexParams, _match, always, scope, "pattern", _is_slow)


def _is_slow(params: RegexParams) -> bool:
    return pattern(params.pattern).slow


def _match(view: View, params: RegexParams) -> MatcherResult:
    turns = params.searched(view)
    if not turns:
        return not_searched(params.expected, params)
    compiled = pattern(params.pattern)
    for turn in turns:
        found = first_match(compiled, turn, verbatim=params.verbatim)
        if found is not None:
            reason = f"turn {turn.id} has {found.quote!r}"
            return MatcherResult(1.0, reason, params.expected, (found,), ids(turns))
    reason = "no searched turn matches" + unsearched(turns)
    return MatcherResult(0.0, reason, params.expected, searched=ids(turns))


def first_match(compiled: Pattern, turn: Turn, *, verbatim: bool) -> Evidence | None:
    """The first match in the text as written, else in the text as a keyboard types it."""
    span = compiled.first(turn.text)
    if span is None and not verbatim and (plain := typed(turn.text)) != turn.text:
        span = compiled.first(plain)
    if span is None:
        return None
    start, end = span
    return Evidence(turn.id, turn.text[start : min(end, start + _QUOTED_CHARS)], start)


def unsearched(turns: Sequence[Turn]) -> str:
    """A note where a text was too long to be searched whole."""
    long = [each.id for each in turns if len(each.text) > SEARCHED_AT_MOST]
    if not long:
        return ""
    places = ", ".join(map(str, long))
    return f" (only the first {SEARCHED_AT_MOST} characters of turn {places} were searched)"
