"""`recorded`: a value that was stored with the conversation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import pydantic
from pydantic_core import PydanticCustomError

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.params import Params, always
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.verdict import MatcherResult

_MISSING = object()
_TINY = 1e-9  # a reward of 0.9999999999 was 1 before somebody averaged it


class RecordedParams(Params):
    """`field` is its name, dots reach into mappings."""

    field: str = pydantic.Field(description="the value's name; dots reach into mappings")
    min: float | None = pydantic.Field(None, description="the least that it may be")
    max: float | None = pydantic.Field(None, description="the most that it may be")
    equals: Any = pydantic.Field(None, description="what it must be")

    @pydantic.model_validator(mode="after")
    def _compares(self) -> Self:
        if not self.model_fields_set & {"min", "max", "equals"}:
            raise PydanticCustomError("recorded", "'recorded' needs one of min, max, equals")
        return self

    @property
    def expected(self) -> str:
        """What it asks for, in words."""
        asked = [
            f"{sign} {value!r}"
            for key, sign, value in (
                ("min", ">=", self.min),
                ("max", "<=", self.max),
                ("equals", "=", self.equals),
            )
            if key in self.model_fields_set
        ]
        return f"recorded {self.field} {' and '.join(asked)}"


def recorded() -> Matcher:
    """1 where the recorded value is as asked; not applicable where there is none to compare."""
    return Matcher("recorded", RecordedParams, _match, always, lambda _: "all")


def _match(view: View, params: RecordedParams) -> MatcherResult:
    value = _find(view.recorded, params.field)
    if value is _MISSING:
        known = ", ".join(sorted(map(str, view.recorded))) or "nothing"
        reason = f"no {params.field!r} is recorded with it; recorded: {known}"
        return MatcherResult(None, reason, params.expected)
    reason = f"recorded {params.field} is {value!r}"
    if (params.min, params.max) != (None, None) and not _is_number(value):
        return MatcherResult(None, f"{reason}, which is no number", params.expected)
    return MatcherResult(float(_holds(value, params)), reason, params.expected)


def _find(values: Mapping[str, object], name: str) -> object:
    if name in values:
        return values[name]
    first, dot, rest = name.partition(".")
    below = values.get(first)
    return _find(below, rest) if dot and isinstance(below, Mapping) else _MISSING


def _is_number(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def _holds(value: Any, params: RecordedParams) -> bool:
    if "equals" in params.model_fields_set and value != params.equals:
        return False
    if params.min is not None and value < params.min - _TINY:
        return False
    return params.max is None or bool(value <= params.max + _TINY)
