"""Speed claims, as ratios measured in one run: `pytest -m benchmark tests/benchmarks`."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROWS: pytest.StashKey[list[tuple[str, str, str]]] = pytest.StashKey()


@dataclass(frozen=True)
class Measured:
    """One child process."""

    wall: float  # seconds
    cpu: float  # seconds, user and system
    peak: float  # MB
    status: int
    output: str


def measure(command: Sequence[str], cwd: Path, **environment: str) -> Measured:
    """Run it to its end; figures are the child's own (os.wait4)."""
    out = cwd / "measured.out"
    env = {**os.environ, "PYTHONHASHSEED": "0", **environment}
    for name in [each for each in env if each.startswith(("PYTEST_", "DIALEVAL_", "COV_"))]:
        del env[name]
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # users do not compile the plugin for every run
    began = time.perf_counter()
    with out.open("wb") as file:
        child = subprocess.Popen(command, cwd=cwd, stdout=file, stderr=file, env=env)
        _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    text = out.read_text(encoding="utf-8", errors="replace")
    cpu = usage.ru_utime + usage.ru_stime
    return Measured(wall, cpu, usage.ru_maxrss / 1024, child.returncode, text)


def command_of_pytest(*arguments: str) -> list[str]:
    """A pytest with this plugin and no other that would blur the figures."""
    others = ("asyncio", "randomly", "rerunfailures", "timeout", "cov", "recording", "xdist")
    blocked = [word for each in others for word in ("-p", f"no:{each}")]
    blocked += ["-p", "no:anyio", "-p", "no:hypothesispytest", "-p", "no:cacheprovider"]
    return [sys.executable, "-m", "pytest", "-q", *blocked, *arguments]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What grows this process comes last: a child's peak of memory begins with its parent's."""
    items.sort(key=lambda each: each.path.name == "test_comparison.py")


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Callable[[str, str, str], None]:
    """Put a row into the table that the session ends with: what, bound, measured."""
    rows = request.config.stash.setdefault(ROWS, [])
    return lambda what, bound, measured: rows.append((what, bound, measured))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows = terminalreporter.config.stash.get(ROWS, [])
    if rows:
        from tabulate import tabulate

        terminalreporter.section("benchmarks")
        cpus = os.cpu_count()
        terminalreporter.write_line(
            f"{cpus} CPUs, {platform.machine()}, {platform.system()}, "
            f"Python {platform.python_version()}, pytest {pytest.__version__}"
        )
        terminalreporter.write_line(tabulate(rows, ("what", "bound", "measured"), "pipe"))
