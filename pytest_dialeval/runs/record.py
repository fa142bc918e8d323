"""A run's plan and ledgers, read back and turned into its summary."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dialeval.errors import RunError
from pytest_dialeval.models.budget import parse_budget
from pytest_dialeval.records.run import Source, TrialFacts
from pytest_dialeval.records.wording import plural
from pytest_dialeval.runs import ledger
from pytest_dialeval.runs.command_line import redacted, without_secrets
from pytest_dialeval.runs.directory import RunDirectory, worker_order
from pytest_dialeval.runs.figures import (
    ScoredTrial,
    count_outcomes,
    count_verdicts,
    score_source,
    task_figures,
)
from pytest_dialeval.runs.gates import Bounds, decide_gates
from pytest_dialeval.runs.matches import read_matches
from pytest_dialeval.runs.summary import (
    GateFigure,
    Ratings,
    SettingFigure,
    Summary,
    TaskFigures,
)
from pytest_dialeval.runs.usage import budget_figures, read_usage, usage_figures
from pytest_dialeval.traces.json_bytes import from_json

if TYPE_CHECKING:
    from pytest_dialeval.runs.baseline_gate import HeldAgainst

_WORKER = re.compile(r"ledger\.gw\d+\.jsonl$")
PLAN_SCHEMA = "dialeval.plan/1"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a plan file holds."""

    sources: list[Source]
    notes: list[str] = field(default_factory=list)
    refusal: str | None = None  # why a worker's run cannot be


def plan_document(
    sources: Sequence[Source], notes: Sequence[str] = (), refusal: str | None = None
) -> dict[str, object]:
    """plan.json: the planned cases, the denominator."""
    shown = [replace(each, uses=_without_secrets(each.uses)) for each in sources]
    document: dict[str, object] = {"schema": PLAN_SCHEMA, "sources": shown}
    if notes:
        document["notes"] = list(notes)
    return document if refusal is None else {**document, "refusal": refusal}


def _without_secrets(uses: Mapping[str, str]) -> dict[str, str]:
    return {name: without_secrets(use) for name, use in uses.items()}


@cache
def _plan_adapter() -> Any:
    from pydantic import TypeAdapter  # lazy: only where a plan is read back

    return TypeAdapter(Plan)


def read_plan(path: Path) -> Plan:
    """A plan file read back."""
    try:
        document = from_json(path.read_bytes())
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema != PLAN_SCHEMA:
            raise ValueError(f"its schema is {schema!r}, not {PLAN_SCHEMA!r}")
        plan: Plan = _plan_adapter().validate_python(document)
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: no plan of a run can be read here: {_first(error)}") from None
    return plan


def _first(error: Exception) -> str:
    """An error's first cause, on one line."""
    from pydantic import ValidationError

    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"
    return str(error)


def read_facts(directory: RunDirectory) -> dict[str, TrialFacts]:
    """What the ledgers of the run say of each trial; files of other names are not believed."""
    alone = directory.path / "ledger.main.jsonl"
    if alone.exists():
        return ledger.facts([alone])
    found = [each for each in directory.path.glob("ledger.gw*.jsonl") if _WORKER.match(each.name)]
    if not found:
        raise RunError(f"{directory.path}: the ledger is gone; nothing can be said of this run")
    return ledger.facts(sorted(found, key=worker_order))


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
    facts: Mapping[str, TrialFacts],
    *,
    label: str | None,
    exit_status: int,
    settings: Mapping[str, SettingFigure],
    notes: Sequence[str] = (),
    bounds: Callable[[Source], Bounds] = lambda _: Bounds(),
    against: Callable[[Source], HeldAgainst | None] = lambda _: None,
    budget: str | None = None,
) -> Summary:
    """The figures of a run, from its plan and its ledgers, read as `facts`, alone."""
    spent = read_usage(directory)
    scored = [(each, score_source(each, facts)) for each in sources]
    trials = [trial for _, found in scored for trial in found]
    tasks = [task_figures(source, found) for source, found in scored]
    return Summary(
        run_id=directory.run_id,
        label=label,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        exit_status=exit_status,
        outcomes=count_outcomes(trials),
        verdicts=count_verdicts(scored),
        tasks=tasks,
        gates=[
            gate
            for task, source in zip(tasks, sources, strict=True)
            for gate in decide_gates(task, bounds(source))
        ]
        + _against_baselines(directory, tasks, scored, against),
        usage=usage_figures(spent),
        budget=budget_figures(parse_budget(budget), spent) if budget else [],
        ratings=_ratings(directory, scored),
        settings={name: _shown(each) for name, each in settings.items()},
        notes=[*notes, *spent.notes, *note_lines(sources)],
    )


def _against_baselines(
    directory: RunDirectory,
    tasks: Sequence[TaskFigures],
    scored: Sequence[tuple[Source, Sequence[ScoredTrial]]],
    against: Callable[[Source], HeldAgainst | None],
) -> list[GateFigure]:
    """The rows of the baseline gate; most runs are held against nothing."""
    held = [against(source) for source, _ in scored]
    if not any(held):
        return []
    from pytest_dialeval.runs.baseline import baseline_from
    from pytest_dialeval.runs.baseline_gate import baseline_gates

    return baseline_gates(tasks, held, baseline_from(directory, scored))


def _ratings(
    directory: RunDirectory, scored: Sequence[tuple[Source, Sequence[ScoredTrial]]]
) -> Ratings | None:
    agents = {each.trial.agent for _, trials in scored for each in trials}
    if len(agents) < 2:
        return None  # and no reason to import what ratings need
    from pytest_dialeval.runs.ratings import rate

    return rate(scored, read_matches(directory))


def _shown(setting: SettingFigure) -> SettingFigure:
    return setting.model_copy(update={"value": redacted(setting.value)})


def note_lines(sources: Sequence[Source]) -> list[str]:
    """The suites' lint notes as one line."""
    # A decorated function brings the notes of its suite once more.
    noted = dict.fromkeys(note for each in sources for note in each.notes)
    found = [each.replace(": note: ", ": ", 1) for each in noted]
    if not found:
        return []
    first = found[0] if len(found) == 1 else f"{found[0]} ... (`dialeval lint` shows all)"
    return [f"{plural(len(found), 'note')} on the suites: {first}"]
