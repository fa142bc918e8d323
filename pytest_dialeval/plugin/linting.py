"""`dialeval lint`: a collect-only session that shows errors and notes and nothing else."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

import pytest

from pytest_dialeval.plugin import MISSPELT, SUFFIX
from pytest_dialeval.plugin.choice import FIXTURE
from pytest_dialeval.plugin.engine import ENGINE

if TYPE_CHECKING:
    from pytest_dialeval.plugin.sources import LoadedSource

# Named, because PYTEST_DISABLE_PLUGIN_AUTOLOAD may keep plugins out; plain asserts, because pytest
# warns of a plugin that was imported before it, and warnings may be errors.
COLLECTING = ("-p", "dialeval", "-p", "no:cacheprovider", "--assert=plain", "--collect-only", "-q")


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
        sources = list(engine.sources.values()) if engine else []
        self.suites = len({each.suite.path for each in sources})
        self.notes = [str(note) for each in sources for note in each.suite.notes]
        for each in sources:
            self.errors += agent_errors(each)


def agent_errors(source: LoadedSource) -> list[str]:
    """What keeps the suite's agents from being made; a program is not started for it."""
    from pytest_dialeval.errors import DialevalError
    from pytest_dialeval.plugin.making import make_agent

    found = []
    for spec in () if source.recorded else source.agents.values():
        if spec.use != FIXTURE:
            try:
                make_agent(source, spec)
            except DialevalError as error:
                found.append(str(error))
    return found


def lint_paths(paths: Sequence[Path]) -> int:
    """Print errors, then notes; 0 without errors, 1 with some, 2 where pytest itself refuses."""
    found, status = Lint(), pytest.ExitCode.OK
    found.errors += [
        f"{each}: suites end in {SUFFIX}; rename the file" for each in paths if _astray(each)
    ]
    if kept := [str(each) for each in paths if not _astray(each)]:
        # The terminal's plugin must stay: addopts may need it. What other plugins warn of when
        # they are loaded is no remark on a suite; kept, for pytest 8 shows them whatever is asked.
        with redirect_stdout(io.StringIO()), catch_warnings(record=True):
            simplefilter("ignore")
            status = pytest.ExitCode(pytest.main([*COLLECTING, *kept], plugins=[found]))
    # A decorated function brings what its suite says once more.
    if isinstance(sys.stdout, io.TextIOWrapper):  # an ASCII terminal shows 退款 as it can
        sys.stdout.reconfigure(errors="backslashreplace")
    for text in dict.fromkeys([*found.errors, *found.notes]):
        sys.stdout.write(f"{text}\n")
    if status == pytest.ExitCode.USAGE_ERROR:
        return 2
    if not found.errors:
        sys.stdout.write(f"{_verdict(found)}\n")
    return 1 if found.errors or not found.suites else 0


def _astray(path: Path) -> bool:
    """A file that pytest would not even look into."""
    return path.is_file() and path.suffix != ".py" and not path.name.endswith((SUFFIX, MISSPELT))


def _verdict(found: Lint) -> str:
    if not found.suites:
        return "no suite found (they end in .dialeval.yaml)"
    notes = len(dict.fromkeys(found.notes))
    words = f"{notes} note{'s' if notes > 1 else ''}" if notes else "nothing to note"
    return f"{found.suites} suite{'s' if found.suites > 1 else ''} without errors, {words}"
