"""Conversations ahead of their items, against the bare floor of the same run."""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import command_of_pytest, measure

pytestmark = pytest.mark.benchmark

CONVERSATIONS, TURNS, WAIT, CONCURRENCY = 200, 6, 0.05, 32
AGENT = f"""
import asyncio, sys, time

class Waiting:
    async def reply(self, message):
        if not hasattr(sys, "first_call"):
            sys.first_call = time.perf_counter()
        await asyncio.sleep({WAIT})
        return "the answer is here"
"""
CONFTEST = """
import sys, time

last = 0.0

def pytest_runtest_logreport(report):
    global last
    last = time.perf_counter()

def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"JOB {last - sys.first_call:.4f}")
"""
FLOOR = f"""
import asyncio, time

async def conversation(slots):
    async with slots:
        for _ in range({TURNS}):
            await asyncio.sleep({WAIT})

async def main():
    slots = asyncio.Semaphore({CONCURRENCY})
    began = time.perf_counter()
    await asyncio.gather(*(conversation(slots) for _ in range({CONVERSATIONS})))
    print(f"JOB {{time.perf_counter() - began:.4f}}")

asyncio.run(main())
"""


def suite(personas: int) -> str:
    lines = [
        "dialeval: 1",
        f"task: {{id: speed, max_rounds: {TURNS}}}",
        "agents: {waiting: {use: 'python:agent.py:Waiting'}}",
        f"trials: {CONVERSATIONS // personas}",
        "rubrics:",
        "  - {id: a, dimension: completion, keyword: {any: [answer]}}",
        "  - {id: b, dimension: robustness, not: {keyword: {any: [nope]}}}",
        "  - {id: c, dimension: safety, not: {keyword: {any: [promise]}}}",
        "personas:",
    ]
    script = (
        "{states: {start: {say: [hello there, hi you], next: ["
        "{to: bye, when: {keyword: {any: [goodbye]}}}, {to: start}]}, "
        "bye: {say: [bye], end: true}}}"
    )
    lines += [f"  - {{id: p{each}, script: {script}}}" for each in range(personas)]
    return "\n".join(lines) + "\n"


def job(output: str) -> float:
    found = re.search(r"JOB ([\d.]+)", output)
    assert found, output
    return float(found[1])


def test_200_conversations_of_3_rubrics(
    tmp_path: Path, record: Callable[[str, str, str], None]
) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "floor.py").write_text(FLOOR, encoding="utf-8")
    (tmp_path / "speed.dialeval.yaml").write_text(suite(40), encoding="utf-8")
    command = command_of_pytest("--dialeval-concurrency", str(CONCURRENCY))
    ratios = []
    for _ in range(3):
        floor = job(measure([sys.executable, "floor.py"], tmp_path).output)
        ours = measure(command, tmp_path)
        assert ours.status == 0, ours.output
        assert "600 passed" in ours.output
        ratios.append(job(ours.output) / floor)
    ratio = statistics.median(ratios)
    record("200 conversations x 3 rubrics, 50 ms turns: job / floor", "<= 1.25", f"{ratio:.2f}")
    assert ratio <= 1.25
