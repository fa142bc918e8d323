"""`tool_called` and `tool_sequence`: which tools were called, with what, in which order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import pydantic
from pydantic_core import PydanticCustomError

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.order import Spot, in_order
from pytest_dialeval.matching.params import Count, Where, Words, always, scope
from pytest_dialeval.matching.view import View
from pytest_dialeval.matching.wording import QUOTED_AT_MOST, ids, not_searched, quoted
from pytest_dialeval.records.transcript import ToolCall, Turn
from pytest_dialeval.records.verdict import Evidence, MatcherResult
from pytest_dialeval.records.wording import plural

_QUOTED_CHARS = 400


class ToolCalledParams(Where):
    """`arguments` must be among the call's; it is called `min` (1) to `max` times."""

    name: str = pydantic.Field(description="the tool's name")
    arguments: dict[str, Any] = pydantic.Field(
        {}, description="what must be among the arguments, at any depth"
    )
    min: Count | None = pydantic.Field(
        None, description="the fewest such calls; 1 where it is not given"
    )
    max: Count | None = pydantic.Field(None, description="the most such calls; 0 forbids the call")

    @pydantic.model_validator(mode="after")
    def _can_hold(self) -> Self:
        if self.max is not None and self.least > self.max:
            raise PydanticCustomError("tool_called", "min is above max")
        return self

    @property
    def least(self) -> int:
        """Once, unless `max: 0` forbids it."""
        return self.min if self.min is not None else int(self.max != 0)

    @property
    def expected(self) -> str:
        """What it asks for, in words."""
        call = ToolCall(self.name, self.arguments) if self.arguments else self.name
        if self.max is None:
            return f"{call} called at least {plural(self.least, 'time')}"
        if self.max == self.least:
            return f"{call} called {plural(self.max, 'time')}"
        return f"{call} called {self.least} to {self.max} times"


class ToolSequenceParams(Where):
    """Names of tools in the order in which they should be called; others may come between."""

    names: Words = pydantic.Field(description="names of tools in the order of their calls")


def tool_called() -> Matcher:
    """1 where the tool is called as often as asked."""
    return Matcher("tool_called", ToolCalledParams, _match_called, always, scope, shorthand="name")


def tool_sequence() -> Matcher:
    """The fraction of the names that are called in their order."""
    return Matcher(
        "tool_sequence",
        ToolSequenceParams,
        _match_sequence,
        lambda params: len(params.names) == 1,
        scope,
        shorthand="names",
    )


def _match_called(view: View, params: ToolCalledParams) -> MatcherResult:
    turns = view.searched(params.by, params.turns)
    if not turns:
        return not_searched(params.expected, params)
    calls = [(call, found) for call, found in _calls(turns) if call.name == params.name]
    fitting = [
        found
        for call, found in calls
        if not params.arguments or _contains(call.arguments, params.arguments)
    ]
    holds = params.least <= len(fitting) and (params.max is None or len(fitting) <= params.max)
    reason = f"{params.name} is called {plural(len(fitting), 'time')}"
    shown = fitting
    if not fitting and calls:
        reason = f"{params.name} is called {plural(len(calls), 'time')}, with other arguments"
        shown = [found for _, found in calls]
    return MatcherResult(
        float(holds), reason, params.expected, tuple(shown[:QUOTED_AT_MOST]), ids(turns)
    )


def _match_sequence(view: View, params: ToolSequenceParams) -> MatcherResult:
    turns = view.searched(params.by, params.turns)
    expected = f"{', then '.join(map(repr, params.names))} called"
    if not turns:
        return not_searched(expected, params)
    calls = list(_calls(turns))
    steps = [
        [
            Spot((at, 0), (at + 1, 0), found)
            for at, (call, found) in enumerate(calls)
            if call.name == name
        ]
        for name in params.names
    ]
    done = in_order(steps)
    numbers = {number for number, _ in done}
    missing = [name for number, name in enumerate(params.names) if number not in numbers]
    reason = f"{len(done)} of {plural(len(steps), 'tool')} are called in order"
    if missing:
        reason += f"; not there: {quoted(missing, 'and')}"
    evidence = tuple(spot.what for _, spot in done)
    return MatcherResult(len(done) / len(steps), reason, expected, evidence, ids(turns))


def _calls(turns: Sequence[Turn]) -> Iterator[tuple[ToolCall, Evidence]]:
    """Every call, and how it is quoted: the turn's part has one a line."""
    for turn in turns:
        start = 0
        for call in turn.tool_calls:
            written = str(call)
            yield call, Evidence(turn.id, written[:_QUOTED_CHARS], start, "tool_calls")
            start += len(written) + 1


def _contains(given: object, wanted: object) -> bool:
    """Whether what is wanted is among what is given; mappings may hold more at every depth."""
    if isinstance(wanted, Mapping):
        return isinstance(given, Mapping) and all(
            key in given and _contains(given[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(given, list | tuple)
            and len(given) == len(wanted)
            and all(map(_contains, given, wanted))
        )
    if isinstance(wanted, bool) or isinstance(given, bool):
        return given is wanted
    return given == wanted
