"""How fast a run stops."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import command_of_pytest, measure

pytestmark = pytest.mark.benchmark

AGENT = """
import asyncio

class Agent:
    first = True

    async def reply(self, message):
        if Agent.first:
            Agent.first = False
            return "What?"
        await asyncio.sleep(60)
"""
CONFTEST = """
import time

failed = 0.0

def pytest_runtest_logreport(report):
    global failed
    if report.failed:
        failed = time.perf_counter()

def pytest_unconfigure():
    print(f"STOPPED {time.perf_counter() - failed:.4f}")
"""
SUITE = """\
dialeval: 1
task: {id: stop}
agents: {agent: {use: "python:agent.py:Agent"}}
personas: [{id: one, script: {states: {start: {say: [hi], end: true}}}}]
rubrics: [{id: a, dimension: completion, keyword: {any: [hello]}}]
trials: 64
"""


def test_x_stops_within_a_second(tmp_path: Path, record: Callable[[str, str, str], None]) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "s.dialeval.yaml").write_text(SUITE, encoding="utf-8")
    ran = measure(command_of_pytest("-x", "-s", "--dialeval-concurrency", "16"), tmp_path)
    assert ran.status == 1, ran.output
    found = re.search(r"STOPPED ([\d.]+)", ran.output)
    assert found, ran.output
    record("-x: from the failure to the end", "<= 1 s", f"{float(found[1]):.2f} s")
    assert float(found[1]) <= 1
