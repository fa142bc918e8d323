"""Two large runs side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pytest_dialeval.runs.comparing import compare
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.opening import open_results
from pytest_dialeval.runs.record import plan_document

from ..runs.samples import conversation, failed, passed, planned, rubric, source, written

pytestmark = pytest.mark.benchmark

CASES, TRIALS, RUBRICS = 1250, 4, 20


def stored(path: Path, share: float) -> None:
    """A run of 5 000 trials x 20 rubrics, as its plan and ledger hold it."""
    directory = RunDirectory(path)
    directory.create()
    rubrics = [rubric(f"r{each}") for each in range(RUBRICS)]
    names = [each.id for each in rubrics]
    trials = [
        planned(f"p{case}", number, rubrics=names)
        for case in range(CASES)
        for number in range(1, TRIALS + 1)
    ]
    directory.write("plan", plan_document([source(rubrics, trials)]))
    directory.write("manifest", {"settings": {}})
    met = np.random.default_rng(1).random((len(trials), RUBRICS)) < share
    lines = []
    for trial, row in zip(trials, met.tolist(), strict=True):
        lines.append((trial.id, conversation(trial.id)))
        lines += [
            (trial.id, passed(name) if good else failed(name))
            for name, good in zip(names, row, strict=True)
        ]
    written(path / "ledger.main.jsonl", *lines)


def test_two_runs_of_5000_trials(tmp_path: Path, record: Callable[[str, str, str], None]) -> None:
    for name, share in (("before", 0.97), ("after", 0.96)):
        stored(tmp_path / name, share)
    began = time.perf_counter()
    before, after = (open_results(each, tmp_path, tmp_path) for each in ("before", "after"))
    read = time.perf_counter() - began
    found = compare(before, after, draws=10_000)
    took = time.perf_counter() - began
    assert len(found.agents[0].rubrics) == RUBRICS
    assert found.agents[0].overall[0].trials == (5000, 5000)
    what = "two runs of 5 000 trials x 20 rubrics compared, 10 000 draws"
    record(what, "<= 15 s", f"{took:.1f} s, of it {read:.1f} s to read them")
    assert took <= 15
