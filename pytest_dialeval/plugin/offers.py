"""What hooks bring: merged into one mapping a kind, passed down from here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dialeval.errors import DialevalError

if TYPE_CHECKING:
    from pytest_dialeval.conversation.user import Simulator
    from pytest_dialeval.grading.judge import Judge
    from pytest_dialeval.matching.matcher import Matcher


def merged(answers: Iterable[Mapping[str, Any] | None], hook: str) -> dict[str, Any]:
    """All answers as one mapping; a name given twice is refused."""
    found: dict[str, Any] = {}
    for answer in answers:
        for name, value in (answer or {}).items():
            if name in found and found[name] is not value:
                raise DialevalError(f"{hook}: {name!r} is given twice; rename one of them")
            found[name] = value
    return found


def agents(config: pytest.Config) -> Mapping[str, Any]:
    answers = config.hook.pytest_dialeval_agents(config=config)
    return merged(answers, "pytest_dialeval_agents")


def matchers(config: pytest.Config) -> Mapping[str, Matcher]:
    """The plugin's own come through the same hook; users' functions are wrapped."""
    from pytest_dialeval.matching.matcher import Matcher, matcher_from_function

    answers = config.hook.pytest_dialeval_matchers(config=config)
    found = merged(answers, "pytest_dialeval_matchers")
    try:
        return {
            name: each if isinstance(each, Matcher) else matcher_from_function(name, each)
            for name, each in found.items()
        }
    except TypeError as error:
        raise DialevalError(f"pytest_dialeval_matchers: {error}") from None


def judge(config: pytest.Config) -> Judge | None:
    """The judge called `default`, or the only one."""
    answers = config.hook.pytest_dialeval_judges(config=config)
    chosen: Judge | None = _default(merged(answers, "pytest_dialeval_judges"), "judge")
    return chosen


def simulator(config: pytest.Config) -> Simulator:
    """What plays the personas: the one called `default`, the only one, or the state machine."""
    from pytest_dialeval.conversation.user import SimulatedUser

    answers = config.hook.pytest_dialeval_simulators(config=config)
    chosen: Simulator | None = _default(merged(answers, "pytest_dialeval_simulators"), "simulator")
    return chosen or SimulatedUser


def _default(found: Mapping[str, Any], kind: str) -> Any:
    if len(found) > 1 and "default" not in found:
        names = ", ".join(sorted(found))
        raise DialevalError(
            f"pytest_dialeval_{kind}s: {len(found)} {kind}s ({names}); call one of them 'default'"
        )
    return found.get("default") or next(iter(found.values()), None)
