"""Where a run stands on disk, and what is written there before its first conversation."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_dialeval.plugin.engine import Engine
    from pytest_dialeval.plugin.options import Settings
    from pytest_dialeval.records.run import Source
    from pytest_dialeval.runs.directory import RunDirectory


def run_path(config: pytest.Config, settings: Settings) -> Path:
    """A new run's folder; nothing is made yet."""
    from pytest_dialeval.runs.run_id import new_run_id

    return runs_folder(config, settings) / new_run_id()


def runs_folder(config: pytest.Config, settings: Settings) -> Path:
    """Where runs are kept."""
    default = config.rootpath / ".dialeval" / "runs"
    runs: Path = config.invocation_params.dir / settings.get("runs", default).value
    return runs


def left_in(run: Path, pattern: str) -> list[Path]:
    """Files that workers wrote into a run's folder; none where nobody may look into it."""
    with suppress(OSError):  # a path that is too long, which the workers have said
        return sorted(run.glob(pattern))
    return []


def write_plan(directory: RunDirectory, sources: Sequence[Source], settings: Settings) -> None:
    """manifest.json and plan.json: what will run, and the denominator."""
    from pytest_dialeval.runs.manifest import manifest
    from pytest_dialeval.runs.record import plan_document

    directory.write("plan", plan_document(sources))
    directory.write(
        "manifest",
        manifest(
            directory.run_id,
            sources,
            label=settings.get("label").value,
            settings={
                name: {"value": each.value, "source": each.source}
                for name, each in settings.stated().items()
            },
        ),
    )


def open_directory(engine: Engine) -> RunDirectory:
    """The run's folder, made; a worker of xdist is given it, and writes no plan of its own."""
    from pytest_dialeval.runs.directory import RunDirectory

    given = getattr(engine.config, "workerinput", {}).get("dialeval_run")
    path = Path(given) if given else run_path(engine.config, engine.settings)
    directory = RunDirectory(path)
    directory.create()
    if not given:
        write_plan(directory, engine.facts(), engine.settings)
    return directory


def write_worker_plan(engine: Engine, refusal: str | None) -> None:
    """`plan.<worker>.json`: the controller schedules by it and merges it."""
    from pytest_dialeval.errors import RunError
    from pytest_dialeval.runs.directory import RunDirectory
    from pytest_dialeval.runs.record import plan_document

    directory = RunDirectory(Path(getattr(engine.config, "workerinput", {})["dialeval_run"]))
    try:
        directory.create()
        document = plan_document(engine.facts(), engine.notes, refusal)
        directory.write(f"plan.{engine.worker}", document)
    except RunError:
        return  # the first item's setup meets the same trouble, and says so
