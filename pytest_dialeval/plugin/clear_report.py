"""What a report tells, text by text: pytest's own account of a failure quotes turns too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Change = Callable[[str], str]


def clear_report(report: Any, change: Change) -> None:
    """Change all that a report says: its failure and its sections."""
    longrepr = report.longrepr
    if longrepr is None and not report.sections:
        return
    if isinstance(longrepr, str):
        report.longrepr = change(longrepr)
    elif isinstance(longrepr, tuple):
        path, line, reason = longrepr
        report.longrepr = (path, line, change(reason))
    else:
        each_text(longrepr, change)
    report.sections = [(name, change(text)) for name, text in report.sections]


def each_text(longrepr: Any, change: Change) -> None:
    """Change what stands in a traceback of pytest's."""
    alone = getattr(longrepr, "reprtraceback", None), getattr(longrepr, "reprcrash", None)
    for traceback, crash, *_ in getattr(longrepr, "chain", [alone]):  # --tb=native has no chain
        for entry in getattr(traceback, "reprentries", ()):
            entry.lines = [change(each) for each in entry.lines]
            if (shown := getattr(entry, "reprlocals", None)) is not None:
                shown.lines = [change(each) for each in shown.lines]
        if crash is not None:
            crash.message = change(crash.message)
