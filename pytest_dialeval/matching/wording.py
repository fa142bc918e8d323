"""How results are put into words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_dialeval.matching.params import Where
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import Evidence, MatcherResult

_LISTED_AT_MOST = 8
QUOTED_AT_MOST = 20  # a reader needs no more, and a long text may hold thousands
QUOTED_CHARS = 120  # of a turn that is quoted as a whole


def quoted(words: Iterable[str], last: str = "or") -> str:
    """`'a', 'b' or 'c'`."""
    listed = [repr(each) for each in words]
    if len(listed) > _LISTED_AT_MOST:
        more = len(listed) - _LISTED_AT_MOST
        listed = [*listed[:_LISTED_AT_MOST], f"{more} more"]
    if len(listed) < 2:
        return "".join(listed)
    return f"{', '.join(listed[:-1])} {last} {listed[-1]}"


def alternatives(steps: Iterable[Sequence[str]]) -> str:
    """`'a' / 'b', then 'c'`."""
    return ", then ".join(" / ".join(map(repr, step)) for step in steps)


def ids(turns: Iterable[Turn]) -> tuple[int, ...]:
    """What a verdict about absence stands on."""
    return tuple(each.id for each in turns)


def beginnings(turns: Sequence[Turn], at_most: int = QUOTED_AT_MOST) -> tuple[Evidence, ...]:
    """Whole turns as evidence: how each begins tells it apart."""
    return tuple(Evidence(each.id, each.text[:QUOTED_CHARS]) for each in turns[:at_most])


def not_searched(expected: str, where: Where) -> MatcherResult:
    """The question did not arise: there is no turn to look at."""
    whose = {"agent": "the agent", "user": "the user", "any": "anybody"}[where.by]
    return MatcherResult(None, f"no turn of {whose} is there to be searched", expected)
