"""A matcher: a name, its parameters, and a function from a view to a result."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pydantic

from pytest_dialeval.matching.view import View
from pytest_dialeval.records.verdict import MatcherResult


@dataclass(frozen=True, slots=True)
class Matcher:
    """One way to decide a rubric by rule.

    `boolean` says for given parameters whether the score is only ever 0, 1 or None; `scope` which
    of the agent's turns are searched (`first`, else anything); `shorthand` which parameter a bare
    value fills; `slow` whether even a short text may take it more than a moment.
    """

    name: str
    params: type[pydantic.BaseModel]
    match: Callable[[View, Any], MatcherResult]
    boolean: Callable[[Any], bool]
    scope: Callable[[Any], str]
    shorthand: str | None = None
    slow: Callable[[Any], bool] = lambda _: False


def matcher_from_function(name: str, function: Callable[..., object]) -> Matcher:
    """A user's `def polite(view, *, words: list[str]) -> bool` as a matcher.

    Its parameters are the keys that a suite may write. `-> float` makes it a ratio of 0..1; any
    other must answer a bool, None (the question did not arise) or a MatcherResult of 0 or 1.
    """
    if not callable(function):
        raise TypeError(f"matcher {name!r} is {function!r}; it must be a function of a view")
    if inspect.iscoroutinefunction(function):
        raise TypeError(f"matcher {name!r} is an async function; a matcher must be a plain one")
    hints = _hints(name, function)
    fields = _fields(name, function, hints)
    ratio = hints.get("return") is float

    def match(view: View, given: pydantic.BaseModel) -> MatcherResult:
        values = {each: getattr(given, _field(each)) for each in fields}
        return _result(name, function(view, **values), view, ratio=ratio)

    return Matcher(
        name=name,
        params=_model(name, fields, inspect.getdoc(function)),
        match=match,
        boolean=lambda _: not ratio,
        scope=lambda _: "all",
        shorthand=_only_needed(fields),
    )


def _field(name: str) -> str:
    # A parameter may be called `schema` or `copy`, which as a field would shadow pydantic's own.
    return f"given_{name}"


def _model(name: str, fields: dict[str, Any], doc: str | None) -> type[pydantic.BaseModel]:
    config = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    given: dict[str, Any] = {
        _field(each): (hint, pydantic.Field(default, alias=each))
        for each, (hint, default) in fields.items()
    }
    return pydantic.create_model(f"{name}_params", __config__=config, __doc__=doc, **given)


def _hints(name: str, function: Callable[..., object]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception as error:
        raise TypeError(f"matcher {name!r}: its annotations cannot be read ({error})") from error


def _fields(name: str, function: Callable[..., object], hints: dict[str, Any]) -> dict[str, Any]:
    named = list(inspect.signature(function).parameters.values())
    if not named or named[0].kind not in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    ):
        raise TypeError(f"matcher {name!r} must take the view as its first argument")
    fields: dict[str, Any] = {}
    for each in named[1:]:
        if each.kind not in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD):
            raise TypeError(f"matcher {name!r}: {each} cannot be given by name in a suite")
        default = ... if each.default is each.empty else each.default
        fields[each.name] = (hints.get(each.name, Any), default)
    return fields


def _only_needed(fields: dict[str, Any]) -> str | None:
    needed = [name for name, (_, default) in fields.items() if default is ...]
    candidates = needed or list(fields)
    return candidates[0] if len(candidates) == 1 else None


def _result(name: str, answer: object, view: View, *, ratio: bool) -> MatcherResult:
    if not isinstance(answer, MatcherResult):
        answer = MatcherResult(
            _score(name, answer),
            reason=f"{name} answers {answer!r}",
            searched=tuple(each.id for each in view.searched()),
        )
    score = answer.score
    if score is not None and not 0 <= score <= 1:
        raise ValueError(f"matcher {name!r} gave the score {score!r}; it must be from 0 to 1")
    if not ratio and score not in (0, 1, None):
        raise ValueError(
            f"matcher {name!r} gave the score {score!r}; only one annotated `-> float` may give"
            " anything but 0 and 1"
        )
    return answer


def _score(name: str, answer: object) -> float | None:
    if answer is None:
        return None
    if isinstance(answer, bool | int | float):
        return float(answer)
    raise TypeError(
        f"matcher {name!r} answered {answer!r}; it must answer a bool, a float from 0 to 1, None"
        " or a MatcherResult"
    )
