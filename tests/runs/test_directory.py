"""The folder of a run, beside others."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from pytest_dialeval.errors import RunError
from pytest_dialeval.runs.directory import ALIVE, KEPT, RunDirectory, prune
from pytest_dialeval.runs.run_id import new_run_id

RUN = "20260102-030405-"


def run_id(number: int) -> str:
    return f"{RUN}{number:06x}"


def finished(runs: Path, number: int) -> Path:
    """A run that ended."""
    path = runs / run_id(number)
    (path / "traces").mkdir(parents=True)
    (path / "summary.json").write_text("{}", encoding="utf-8")
    return path


def aged(path: Path) -> Path:
    """As though nobody had touched it for longer than any run waits."""
    old = path.stat().st_mtime - ALIVE - 1
    for each in (*path.rglob("*"), path):
        os.utime(each, (old, old))
    return path


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / ".dialeval" / "runs"


def test_run_ids_sort_by_time_and_are_unique() -> None:
    # Birthday: of a thousand within one second two would be equal once in 34 tries.
    ids = [new_run_id() for _ in range(10)]
    assert len(set(ids)) == 10
    assert all(re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}", each) for each in ids)
    assert [each[:15] for each in ids] == sorted(each[:15] for each in ids)


def test_it_is_made_with_its_gitignore(runs: Path) -> None:
    directory = RunDirectory(runs / run_id(1))
    directory.create()
    directory.create()
    assert directory.run_id == run_id(1)
    assert directory.traces.is_dir()
    ignore = (runs / ".gitignore").read_text(encoding="utf-8")
    assert ignore.splitlines()[-1] == "*"


def test_a_folder_of_the_user_s_gets_no_gitignore(tmp_path: Path) -> None:
    # `--dialeval-runs .` would hide the whole project from git
    RunDirectory(tmp_path / run_id(1)).create()
    assert not (tmp_path / ".gitignore").exists()


def test_the_last_twenty_are_kept(runs: Path) -> None:
    for number in range(25):
        finished(runs, number)
    RunDirectory(runs / run_id(99)).create()
    kept = sorted(each.name for each in runs.iterdir() if each.is_dir())
    assert KEPT == 20
    assert kept == [*(run_id(number) for number in range(6, 25)), run_id(99)]


def test_the_own_run_is_kept_even_where_clocks_disagree(runs: Path) -> None:
    for number in range(100, 130):
        finished(runs, number)
    old = RunDirectory(runs / run_id(1))
    old.create()
    assert old.traces.is_dir()


def test_only_folders_of_ours_are_removed(runs: Path) -> None:
    theirs = [runs / "00-project" / "traces", runs / "20260102-notes" / "traces", runs / run_id(0)]
    for each in theirs:
        each.mkdir(parents=True)
    (runs / "0.txt").write_text("x", encoding="utf-8")
    elsewhere = runs.parent / "elsewhere"
    (elsewhere / "traces").mkdir(parents=True)
    (elsewhere / "summary.json").touch()
    (runs / run_id(1)).symlink_to(elsewhere)
    for number in range(10, 40):
        finished(runs, number)
    prune(runs, keep=runs / run_id(39))
    assert all(each.is_dir() for each in (*theirs, elsewhere / "traces"))
    assert (runs / run_id(1)).is_symlink()
    assert (runs / "0.txt").exists()
    assert not (runs / run_id(19)).exists()
    assert (runs / run_id(20)).exists()


def test_a_run_that_may_still_go_is_spared(runs: Path) -> None:
    going, dead = runs / run_id(1), runs / run_id(2)
    (going / "traces").mkdir(parents=True)
    (dead / "traces").mkdir(parents=True)
    aged(dead)
    for number in range(10, 40):
        finished(runs, number)
    prune(runs, keep=runs / run_id(39))
    assert going.exists()
    assert not dead.exists()


def test_a_ledger_that_grows_shows_that_a_run_goes_on(runs: Path) -> None:
    going = runs / run_id(1)
    (going / "traces").mkdir(parents=True)
    aged(going)
    (going / "ledger.main.jsonl").write_text("x", encoding="utf-8")
    os.utime(going, (1, 1))
    for number in range(10, 40):
        finished(runs, number)
    prune(runs, keep=runs / run_id(39))
    assert going.exists()


def test_a_folder_that_another_process_removes_meanwhile(runs: Path) -> None:
    prune(runs / "nowhere", keep=runs)
    assert not runs.exists()


CREATE = """
import sys
from pathlib import Path
from pytest_dialeval.runs.directory import RunDirectory

sys.stdin.read(1)  # both begin at once
for number in range(20):
    directory = RunDirectory(Path(sys.argv[1]) / f"20260102-030405-{number:06x}")
    directory.create()
    directory.write(f"plan.{sys.argv[2]}", {"number": number})
    directory.write("summary", {"by": sys.argv[2]})
"""


def test_two_processes_make_the_same_runs_and_remove_the_same_old_ones(runs: Path) -> None:
    old = runs / "20260101-030405-000000"
    for number in range(40):
        (runs / f"{old.name[:-6]}{number:06x}" / "traces" / "x").mkdir(parents=True)
        (runs / f"{old.name[:-6]}{number:06x}" / "summary.json").touch()
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", CREATE, str(runs), name],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("gw0", "gw1")
    ]
    for each in workers:
        assert each.stdin is not None
        each.stdin.write("g")
        each.stdin.flush()
    told = [each.communicate(timeout=30)[1] for each in workers]
    last = runs / run_id(19)
    assert sorted(each.name for each in last.iterdir()) == [
        "plan.gw0.json",
        "plan.gw1.json",
        "summary.json",
        "traces",
    ], told
    assert json.loads((last / "summary.json").read_bytes())["by"] in ("gw0", "gw1")
    assert sorted(each.name for each in runs.iterdir()) == [run_id(each) for each in range(20)]
    assert not list(runs.rglob("*.part"))


def test_events_are_appended_as_lines(runs: Path) -> None:
    directory = RunDirectory(runs / run_id(1))
    directory.create()
    directory.event("warning", text="slow\nvery", trial="t-1")
    directory.event("stop", type="x", time="never", label="\udcff")
    lines = (directory.path / "events.jsonl").read_text(encoding="utf-8").splitlines()
    first, second = map(json.loads, lines)
    assert (first["type"], first["text"], first["trial"]) == ("warning", "slow\nvery", "t-1")
    assert datetime.fromisoformat(first["time"]).tzinfo is not None
    assert (second["type"], second["label"]) == ("stop", "\ufffd")
    assert second["time"] != "never"


def test_results_stand_beside_traces(runs: Path) -> None:
    directory = RunDirectory(runs / run_id(1))
    directory.create()
    directory.write_result("t.a.p-1.0123456789", {"score": None})
    directory.write("plan", {"a": 1})
    assert json.loads((directory.traces / "t.a.p-1.0123456789.result.json").read_bytes()) == {
        "score": None
    }
    assert json.loads((directory.path / "plan.json").read_bytes()) == {"a": 1}


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("x", encoding="utf-8")
    with pytest.raises(RunError, match=r"cannot be written: .*--dialeval-runs DIR"):
        RunDirectory(tmp_path / "runs" / run_id(1)).create()
    with pytest.raises(RunError, match="events"):
        RunDirectory(tmp_path / "nowhere").event("warning")
