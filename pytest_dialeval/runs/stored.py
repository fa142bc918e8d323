"""A run that is over, opened so that its conversations can be graded again."""

from __future__ import annotations

from hashlib import sha256
from os.path import isdir
from pathlib import Path

from pytest_dialeval.errors import RunError
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.transcript import Recording
from pytest_dialeval.runs.directory import RunDirectory, known_runs, no_such_run
from pytest_dialeval.runs.record import read_facts
from pytest_dialeval.traces.disk import read_file
from pytest_dialeval.traces.reader import parse_trace


def find_run(written: str, folder: Path, runs: Path) -> Path:
    """The folder of a run, given as a path or by its id; RunError says what is there instead."""
    for path in (folder / written, runs / written):
        if isdir(path / "traces"):
            return path
    raise RunError(no_such_run(written, runs, also="here or "))


def last_run(runs: Path) -> Path:
    """The newest run of a folder; RunError where it has none."""
    known = known_runs(runs)
    if not known:
        raise RunError(f"there is no run in {runs}; give the folder of runs with --runs DIR")
    return runs / known[-1]


class StoredRun:
    """The conversations of a run, by trial."""

    def __init__(self, path: Path) -> None:
        """RunError where its ledger can't be read."""
        self._directory = RunDirectory(path)
        self._facts = read_facts(self._directory)

    def recording(self, trial: PlannedTrial) -> Recording:
        """The trial's conversation; RunError where the run has none."""
        facts = self._facts.get(trial.id)
        name = facts.conversation.trace if facts and facts.conversation else None
        if name is None:
            why = "it was never held there, or its agent or suite had another name or definition"
            raise RunError(f"run {self._directory.run_id} has no trace of {trial.id}: {why}")
        path = self._directory.traces / name
        data = read_file(path)
        trace = parse_trace(data, path)
        digest = sha256(data).hexdigest()
        return Recording(trial.persona, trace.transcript, str(path), digest, 0, alone=True)
