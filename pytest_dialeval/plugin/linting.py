"""`dialeval lint`: a collect-only session that shows errors and notes and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.plugin.engine import ENGINE


class Lint:
    """Collects what collection says."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.notes: list[str] = []
        self.suites = 0

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            text = report.longrepr if isinstance(report.longrepr, str) else report.longreprtext
            self.errors.append(text)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        engine = session.config.stash.get(ENGINE, None)
        for source in engine.sources.values() if engine else ():
            self.suites += 1
            self.notes += map(str, source.suite.notes)


def lint_paths(paths: Sequence[Path]) -> int:
    """Print errors, then notes; 0 without errors, else 1."""
    found = Lint()
    arguments = ["--collect-only", "-qq", "--no-header", "--no-summary", "-p", "no:terminal"]
    status = pytest.main([*arguments, "-p", "no:cacheprovider", *map(str, paths)], plugins=[found])
    out = sys.stdout
    for text in [*found.errors, *dict.fromkeys(found.notes)]:
        out.write(f"{text}\n")
    if status == pytest.ExitCode.USAGE_ERROR:
        return 2
    if not found.errors and not found.suites:
        out.write("no suite found (they end in .dialeval.yaml)\n")
        return 1
    words = f"{len(found.notes)} notes" if found.notes else "nothing to note"
    if not found.errors:
        out.write(
            f"{found.suites} suite{'s' if found.suites != 1 else ''} without errors, {words}\n"
        )
    return 1 if found.errors else 0
