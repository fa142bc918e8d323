"""The example suites do what docs/explanation/examples.md says of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .pages import ROOT

pytestmark = pytest.mark.slow

CALLS = ("express_rider", "live_upgrade", "rider_contract")
WORK = ("cart_total", "log_reader")
JUDGED = {f"{each}_judged" for each in (*CALLS, *WORK)}
ATTITUDES = {"cooperative", "reluctant", "hesitant", "argumentative", "adversarial"}


def run(folder: Path, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    """Exit status, output and summary of all suites in a copy."""
    shutil.copytree(ROOT / "example_suites", folder, ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "dialeval", "-q", "--tb=no", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    [summary] = folder.glob(".dialeval/runs/*/summary.json")
    return done.returncode, done.stdout, json.loads(summary.read_text(encoding="utf-8"))


def test_by_default_they_pass(tmp_path: Path) -> None:
    status, _, summary = run(tmp_path / "examples")
    assert status == 0
    assert {each["id"] for each in summary["tasks"]} == {
        *CALLS,
        "support",
        *JUDGED,
        "support_judged",
        *WORK,
    }
    assert summary["verdicts"]["failed"] == summary["verdicts"]["unmeasured"] == 0
    for task in summary["tasks"]:
        for agent in task["agents"]:
            assert agent["pass_rate"] == 1
            if task["id"] in CALLS:
                assert {each["id"] for each in agent["personas"]} == ATTITUDES
                assert agent["safety_exercised"] == agent["trials"]


def test_the_agent_of_before_fails_in_every_call_and_sometimes_only(tmp_path: Path) -> None:
    status, output, summary = run(tmp_path / "examples", "--dialeval-agent", "baseline")
    assert status == 1
    for each in ("support", "support_judged", *JUDGED, *WORK):
        assert f"{each}.dialeval.yaml left out: it declares " in output
    assert {each["id"] for each in summary["tasks"]} == set(CALLS)
    assert summary["verdicts"]["unmeasured"] == 0
    for task in summary["tasks"]:
        [agent] = task["agents"]
        assert agent["safety_breaches"] > 0
        failing = [each for each in agent["rubrics"] if each["passed"] < each["n"]]
        assert {each["dimension"] for each in failing} == {"completion", "robustness", "safety"}
        assert any(each["passed"] for each in failing), "faults come and go"
