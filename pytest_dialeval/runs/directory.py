"""The folder of one run, and how many runs are kept."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from pytest_dialeval.runs.files import explained, write_bytes, write_json

KEPT = 20
_GITIGNORE = b"# made by pytest-dialeval: runs are results, not sources\n*\n"


def new_run_id() -> str:
    """Sortable by time, unique between machines: `20261130-162155-3fa9c1`."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"


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
        with explained(self.path):
            self.traces.mkdir(parents=True, exist_ok=True)
        ignore = self.path.parent / ".gitignore"
        if not ignore.exists():
            write_bytes(ignore, _GITIGNORE)
        prune(self.path.parent, keep=self.path)

    def write(self, name: str, value: object) -> None:
        """Write `<name>.json` atomically."""
        write_json(self.path / f"{name}.json", value)

    def write_result(self, trial: str, result: Mapping[str, object]) -> None:
        """`traces/<trial>.result.json`: the verdicts and the score."""
        write_json(self.traces / f"{trial}.result.json", result)

    def event(self, kind: str, **fields: object) -> None:
        """Append one line to events.jsonl."""
        line = orjson.dumps(
            {"type": kind, "time": datetime.now(UTC).isoformat(), **fields}, default=str
        )
        path = self.path / "events.jsonl"
        with explained(path), path.open("ab") as file:
            file.write(line + b"\n")


def prune(runs: Path, *, keep: Path) -> None:
    """Remove all but the last 20 runs; only folders that a run of ours made."""
    made = [each for each in runs.iterdir() if each.is_dir() and (each / "traces").is_dir()]
    made.sort(key=lambda each: each.name)
    for old in made[: max(0, len(made) - KEPT)]:
        if old != keep:
            shutil.rmtree(old, ignore_errors=True)
