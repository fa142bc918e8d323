"""What a user names as a run: its folder, its id, or a baseline file."""

from __future__ import annotations

from os.path import exists
from pathlib import Path

from pytest_dialeval.errors import RunError
from pytest_dialeval.runs.baseline import Baseline, baseline_from, read_baseline
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.figures import score_source
from pytest_dialeval.runs.record import read_facts, read_plan
from pytest_dialeval.runs.stored import find_run
from pytest_dialeval.traces.disk import nearest


def open_results(written: str, folder: Path, runs: Path) -> Baseline:
    """The results of a run or a baseline; RunError says what is there instead."""
    path = folder / written
    try:
        if path.is_file():
            return read_baseline(path)
    except OSError as error:
        raise RunError(f"{written}: cannot be read: {error.strerror}") from None
    if path.suffix == ".json" and not exists(path):
        raise RunError(f"there is no baseline {written!r}{nearest(path)}")
    return _results(RunDirectory(find_run(written, folder, runs)))


def _results(directory: RunDirectory) -> Baseline:
    sources, facts = read_plan(directory.path / "plan.json").sources, read_facts(directory)
    return baseline_from(directory, [(each, score_source(each, facts)) for each in sources])
