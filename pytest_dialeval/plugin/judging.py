"""What judges each rubric today, as a collect-only session finds it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dialeval.errors import RunError
from pytest_dialeval.grading.binding import BY_RULE, Binding, ByRule, binding
from pytest_dialeval.grading.briefing import is_briefed
from pytest_dialeval.plugin.engine import ENGINE
from pytest_dialeval.plugin.linting import COLLECTING

if TYPE_CHECKING:
    from pytest_dialeval.plugin.sources import LoadedSource


class Judging:
    """Keeps the bindings of every source that was collected."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.found: dict[str, dict[str, Binding | ByRule | None]] = {}

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.errors.append(str(report.longrepr))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        engine = session.config.stash.get(ENGINE, None)
        for source in engine.sources.values() if engine else ():
            self.found[source.name] = dict(_bindings(source))


def _bindings(source: LoadedSource) -> dict[str, Binding | ByRule | None]:
    spec = source.models.get("judge") if source.judge is None else None
    most, briefed = source.limits.max_context_chars, is_briefed(source.suite.task)
    return {
        each.id: (binding(spec, each, max_context_chars=most, briefed=briefed) if spec else None)
        if each.spec.method == "judge"
        else BY_RULE
        for each in source.rubrics
    }


def judging_today(paths: Sequence[str]) -> dict[str, dict[str, Binding | ByRule | None]]:
    """Source -> rubric -> its binding; None where the judge says nothing about itself.

    BY_RULE where no judge decides it.
    """
    if not paths:  # pytest would collect all that is here
        return {}
    found, said = Judging(), io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        status = pytest.main([*COLLECTING, *paths], plugins=[found])
    if found.errors:
        raise RunError("\n".join(found.errors))
    if status == pytest.ExitCode.USAGE_ERROR:
        raise RunError(said.getvalue().strip().removeprefix("ERROR: "))
    return found.found
