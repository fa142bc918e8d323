"""Short ways to hold a conversation and to ask a matcher about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import settings

from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.matching.compiling import compile_spec, spec_of, spec_problems
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.transcript import ToolCall, Turn
from pytest_dialeval.records.verdict import MatcherResult

MATCHERS = builtin_matchers()
unhurried = settings(deadline=None)  # the machine may be busy
few = settings(deadline=None, max_examples=40)


def turns(*lines: str) -> tuple[Turn, ...]:
    """Turns from `a: what the agent says` and `u: what the user says`."""
    speakers = {"a": "agent", "u": "user"}
    return tuple(
        Turn(number, speakers[line[0]], line[2:].removeprefix(" "))  # type: ignore[arg-type]
        for number, line in enumerate(lines, start=1)
    )


def view(*lines: str, **more: Any) -> View:
    return View(turns(*lines), **more)


def calling(*calls: tuple[str, object]) -> View:
    """A conversation in which the agent makes one call a turn."""
    made = (
        Turn(number, "agent", "", tool_calls=(ToolCall(name, arguments),))
        for number, (name, arguments) in enumerate(calls, start=1)
    )
    return View(tuple(made))


def ask(method: str, value: object, of: View) -> MatcherResult:
    """What the matcher finds; its evidence must stand."""
    result = compile_spec(spec_of(method, value, MATCHERS), MATCHERS)(of)
    by_id = {turn.id: turn for turn in of.turns}
    for each in result.evidence:
        assert each.stands_in(by_id[each.turn]), each
    assert set(result.searched) <= set(by_id)
    assert result.score is None or 0 <= result.score <= 1
    return result


def score(method: str, value: object, *lines: str, **more: Any) -> float | None:
    return ask(method, value, view(*lines, **more)).score


def quotes(result: MatcherResult) -> list[str]:
    return [each.quote for each in result.evidence]


def problems(method: str, value: object) -> Mapping[tuple[str | int, ...], str]:
    return dict(spec_problems(spec_of(method, value, MATCHERS), MATCHERS))
