"""`length`: turns are no longer (or shorter) than they may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import pydantic
from pydantic_core import PydanticCustomError

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.params import Count, Where, scope
from pytest_dialeval.matching.sentences import count_chars, count_sentences, count_words
from pytest_dialeval.matching.view import View
from pytest_dialeval.matching.wording import beginnings, ids, not_searched
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import MatcherResult
from pytest_dialeval.records.wording import plural

_COUNTS: dict[str, Callable[[str], int]] = {
    "chars": count_chars,
    "words": count_words,
    "sentences": count_sentences,
}


class LengthParams(Where):
    """Bounds, each widened by `tolerance` (0.1: a tenth)."""

    max_chars: Count | None = pydantic.Field(None, description="the most characters of a turn")
    min_chars: Count | None = pydantic.Field(None, description="the least characters of a turn")
    max_words: Count | None = pydantic.Field(
        None, description="the most words, or Chinese characters of a turn"
    )
    min_words: Count | None = pydantic.Field(
        None, description="the least words, or Chinese characters of a turn"
    )
    max_sentences: Count | None = pydantic.Field(None, description="the most sentences of a turn")
    min_sentences: Count | None = pydantic.Field(None, description="the least sentences of a turn")
    tolerance: float = pydantic.Field(
        0.0, ge=0, le=1, description="the share by which each bound is widened: 0.1 is a tenth"
    )

    @pydantic.model_validator(mode="after")
    def _bounds_something(self) -> Self:
        for unit in _COUNTS:
            low, high = self.bounds(unit)
            if low is not None and high is not None and low > high:
                text = f"no text is both long and short enough: min_{unit} is above max_{unit}"
                raise PydanticCustomError("length", text)
        if all(self.bounds(unit) == (None, None) for unit in _COUNTS):
            text = "'length' needs max_ or min_ of chars, words or sentences"
            raise PydanticCustomError("length", text)
        return self

    def bounds(self, unit: str) -> tuple[int | None, int | None]:
        """The least and the most that is written for that unit."""
        return getattr(self, f"min_{unit}"), getattr(self, f"max_{unit}")

    @property
    def expected(self) -> str:
        """What it asks for, in words."""
        asked = []
        for unit in _COUNTS:
            low, high = self.bounds(unit)
            asked += [f"at least {low} {unit}"] if low is not None else []
            asked += [f"at most {high} {unit}"] if high is not None else []
        wider = f" (give or take {self.tolerance:.0%})" if self.tolerance else ""
        return " and ".join(asked) + wider


def length() -> Matcher:
    """The fraction of the turns that keep to the bounds."""
    return Matcher("length", LengthParams, _match, lambda params: params.one_turn, scope)


def _match(view: View, params: LengthParams) -> MatcherResult:
    turns = params.searched(view)
    if not turns:
        return not_searched(params.expected, params)
    wrong = [(turn, why) for turn in turns if (why := _excess(turn, params))]
    fitting = len(turns) - len(wrong)
    reason = f"{fitting} of {plural(len(turns), 'turn')} fit"
    if wrong:
        reason += f"; turn {wrong[0][0].id} has {wrong[0][1]}"
    return MatcherResult(
        fitting / len(turns),
        reason,
        params.expected,
        beginnings([turn for turn, _ in wrong]),
        ids(turns),
    )


def _excess(turn: Turn, params: LengthParams) -> str:
    """`52 chars` where that is too many or too few."""
    for unit, count in _COUNTS.items():
        low, high = params.bounds(unit)
        if low is None and high is None:
            continue
        size = count(turn.text)
        if high is not None and size > int(high * (1 + params.tolerance) + 1e-9):
            return f"{size} {unit}"
        if low is not None and size < low * (1 - params.tolerance) - 1e-9:
            return f"{size} {unit}"
    return ""
