"""The example suites that models play: the same from their cassettes, offline, in any order."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .pages import ROOT

pytestmark = pytest.mark.slow

SUITES = sorted((ROOT / "example_suites").glob("*/*_judged.dialeval.yaml"))
MOST_BYTES = 300_000
# A plugin that lets no connection out, to this machine neither.
OFFLINE = """
import socket


def refuse(self, address):
    raise AssertionError(f"a connection to {address}")


for each in ("connect", "connect_ex"):
    setattr(socket.socket, each, refuse)
"""

Verdicts = dict[tuple[str, str], tuple[str, str]]


def run(folder: Path, *arguments: str) -> tuple[Verdicts, str]:
    """Trial and rubric -> status and reason, of the judged suites in a copy; and the output."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "example_suites", folder / "suites", ignore=ignored)
    (folder / "offline.py").write_text(OFFLINE, encoding="utf-8")
    files = [f"suites/{each.parent.name}/{each.name}" for each in SUITES]
    command = [sys.executable, "-m", "pytest", "-p", "offline", "-p", "dialeval", "-q", "--tb=no"]
    done = subprocess.run(
        [*command, "--rootdir=.", *arguments, *files],
        cwd=folder,
        capture_output=True,
        text=True,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "HTTP_PROXY": "http://127.0.0.1:9",
        },
    )
    assert done.returncode in (0, 10), done.stdout + done.stderr
    [summary] = folder.glob(".dialeval/runs/*/summary.json")
    found: Verdicts = {}
    for path in summary.parent.glob("ledger.*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)["entry"]
            if entry["kind"] == "verdict":
                verdict = entry["value"]
                key = entry["trial"], verdict["rubric"]
                found[key] = verdict["status"], verdict["reason"]
    return found, done.stdout


def test_each_folder_has_one_with_a_cassette_that_is_small() -> None:
    folders = [each for each in (ROOT / "example_suites").glob("*/") if each.name[0].isalpha()]
    assert [each.parent.name for each in SUITES] == sorted(each.name for each in folders)
    assert len(SUITES) == 6
    for suite in SUITES:
        cassette = suite.with_name(suite.name.replace(".dialeval.yaml", ".cassette.jsonl"))
        assert 0 < cassette.stat().st_size < MOST_BYTES


def test_they_pass_offline_and_in_any_order_all_the_same(tmp_path: Path) -> None:
    pytest.importorskip("xdist", reason="needs pytest-xdist")
    pytest.importorskip("pytest_randomly", reason="needs pytest-randomly")
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()

    plain, output = run(tmp_path / "one")
    shuffled, _ = run(tmp_path / "two", "-p", "xdist", "-n", "2", "-p", "randomly")

    assert plain == shuffled
    statuses = {status for status, _ in plain.values()}
    assert statuses == {"passed", "not_applicable"}, output


def test_another_judge_is_no_judge_in_the_cassette(tmp_path: Path) -> None:
    found, output = run(tmp_path, "--dialeval-model", "judge=ollama:another")

    assert "failed" not in {status for status, _ in found.values()}, output
    unscored = [reason for status, reason in found.values() if status == "unscored"]
    assert unscored
    for reason in unscored:
        assert "has no reply for judge" in reason
        assert "what differs: model" in reason
