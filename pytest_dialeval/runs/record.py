"""A run's plan and ledgers, read back and turned into its summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from pytest_dialeval.errors import RunError
from pytest_dialeval.records.run import Source
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.figures import (
    count_outcomes,
    count_verdicts,
    score_source,
    task_figures,
)
from pytest_dialeval.runs.ledger import facts
from pytest_dialeval.runs.summary import SettingFigure, Summary

PLAN_SCHEMA = "dialeval.plan/1"


def plan_document(sources: Sequence[Source]) -> dict[str, object]:
    """plan.json: the planned cases, the denominator."""
    return {"schema": PLAN_SCHEMA, "sources": list(sources)}


@cache
def _sources_adapter() -> Any:
    from pydantic import TypeAdapter  # lazy: only where a plan is read back

    return TypeAdapter(list[Source])


def read_plan(path: Path) -> list[Source]:
    """The sources of a plan file."""
    try:
        document = orjson.loads(path.read_bytes())
        return list(_sources_adapter().validate_python(document["sources"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: no plan of a run can be read here ({error})") from None


def summarise(
    directory: RunDirectory,
    sources: Sequence[Source],
    *,
    label: str | None,
    exit_status: int,
    settings: Mapping[str, SettingFigure],
    notes: Sequence[str] = (),
) -> Summary:
    """The figures of a run, from its plan and its ledgers alone."""
    known = facts(sorted(directory.path.glob("ledger.*.jsonl")))
    scored = [(each, score_source(each, known)) for each in sources]
    trials = [trial for _, found in scored for trial in found]
    return Summary(
        run_id=directory.run_id,
        label=label,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        exit_status=exit_status,
        outcomes=count_outcomes(trials),
        verdicts=count_verdicts(trials),
        tasks=[task_figures(source, found) for source, found in scored],
        settings=dict(settings),
        notes=[*notes, *note_lines(sources)],
    )


def note_lines(sources: Sequence[Source]) -> list[str]:
    """The suites' lint notes as one line."""
    found = [note for each in sources for note in each.notes]
    if not found:
        return []
    first = found[0] if len(found) == 1 else f"{found[0]} ... (`dialeval lint` shows all)"
    return [f"{len(found)} note{'s' if len(found) > 1 else ''} on the suites: {first}"]
