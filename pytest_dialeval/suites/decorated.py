"""`@dialogue_case`: a test function that is run once a trial of a suite's cases."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

ATTRIBUTE = "dialogue_case"
SUFFIX = ".dialeval.yaml"


@dataclass(frozen=True, slots=True)
class DecoratedCase:
    """What the decorator was given, as far as it can be checked without the suite."""

    suite: str  # relative to the test file
    personas: tuple[str, ...] | None = None  # None: all
    trials: int | None = None  # None: as the suite says
    rubrics: tuple[str, ...] = ()
    agent: str | None = None  # None: those that the suite runs


def dialogue_case(
    suite: str,
    *,
    personas: Sequence[str] | None = None,
    trials: int | None = None,
    rubrics: Sequence[str] = (),
    agent: str | None = None,
) -> Callable[[F], F]:
    """Run the function on every trial of a suite, and judge `rubrics` of it as items of their own.

    `suite` is the path of a `.dialeval.yaml` file, relative to the test file. `personas`, `trials`
    and `agent` take the place of all personas, the suite's `trials` and the agents that it runs.
    """
    __tracebackhide__ = True  # a mistake is shown at the decorator, not in here
    case = DecoratedCase(
        suite=_suite(suite),
        personas=None if personas is None else _names("personas", personas, "[a-z0-9_]+"),
        trials=_trials(trials),
        rubrics=_names("rubrics", rubrics, r"[a-z0-9_]+(\.[a-z0-9_]+)*"),
        agent=None if agent is None else _names("agent", [agent], "[a-z0-9_]+")[0],
    )

    def decorate(function: F) -> F:
        __tracebackhide__ = True
        # pytest looks below a staticmethod, where the mark would not stand.
        if not callable(function) or isinstance(function, (type, staticmethod)):
            raise TypeError(f"@dialogue_case decorates a test function, not {function!r}")
        if hasattr(function, ATTRIBUTE):
            raise TypeError(
                f"{function.__qualname__} has @dialogue_case twice: write a function each"
            )
        setattr(function, ATTRIBUTE, case)
        return function

    return decorate


def _suite(suite: object) -> str:
    __tracebackhide__ = True
    if callable(suite):
        raise TypeError(f'@dialogue_case needs a suite: @dialogue_case("suites/name{SUFFIX}")')
    if not isinstance(suite, str):
        raise TypeError(f"dialogue_case: suite must be a path as text, not {suite!r}")
    if not suite.endswith(SUFFIX):
        raise ValueError(f"dialogue_case: suite {suite!r} must end in {SUFFIX}")
    return suite


def _trials(trials: object) -> int | None:
    __tracebackhide__ = True
    if trials is None:
        return None
    if not isinstance(trials, int) or isinstance(trials, bool):
        raise TypeError(f"dialogue_case: trials must be a whole number, not {trials!r}")
    if trials < 1:
        raise ValueError(f"dialogue_case: trials must be at least 1, not {trials!r}")
    return trials


def _names(what: str, names: object, pattern: str) -> tuple[str, ...]:
    __tracebackhide__ = True
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"dialogue_case: {what} must be a list of ids, not {names!r}")
    for each in names:
        if not isinstance(each, str):
            raise TypeError(f"dialogue_case: {what} must be ids as text, not {each!r}")
        if not re.fullmatch(pattern, each):
            raise ValueError(f"dialogue_case: {each!r} is no id for {what}: use a-z, 0-9 and _")
    if what == "personas" and not names:
        raise ValueError("dialogue_case: personas must not be empty; leave it out for all")
    if len(set(names)) < len(names):
        raise ValueError(f"dialogue_case: {what} names one twice: {list(names)!r}")
    return tuple(names)
