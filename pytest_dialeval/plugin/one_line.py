"""`--tb=line`: one line a failure, where pytest would print our whole text before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


def shorten_for_lines(config: pytest.Config) -> None:
    """Leave of our texts what the style shows; JUnit and every log have them in full by now."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or config.getoption("tbstyle") != "line":
        return
    for category, kept in (("failed", 0), ("error", 1)):  # an error gets no line of pytest's
        for entry in _entries(reporter.stats.get(category, ())):
            entry.lines = entry.lines[:kept]


def _entries(reports: Any) -> Iterator[Any]:
    """What dialogue items say without a traceback; others' texts are their own."""
    for report in reports:
        if hasattr(report, "dialeval"):
            traceback = getattr(report.longrepr, "reprtraceback", None)
            for entry in getattr(traceback, "reprentries", ()):
                if getattr(entry, "style", "") == "value":
                    yield entry
