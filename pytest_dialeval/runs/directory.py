"""The folder of one run, and how many runs are kept."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pytest_dialeval.records.wording import closest, meaning
from pytest_dialeval.runs.files import explained, write_bytes, write_json
from pytest_dialeval.traces.json_bytes import to_json

KEPT = 20
ALIVE = 24 * 3600  # seconds without a new line after which a run without summary counts as dead
_RUN_ID = re.compile("[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")
_GITIGNORE = b"# made by pytest-dialeval: runs are results, not sources\n*\n"


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """`.dialeval/runs/<run_id>/`; see docs/reference/run-directory.md."""

    path: Path

    @property
    def run_id(self) -> str:
        return self.path.name

    @property
    def traces(self) -> Path:
        return self.path / "traces"

    def create(self) -> None:
        """Make the folder and forget the oldest runs; harmless when another worker made it."""
        runs = self.path.parent
        with explained(self.path):
            ours = not runs.exists()  # a folder of the user's own keeps its own .gitignore
            self.traces.mkdir(parents=True, exist_ok=True)
        if ours:
            write_bytes(runs / ".gitignore", _GITIGNORE)
        prune(runs, keep=self.path)

    def write(self, name: str, value: object) -> None:
        """Write `<name>.json` atomically."""
        write_json(self.path / f"{name}.json", value)

    def write_result(self, trial: str, result: Mapping[str, object]) -> None:
        """`traces/<trial>.result.json`: the verdicts and the score."""
        write_json(self.traces / f"{trial}.result.json", result)

    def event(self, kind: str, **fields: object) -> None:
        """Append one line to events.jsonl."""
        line = to_json({**fields, "type": kind, "time": datetime.now(UTC).isoformat()})
        path = self.path / "events.jsonl"
        with explained(path), path.open("ab", buffering=0) as file:
            file.write(line + b"\n")


def worker_order(path: Path) -> tuple[int, str]:
    """Files of workers in the order in which those began: gw10 replaced gw9, or came later."""
    return len(path.name), path.name


def known_runs(runs: Path) -> list[str]:
    """Ids of the runs of a folder, oldest first; ids know seconds alone, and two may share one."""
    found = [each for each in runs.glob("*") if (each / "traces").is_dir()]
    return [each.name for each in sorted(found, key=_age)]


def _age(run: Path) -> tuple[str, int]:
    began = 0
    with suppress(OSError):  # another session has just removed it, as the oldest
        began = (run / "traces").stat().st_ctime_ns
    return run.name.rpartition("-")[0], began


def no_such_run(written: str, runs: Path, *, also: str = "") -> str:
    """There is no such run: which is near, which is the last, and why it may be gone."""
    known = known_runs(runs)
    # All runs of a day are alike in half their name: only a slip of the pen is near.
    near = meaning(closest(written, known, cutoff=0.9))
    last = f"; the last one there is {known[-1]}" if known and not near else ""
    kept = f"only the last {KEPT} are kept: copy the folder of one that shall last"
    return f"there is no run {written!r} {also}in {runs}{near}{last} ({kept})"


def prune(runs: Path, *, keep: Path) -> None:
    """Remove all but the last 20 runs; only what a run of ours made, and none that may still go."""
    made = sorted(_made(runs), key=lambda each: each.name)
    for old in made[:-KEPT]:
        if old != keep and not _going(old):
            shutil.rmtree(old, ignore_errors=True)


def _made(runs: Path) -> Iterator[Path]:
    """Run folders: the user's own folders beside them must never match."""
    with suppress(OSError):
        for each in runs.iterdir():
            if (
                _RUN_ID.fullmatch(each.name)
                and not each.is_symlink()
                and (each / "traces").is_dir()
            ):
                yield each


def _going(run: Path) -> bool:
    """Whether another process may still be at it: no summary yet, and touched lately."""
    if (run / "summary.json").exists():
        return False
    touched = 0.0
    for each in (run, run / "traces", *run.glob("ledger.*.jsonl")):
        with suppress(OSError):
            touched = max(touched, each.stat().st_mtime)
    return time.time() - touched < ALIVE
