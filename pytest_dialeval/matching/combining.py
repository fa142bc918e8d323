"""`all`, `any` and `not`: matchers over the results of other matchers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.params import Params, always
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.verdict import Evidence, MatcherResult

Child = Callable[[View], MatcherResult]


class Children(Params):
    """Marks a combinator: what is written are matchers, and `match` gets their checks."""

    of: list[dict[str, Any]]


class AllParams(Children):
    """A list of matchers that all hold."""


class AnyParams(Children):
    """A list of matchers of which at least one holds."""


class NotParams(Children):
    """A matcher that does not hold."""


def all_of() -> Matcher:
    """Every one holds; those whose question did not arise are left out."""
    return Matcher("all", AllParams, _match_all, always, _any_first, "of", _any_slow)


def any_of() -> Matcher:
    """At least one holds; those whose question did not arise are left out."""
    return Matcher("any", AnyParams, _match_any, always, _all_first, "of", _any_slow)


def not_of() -> Matcher:
    """The one does not hold; where its question did not arise, neither does this one."""
    return Matcher("not", NotParams, _match_not, always, _all_first, "of", _any_slow)


def _match_all(view: View, children: Sequence[Child]) -> MatcherResult:
    results = [child(view) for child in children]
    asked = [each for each in results if each.score is not None]
    failed = [each for each in asked if not each.matched]
    return _combined(failed or asked or results, " and ", _score(asked, not failed), results)


def _match_any(view: View, children: Sequence[Child]) -> MatcherResult:
    results = [child(view) for child in children]
    asked = [each for each in results if each.score is not None]
    matched = [each for each in asked if each.matched]
    deciding = matched[:1] or asked or results
    return _combined(deciding, " or ", _score(asked, bool(matched)), results)


def _match_not(view: View, children: Sequence[Child]) -> MatcherResult:
    result = children[0](view)
    return MatcherResult(
        None if result.score is None else float(not result.matched),
        reason=result.reason,
        expected=f"not: {result.expected}",
        evidence=result.evidence,
        searched=result.searched,
    )


def _score(asked: Sequence[MatcherResult], holds: bool) -> float | None:
    return float(holds) if asked else None


def _combined(
    deciding: Sequence[MatcherResult],
    word: str,
    score: float | None,
    results: Sequence[MatcherResult],
) -> MatcherResult:
    evidence: dict[Evidence, None] = {}
    for each in deciding:
        evidence.update(dict.fromkeys(each.evidence))
    return MatcherResult(
        score,
        reason="; ".join(each.reason for each in deciding if each.reason),
        expected=word.join(each.expected for each in results if each.expected),
        evidence=tuple(evidence),
        searched=tuple(sorted({turn for each in deciding for turn in each.searched})),
    )


def _any_first(children: Sequence[Any]) -> str:
    return "first" if any(child.scope == "first" for child in children) else "all"


def _all_first(children: Sequence[Any]) -> str:
    return "first" if all(child.scope == "first" for child in children) else "all"


def _any_slow(children: Sequence[Any]) -> bool:
    return any(child.slow for child in children)
