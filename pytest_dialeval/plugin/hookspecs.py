"""The hooks of pytest-dialeval; implement them in a conftest.py or a plugin.

Each returns a mapping from name to object; several implementations are merged, and a name that
two of them give is refused. The plugin's own come through the same hooks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest


@pytest.hookspec
def pytest_dialeval_agents(config: pytest.Config) -> Mapping[str, Any] | None:
    """Agents by name, for suites that declare none, and for `use: NAME`.

    An agent is a function of the user's message or of the history, or a class with `reply`;
    docs/reference/agents.md has the forms::

        def pytest_dialeval_agents(config):
            return {"shop": lambda message: shop.answer(message)}
    """


@pytest.hookspec
def pytest_dialeval_matchers(config: pytest.Config) -> Mapping[str, Any] | None:
    """Matchers by name; a function's keyword parameters are the keys that a rubric may give::

        def polite(view, *, words: list[str] = ["please"]) -> bool:
            return any(word in turn.text for turn in view.searched() for word in words)

        def pytest_dialeval_matchers(config):
            return {"polite": polite}

    In a suite: `- {id: tone.polite, dimension: robustness, polite: {words: [please, kindly]}}`.
    """


@pytest.hookspec
def pytest_dialeval_judges(config: pytest.Config) -> Mapping[str, Any] | None:
    """Judges by name; the one called `default`, or else the only one, grades `judge:` rubrics::

    def pytest_dialeval_judges(config):
        return {"default": ScriptedJudge.from_file("judge.yaml")}
    """


@pytest.hookspec
def pytest_dialeval_simulators(config: pytest.Config) -> Mapping[str, Any] | None:
    """Simulated users by name: a callable (task, persona, draw, matchers) -> a user.

    The one called `default` plays all personas instead of the state machine::

        def pytest_dialeval_simulators(config):
            return {"default": MyUser}
    """
