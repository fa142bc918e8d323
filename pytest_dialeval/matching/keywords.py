"""`keyword`: words are said."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import pydantic
from pydantic_core import PydanticCustomError

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.params import Where, Words, scope
from pytest_dialeval.matching.phrase import first_said
from pytest_dialeval.matching.view import View
from pytest_dialeval.matching.wording import ids, not_searched, quoted
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import MatcherResult


class KeywordParams(Where):
    """`any`: one is said; `all`: each is; `none`: not one is."""

    any: Words | None = pydantic.Field(None, description="words of which one is said")
    all: Words | None = pydantic.Field(
        None, description="words that are each said; the score is the fraction"
    )
    none: Words | None = pydantic.Field(None, description="words of which not one is said")

    @pydantic.model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not (self.any or self.all or self.none):
            raise PydanticCustomError("keyword", "'keyword' needs words below any, all or none")
        return self

    @cached_property
    def expected(self) -> str:
        """What it asks for, in words."""
        asked = [
            self.any and quoted(self.any),
            self.all and quoted(self.all, "and"),
            self.none and f"not {quoted(self.none)}",
        ]
        return "; ".join(each for each in asked if each)


def keyword() -> Matcher:
    """The fraction of `all` that is said; 0 where none of `any` is, or one of `none`."""
    return Matcher("keyword", KeywordParams, _match, _is_boolean, scope, shorthand="any")


def _is_boolean(params: KeywordParams) -> bool:
    return params.all is None or len(params.all) == 1


def _match(view: View, params: KeywordParams) -> MatcherResult:
    turns = params.searched(view)
    if not turns:
        return not_searched(params.expected, params)
    parts = [
        *([_none(params.none, turns)] if params.none else []),
        *([_any(params.any, turns)] if params.any else []),
        *([_all(params.all, turns)] if params.all else []),
    ]
    score = min(each.score or 0.0 for each in parts)
    deciding = parts if score == 1 else [each for each in parts if each.score == score][:1]
    return MatcherResult(
        score,
        "; ".join(each.reason for each in deciding),
        params.expected,
        tuple(quote for each in deciding for quote in each.evidence),
        ids(turns),
    )


def _any(words: Sequence[str], turns: Sequence[Turn]) -> MatcherResult:
    found = first_said(words, turns)
    if found is None:
        return MatcherResult(0.0, f"no searched turn says {quoted(words)}")
    return MatcherResult(1.0, f"turn {found.turn} says {found.quote!r}", evidence=(found,))


def _none(words: Sequence[str], turns: Sequence[Turn]) -> MatcherResult:
    found = first_said(words, turns)
    if found is None:
        return MatcherResult(1.0, f"no searched turn says {quoted(words)}")
    return MatcherResult(0.0, f"turn {found.turn} says {found.quote!r}", evidence=(found,))


def _all(words: Sequence[str], turns: Sequence[Turn]) -> MatcherResult:
    said = {word: first_said([word], turns) for word in words}
    missing = [word for word, found in said.items() if found is None]
    evidence = tuple(found for found in said.values() if found is not None)
    reason = f"{len(evidence)} of {len(said)} are said"
    if missing:
        reason += f"; {quoted(missing, 'and')} missing"
    return MatcherResult(len(evidence) / len(said), reason, evidence=evidence)
