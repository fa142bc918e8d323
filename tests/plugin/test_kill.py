"""kill -9 at any moment: what was reported is on disk and whole, the summary is whole or absent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.runs.ledger import facts, read_ledger
from pytest_dialeval.runs.summary import Summary
from pytest_dialeval.traces.reader import read_trace

from .conftest import Shop, persona, rubric

pytestmark = pytest.mark.slow

MOMENTS = 100
GOLDEN = 0.6180339887498949  # multiples of it, modulo 1, fill an interval evenly
CONFTEST = """
import os, signal, threading

def pytest_runtest_logreport(report):
    if report.when == "call":
        os.write(1, f"\\nREPORTED {report.dialeval['trial']}\\n".encode())

def pytest_runtest_setup(item):
    if not hasattr(os, "dialeval_killer"):
        os.dialeval_killer = threading.Timer(
            float(os.environ["KILL_AFTER"]), os.kill, (os.getpid(), signal.SIGKILL)
        )
        os.dialeval_killer.daemon = True
        os.dialeval_killer.start()
"""
AGENT = """
import asyncio

async def answer(message):
    await asyncio.sleep(0.01)
    return "Hello!"
"""


def run(shop: Shop, kill_after: float) -> tuple[int, list[str], float]:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "dialeval", "-s", "--dialeval-concurrency=8"],
        cwd=shop.path,
        capture_output=True,
        text=True,
        timeout=60,
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "KILL_AFTER": str(kill_after),
        },
    )
    lines = done.stdout.splitlines()
    reported = [line.split()[1] for line in lines if line.startswith("REPORTED ")]
    return done.returncode, reported, time.perf_counter() - began


def check(directory: Path, reported: list[str]) -> None:
    """Everything that a killed run left can be read, and nothing reported is missing."""
    known = facts(directory.glob("ledger.*.jsonl"))
    for trial in reported:
        assert known[trial].verdicts, trial
        assert read_trace(directory / "traces" / f"{trial}.jsonl").transcript.finished
    for path in directory.glob("traces/*.jsonl"):
        assert read_trace(path).transcript.finished
    for path in directory.glob("traces/*.part"):
        if path.name.endswith(".jsonl.part") and path.stat().st_size:
            try:
                read_trace(path)
            except TranscriptError as error:  # not one whole line yet
                assert b"\n" not in path.read_bytes(), error
    for path in directory.glob("traces/*.result.json"):
        assert json.loads(path.read_text(encoding="utf-8"))["verdicts"]
    for path in directory.glob("ledger.*.jsonl"):
        list(read_ledger(path))
    summary = directory / "summary.json"
    if summary.exists():
        Summary.model_validate(json.loads(summary.read_text(encoding="utf-8")))
    assert json.loads((directory / "plan.json").read_text(encoding="utf-8"))["sources"]


def test_kill_9_at_100_moments(shop: Shop) -> None:
    shop.write("conftest.py", CONFTEST)
    shop.write("agent.py", AGENT)
    shop.suite(
        agents={"py": {"use": "python:agent.py:answer"}},
        personas=[persona("one", "Hi", "and", "bye"), persona("two", "Hi", "bye")],
        rubrics=[rubric("greet"), rubric("again", "Hello!")],
        trials=40,
    )
    status, reported, _ = run(shop, kill_after=60)
    assert status == 0
    assert len(reported) == 160
    events = (shop.last_run / "traces").glob("*.jsonl")
    span = max(each.stat().st_mtime for each in events) - (
        (shop.last_run / "manifest.json").stat().st_mtime
    )
    killed = 0
    for moment in range(MOMENTS):
        before = set(shop.runs)
        after = (moment * GOLDEN % 1) * (span + 0.2)
        status, reported, _ = run(shop, after)
        killed += status == -signal.SIGKILL
        for directory in set(shop.runs) - before:
            if (directory / "manifest.json").exists():
                check(directory, reported)
            else:
                assert not reported
    assert killed >= MOMENTS // 2
