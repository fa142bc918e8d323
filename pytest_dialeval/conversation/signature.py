"""What a user's function wants to be given, read from its parameters' names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from pytest_dialeval.conversation.agent import Brief
from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.records.transcript import Turn

WANTS = ("message", "history", "turns", "brief")

_BY_PLACE = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)
_ARGS = inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)


@dataclass(frozen=True, slots=True)
class Call:
    """A function, and by parameter what it wants: one of WANTS."""

    function: Callable[..., object]
    positional: tuple[str, ...] = ()
    named: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, function: object, main: str) -> Call:
        """Its wants; the first parameter of another name gets `main`, if there is such a thing."""
        positional: list[str] = []
        named: list[tuple[str, str]] = []
        for each in _filled(function, main):
            want = each.name if each.name in WANTS else main
            if each.name not in WANTS:
                _check(each, main, [*positional, *(want for _, want in named)], function)
            if each.kind in (each.POSITIONAL_ONLY, each.VAR_POSITIONAL):
                positional.append(want)
            else:
                named.append((each.name, want))
        return cls(cast(Callable[..., object], function), tuple(positional), tuple(named))

    def bound(self, turns: Sequence[Turn], brief: Brief) -> Callable[[], object]:
        """The function with everything filled in."""
        positional = [_given(want, turns, brief) for want in self.positional]
        named = {name: _given(want, turns, brief) for name, want in self.named}
        return lambda: self.function(*positional, **named)


def takes_nothing(function: object) -> bool:
    """Whether it can be called, and wants to be called, without arguments."""
    try:
        parameters = inspect.signature(cast(Callable[..., object], function)).parameters.values()
    except ValueError:  # some built-in ones do not tell
        return inspect.isclass(function)
    if inspect.isclass(function):
        return all(_optional(each) for each in parameters)
    return not parameters


def _filled(function: object, main: str) -> list[inspect.Parameter]:
    """The parameters to fill: those that must be, those of a known name, else the main one."""
    try:
        signature = inspect.signature(cast(Callable[..., object], function))
    except (TypeError, ValueError):  # a built-in that does not tell
        return [_ARGS] if main else []
    parameters = list(signature.parameters.values())
    filled = [each for each in parameters if not _optional(each) or each.name in WANTS]
    if filled or main != "message":
        return filled
    return [each for each in parameters if each.kind in _BY_PLACE][:1]


def _optional(parameter: inspect.Parameter) -> bool:
    var = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return var or parameter.default is not parameter.empty


def _check(parameter: inspect.Parameter, main: str, taken: list[str], function: object) -> None:
    if main and main not in taken:
        return  # it takes the main thing, whatever the user calls it
    known = ", ".join(WANTS)
    name = getattr(function, "__qualname__", repr(function))
    text = f"{name} wants {parameter.name!r}, which nobody can give it; known: {known}"
    raise HarnessFault(f"{text}; any other needs a default")


def _given(want: str, turns: Sequence[Turn], brief: Brief) -> object:
    match want:
        case "message":
            return turns[-1].text if turns else ""
        case "history":
            roles = {"agent": "assistant", "user": "user"}
            return [{"role": roles[each.speaker], "content": each.text} for each in turns]
        case "turns":
            return tuple(turns)
        case _:
            return brief
