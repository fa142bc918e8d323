"""What hooks bring to one place: merged into one mapping a kind, passed down from here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dialeval.errors import DialevalError
from pytest_dialeval.plugin import hookspecs

if TYPE_CHECKING:
    from pytest_dialeval.conversation.user import Simulator
    from pytest_dialeval.grading.judge import Judge
    from pytest_dialeval.matching.matcher import Matcher


def merged(answers: Iterable[Mapping[str, Any] | None], hook: str) -> dict[str, Any]:
    """All answers as one mapping; a name given twice is refused."""
    found: dict[str, Any] = {}
    for answer in answers:
        if answer is not None and not isinstance(answer, Mapping):
            raise DialevalError(f"{hook}: {answer!r} is no mapping from name to object")
        for name, value in (answer or {}).items():
            if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9_]+", name):
                raise DialevalError(f"{hook}: {name!r} is no name (allowed: a-z, 0-9 and _)")
            if name in found and found[name] is not value:
                raise DialevalError(f"{hook}: {name!r} is given twice; rename one of them")
            found[name] = value
    return found


class Offers:
    """What reaches one node: a folder's conftest.py serves that folder alone, as in all of pytest.

    Each hook is asked when its answer is first needed.
    """

    def __init__(self, node: pytest.Collector | pytest.Item) -> None:
        self._node = node

    @cached_property
    def agents(self) -> Mapping[str, Any]:
        return self._asked("pytest_dialeval_agents")

    @cached_property
    def matchers(self) -> Mapping[str, Matcher]:
        """The plugin's own come through the same hook; users' functions are wrapped."""
        from pytest_dialeval.matching.matcher import Matcher, matcher_from_function

        found = self._asked("pytest_dialeval_matchers")
        try:
            return {
                name: each if isinstance(each, Matcher) else matcher_from_function(name, each)
                for name, each in found.items()
            }
        except TypeError as error:
            raise DialevalError(f"pytest_dialeval_matchers: {error}") from None

    @cached_property
    def judge(self) -> Judge | None:
        """The judge called `default`, or the only one."""
        chosen: Judge | None = _default(self._asked("pytest_dialeval_judges"), "judge")
        return chosen

    @cached_property
    def simulator(self) -> Simulator | None:
        """Who plays the personas in place of our own: the one called `default`, or the only one."""
        chosen: Simulator | None = _default(self._asked("pytest_dialeval_simulators"), "simulator")
        return chosen

    def _asked(self, hook: str) -> dict[str, Any]:
        # `ihook` now, not when the node was collected: conftest files of others came since then.
        answers = getattr(self._node.ihook, hook)(config=self._node.config)
        return merged(answers, hook)


def reaching(node: pytest.Collector | pytest.Item) -> tuple[str, ...]:
    """The plugins and conftest files whose hooks reach a node."""
    return tuple(
        each.plugin_name
        for name in dir(hookspecs)
        if name.startswith("pytest_dialeval_")
        for each in getattr(node.ihook, name).get_hookimpls()
    )


def _default(found: Mapping[str, Any], kind: str) -> Any:
    if len(found) > 1 and "default" not in found:
        names = ", ".join(sorted(found))
        raise DialevalError(
            f"pytest_dialeval_{kind}s: {len(found)} {kind}s ({names}); call one of them 'default'"
        )
    return found.get("default") or next(iter(found.values()), None)
