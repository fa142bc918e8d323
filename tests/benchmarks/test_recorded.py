"""Recorded trials against as many empty parametrised functions."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import command_of_pytest, measure

pytestmark = pytest.mark.benchmark

TRIALS, RUBRICS = 2_500, 4
SUITE = """\
dialeval: 1
task: {id: recorded}
transcripts: [{format: openai, path: talks.jsonl}]
rubrics:
  - {id: a, dimension: completion, keyword: {any: [order]}}
  - {id: b, dimension: robustness, length: {max_chars: 400}}
  - {id: c, dimension: safety, blacklist: {phrases: [we promise a refund]}}
  - {id: d, dimension: completion, recorded: {field: reward, min: 1}}
"""
EMPTY = """\
import pytest

@pytest.mark.parametrize("n", range(10_000))
def test_empty(n):
    pass
"""


def talk(number: int) -> str:
    messages = []
    for turn in range(4):
        messages.append({"role": "user", "content": f"where is order {number}, question {turn}?"})
        messages.append({"role": "assistant", "content": f"Your order {number} is on its way."})
    task, trial = divmod(number, 5)
    return json.dumps({"task_id": f"t{task}", "trial": trial, "reward": 1, "messages": messages})


def test_2500_recorded_trials(tmp_path: Path, record: Callable[[str, str, str], None]) -> None:
    ours_dir, theirs_dir = tmp_path / "ours", tmp_path / "theirs"
    ours_dir.mkdir()
    theirs_dir.mkdir()
    (ours_dir / "r.dialeval.yaml").write_text(SUITE, encoding="utf-8")
    talks = "\n".join(talk(each) for each in range(TRIALS)) + "\n"
    (ours_dir / "talks.jsonl").write_text(talks, encoding="utf-8")
    (theirs_dir / "test_empty.py").write_text(EMPTY, encoding="utf-8")
    ratios, peaks = [], []
    for _ in range(3):
        theirs = measure(command_of_pytest(), theirs_dir)
        ours = measure(command_of_pytest(), ours_dir)
        assert theirs.status == 0, theirs.output
        assert ours.status == 0, ours.output
        assert f"{TRIALS * RUBRICS} passed" in ours.output
        ratios.append(ours.wall / theirs.wall)
        peaks.append(ours.peak)
    ratio, peak = statistics.median(ratios), max(peaks)
    allowed = 110 + TRIALS * RUBRICS * 8 / 1024
    record("2 500 recorded trials x 4 rubrics / 10 000 functions", "<= 2", f"{ratio:.2f}")
    record("the same: peak memory", f"<= {allowed:.0f} MB", f"{peak:.0f} MB")
    assert ratio <= 2
    assert peak <= allowed
