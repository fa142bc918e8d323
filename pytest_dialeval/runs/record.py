"""A run's plan and ledgers, read back and turned into its summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from pytest_dialeval.errors import RunError
from pytest_dialeval.records.run import Source, TrialFacts
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.figures import (
    count_outcomes,
    count_verdicts,
    score_source,
    task_figures,
)
from pytest_dialeval.runs.gates import Bounds, decide_gates
from pytest_dialeval.runs.ledger import facts
from pytest_dialeval.runs.summary import SettingFigure, Summary

PLAN_SCHEMA = "dialeval.plan/1"


class Plan(NamedTuple):
    """What a plan file holds."""

    sources: list[Source]
    notes: list[str]
    refusal: str | None = None  # why a worker's run cannot be


def plan_document(
    sources: Sequence[Source], notes: Sequence[str] = (), refusal: str | None = None
) -> dict[str, object]:
    """plan.json: the planned cases, the denominator."""
    document: dict[str, object] = {"schema": PLAN_SCHEMA, "sources": list(sources)}
    if notes:
        document["notes"] = list(notes)
    return document if refusal is None else {**document, "refusal": refusal}


@cache
def _sources_adapter() -> Any:
    from pydantic import TypeAdapter  # lazy: only where a plan is read back

    return TypeAdapter(list[Source])


def read_plan(path: Path) -> Plan:
    """A plan file read back."""
    try:
        document = orjson.loads(path.read_bytes())
        sources = list(_sources_adapter().validate_python(document["sources"]))
        return Plan(sources, list(document.get("notes", ())), document.get("refusal"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: no plan of a run can be read here ({error})") from None


def read_facts(directory: RunDirectory) -> dict[str, TrialFacts]:
    """What all ledgers of the run say of each trial."""
    return facts(sorted(directory.path.glob("ledger.*.jsonl")))


def unfinished(directory: RunDirectory, sources: Sequence[Source]) -> list[str]:
    """Ids of selected trials without a verdict for every selected rubric."""
    known = read_facts(directory)
    return [
        trial
        for source in sources
        for trial, rubrics in source.selected.items()
        if not set(rubrics) <= known.get(trial, TrialFacts()).verdicts.keys()
    ]


def summarise(
    directory: RunDirectory,
    sources: Sequence[Source],
    *,
    label: str | None,
    exit_status: int,
    settings: Mapping[str, SettingFigure],
    notes: Sequence[str] = (),
    bounds: Callable[[Source], Bounds] = lambda _: Bounds(),
) -> Summary:
    """The figures of a run, from its plan and its ledgers alone."""
    known = read_facts(directory)
    scored = [(each, score_source(each, known)) for each in sources]
    trials = [trial for _, found in scored for trial in found]
    tasks = [task_figures(source, found) for source, found in scored]
    return Summary(
        run_id=directory.run_id,
        label=label,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        exit_status=exit_status,
        outcomes=count_outcomes(trials),
        verdicts=count_verdicts(trials),
        tasks=tasks,
        gates=[
            gate
            for task, source in zip(tasks, sources, strict=True)
            for gate in decide_gates(task, bounds(source), {})
        ],
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
