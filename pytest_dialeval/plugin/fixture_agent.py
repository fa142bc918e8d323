"""Whether a `dialeval_agent` fixture of the user's reaches a node, and which one.

pytest has no public way to ask; this is the one place that looks, and it looks softly.
"""

from __future__ import annotations

from typing import Any

import pytest

NAME = "dialeval_agent"


def fixture_anchor(node: pytest.Collector | pytest.Item) -> str | None:
    """A name for the fixture definition that `node` would meet, or None where there is none."""
    found = definition_for(node)
    if found is None:
        return None
    if getattr(found, "params", None):
        raise pytest.Collector.CollectError(
            f"{node.nodeid}: the fixture `dialeval_agent` has params, which suites cannot pick "
            "from; declare one agent for each under `agents:` in the suite"
        )
    function = found.func
    return f"{found.baseid}::{getattr(function, '__module__', '')}.{function.__qualname__}"


def definition_for(node: pytest.Collector | pytest.Item) -> Any:
    """The FixtureDef that overrides all others at `node`, or None."""
    manager = getattr(node.session, "_fixturemanager", None)
    if manager is None:  # a pytest whose inside changed: assume no fixture
        return None
    found = manager.getfixturedefs(NAME, node)
    return found[-1] if found else None


def outlives_items(definition: Any) -> bool:
    """Whether its value serves all later items: only then may conversations run ahead."""
    scope = getattr(definition, "scope", "function")
    return scope == "session" and not getattr(definition, "params", None)
