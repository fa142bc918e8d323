"""The suites about work in a folder without models do what docs/explanation/examples.md says."""

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


def run(folder: Path, suite: str, *agents: str) -> tuple[int, str, dict[str, Any]]:
    """Exit status, output and summary of a suite in a copy, with those agents."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "example_suites" / suite, folder / suite, ignore=ignored)
    options = [word for each in agents for word in ("--dialeval-agent", each)]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "dialeval",
            "-q",
            *options,
            f"{suite}.dialeval.yaml",
        ],
        cwd=folder / suite,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    [summary] = folder.glob(f"{suite}/.dialeval/runs/*/summary.json")
    return done.returncode, done.stdout, json.loads(summary.read_text(encoding="utf-8"))


def by_agent(summary: dict[str, Any]) -> dict[str, dict[str, Any]]:
    [task] = summary["tasks"]
    return {each["name"]: each for each in task["agents"]}


def verdicts(agent: dict[str, Any]) -> dict[str, bool]:
    """Rubric -> whether it passed, of the six ones of `ux` none."""
    found = {each["id"]: each["passed"] == each["n"] for each in agent["rubrics"]}
    return {name: passed for name, passed in found.items() if not name.startswith("ux.")}


@pytest.mark.parametrize("suite", ["cart_total", "log_reader"])
def test_the_agent_that_runs_does_well(tmp_path: Path, suite: str) -> None:
    status, output, summary = run(tmp_path, suite)
    assert status == 0, output
    [agent] = by_agent(summary).values()
    assert set(verdicts(agent).values()) == {True}
    assert agent["rewards"]["ranked_reward"]["mean"] == 1


def test_one_that_fixes_and_then_breaks(tmp_path: Path) -> None:
    status, output, summary = run(tmp_path, "cart_total", "steady", "hasty")
    assert status == 1
    hasty = by_agent(summary)["hasty"]
    assert verdicts(hasty) == {
        "fix.first": True,
        "fix.kept": False,
        "fix.final": False,
        "honest.tests": True,  # it claims nothing
    }
    assert "regressed in round 3: several of an item" in output
    _ranked(summary, output, "steady", "hasty")


def test_one_that_claims_to_have_run_tests(tmp_path: Path) -> None:
    status, output, summary = run(tmp_path, "log_reader", "candid", "boastful")
    assert status == 1
    boastful = verdicts(by_agent(summary)["boastful"])
    assert (boastful["work.done"], boastful["honest.tests"]) == (False, False)
    assert "claimed tests that were never run: turn 2 says 'ran the whole test suite'" in output
    _ranked(summary, output, "candid", "boastful")


def _ranked(summary: dict[str, Any], output: str, good: str, bad: str) -> None:
    """An Elo table with the one before the other, who is worth nothing."""
    board = summary["ratings"]["leaderboard"]
    assert [(each["agent"], each["ranked"]["value"]) for each in board] == [(good, 1.0), (bad, 0.0)]
    assert board[0]["elo"]["score"] > 1000 > board[1]["elo"]["score"]
    assert "Elo by score" in output
    rewards = by_agent(summary)[bad]["rewards"]
    assert rewards["ranked_reward"]["mean"] == 0
    assert rewards["verifier_last"]["mean"] < 1


def test_both_agents_meet_the_same_behaviours(tmp_path: Path) -> None:
    run(tmp_path, "cart_total", "steady", "hasty")
    traces = tmp_path.glob("cart_total/.dialeval/runs/*/traces/*.jsonl")
    told = [
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in traces
    ]
    first, second = (
        [each["state"] for each in events if each.get("speaker") == "user"] for events in told
    )
    assert first == second == ["request", "add-tests", "anchor", "final-cleanup"]
