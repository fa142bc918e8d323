"""A disk that does not take what is written: one clear message, and nothing recorded is lost."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.traces import writer

from .conftest import Shop, rubric

FARM = rubric("farm", "tractor")


@pytest.mark.parametrize("place", [".dialeval", ".dialeval/runs"])
def test_a_file_in_the_folders_place_ends_the_run_with_one_message(shop: Shop, place: str) -> None:
    shop.suite(trials=3)
    shop.write(place, "in the way")

    result = shop.run()

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str() + result.stderr.str()
    assert text.count("cannot be written") == 1
    assert "--dialeval-runs" in text or "free" in text or "folder" in text
    assert "Traceback" not in text
    assert (shop.path / place).read_text(encoding="utf-8") == "in the way"


@pytest.mark.slow
def test_workers_that_cannot_make_the_folder_leave_the_controller_no_traceback(shop: Shop) -> None:
    shop.suite(trials=3)
    shop.write(".dialeval", "in the way")
    result = shop.pytester.runpytest_subprocess("-p", "xdist", "-n", "2", "-p", "dialeval")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    text = result.stdout.str() + result.stderr.str()
    assert "cannot be written" in text
    assert "Traceback" not in text


def test_a_folder_given_by_option_is_named(shop: Shop) -> None:
    shop.suite()
    shop.write("blocked", "in the way")

    result = shop.run("--dialeval-runs", "blocked/runs")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["*blocked/runs/*cannot be written*"])


def test_other_tests_before_it_keep_their_results(shop: Shop) -> None:
    shop.write("test_a.py", "def test_a(): ...\n")
    shop.suite("test_b")
    shop.write(".dialeval", "in the way")

    result = shop.run("test_a.py", "test_b.dialeval.yaml")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["test_a.py .*"])


class FullDisk:
    """`os` whose disk is full once so many bytes are written to one file."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.written: dict[int, int] = {}

    def write(self, file: int, data: bytes | memoryview) -> int:
        done = self.written.get(file, 0)
        if done + len(data) > self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.written[file] = done + len(data)
        return os.write(file, data)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


def test_a_full_disk_voids_trials_and_blames_nobody(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.suite(rubrics=[rubric("greet"), rubric("lamp", "lamp")], trials=2)
    monkeypatch.setattr(writer, "os", FullDisk(room=0))

    result = shop.run()

    result.assert_outcomes(errors=4)
    assert result.ret == 10
    result.stdout.fnmatch_lines(
        ["unmeasured: *traces/shop.clerk.buyer-1.*No space left on device* (harness_error)"]
    )
    assert shop.summary["outcomes"]["harness_error"] == 2
    assert "Traceback" not in result.stdout.str()


def test_what_was_written_before_stays_readable(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.suite()
    monkeypatch.setattr(writer, "os", FullDisk(room=900))

    shop.run().assert_outcomes(errors=1)

    [path] = (shop.last_run / "traces").glob("*.jsonl*")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines
    assert all(each.startswith("{") and each.endswith("}") for each in lines)


def refusing(name: str) -> Any:
    """Path.write_bytes that meets a full disk at files of that name."""
    real = Path.write_bytes

    def write_bytes(self: Path, data: Any) -> int:
        if self.name.startswith(name):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, data)

    return write_bytes


def test_a_summary_that_cannot_be_written_is_said_and_no_success(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.suite()
    monkeypatch.setattr(Path, "write_bytes", refusing("summary.json"))

    result = shop.run()

    assert result.ret not in (0, 1)
    result.stdout.fnmatch_lines(["*summary.json: cannot be written*No space left on device*"])
    result.stdout.fnmatch_lines(["shop *clerk *1.000*"])  # the figures are still shown
    assert len(shop.traces()) == 1


@pytest.mark.parametrize("recorded", [False, True])
def test_results_that_cannot_be_written_change_no_verdict(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, recorded: bool
) -> None:
    if recorded:
        said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
        shop.write("talk.jsonl", json.dumps({"task_id": "a", "messages": said}))
        sources = [{"format": "openai", "path": "talk.jsonl"}]
        shop.suite(agents=None, personas=None, transcripts=sources, rubrics=[FARM])
    else:
        shop.suite(rubrics=[FARM])
    monkeypatch.setattr(Path, "write_bytes", refusing("shop."))

    result = shop.run()

    result.assert_outcomes(failed=1)  # the ledger has it
    assert shop.summary["verdicts"]["failed"] == 1
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize("name", ["manifest.json", "plan.json"])
def test_a_plan_that_cannot_be_written_ends_the_run(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    shop.suite(trials=3)
    monkeypatch.setattr(Path, "write_bytes", refusing(name))

    result = shop.run()

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines([f"*{name}: cannot be written*"])
    assert "Traceback" not in result.stdout.str()


def test_an_unreadable_suite_is_a_collection_error(shop: Shop) -> None:
    (shop.path / "shop.dialeval.yaml").mkdir()
    shop.suite("good")

    shop.run("good.dialeval.yaml").assert_outcomes(passed=1)
