"""How results are put into words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_dialeval.matching.params import Where
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import Evidence, MatcherResult
from pytest_dialeval.records.wording import did_you_mean

_LISTED_AT_MOST = 8
QUOTED_AT_MOST = 20  # a reader needs no more, and a long text may hold thousands
UNKNOWN_KEY, UNKNOWN_MATCHER = "unknown key", "unknown matcher"  # how such a message begins
_WORD_CHARS = 60
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


def unknown_key(
    key: str, owner: str, keys: Sequence[str], *, methods: Sequence[str] = (), hint: str = ""
) -> str:
    """`unknown key 'x' of a task; did you mean 'y'? (keys: a, b)`; a hint stands for the guess."""
    guess = hint or did_you_mean(key, [*keys, *methods])
    there = f"keys: {', '.join(keys) or 'none'}"
    there += f"; methods: {', '.join(methods)}" if methods else ""
    return f"{UNKNOWN_KEY} {_short(key)} of {owner}{guess} ({there})"


def unknown_matcher(name: str, known: Iterable[str]) -> str:
    """`unknown matcher 'x'; did you mean 'y'? (matchers: a, b)`."""
    names = sorted(known)
    listed = ", ".join(names)
    return f"{UNKNOWN_MATCHER} {_short(name)}{did_you_mean(name, names)} (matchers: {listed})"


def _short(word: str) -> str:
    return repr(word if len(word) <= _WORD_CHARS else f"{word[:_WORD_CHARS]}...")


def ids(turns: Iterable[Turn]) -> tuple[int, ...]:
    """What a verdict about absence stands on."""
    return tuple([each.id for each in turns])


def beginnings(turns: Sequence[Turn], at_most: int = QUOTED_AT_MOST) -> tuple[Evidence, ...]:
    """Whole turns as evidence: how each begins tells it apart."""
    return tuple(Evidence(each.id, each.text[:QUOTED_CHARS]) for each in turns[:at_most])


def not_searched(expected: str, where: Where) -> MatcherResult:
    """The question did not arise: there is no turn to look at."""
    whose = {"agent": "the agent", "user": "the user", "any": "anybody"}[where.by]
    return MatcherResult(None, f"no turn of {whose} is there to be searched", expected)
