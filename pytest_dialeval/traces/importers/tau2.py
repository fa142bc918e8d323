"""Format `tau2`: results of tau2-bench, whole files or lists of simulations."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import Outcome, Recording, Transcript
from pytest_dialeval.traces.codec import EndedBy, shown
from pytest_dialeval.traces.importers.chat import Chat
from pytest_dialeval.traces.importers.documents import (
    Document,
    read_documents,
    records,
    refuse_concatenated,
)
from pytest_dialeval.traces.importers.numbering import (
    refuse_duplicates,
    task_id,
    task_ids,
    trial_number,
)
from pytest_dialeval.traces.importers.recorded_values import known_costs, scalars
from pytest_dialeval.traces.importers.source import RecordingFile, Source
from pytest_dialeval.traces.importers.stop_token import STOP
from pytest_dialeval.traces.place import located

# Whose the ending is. tau2 leaves the last three out of its own figures or never sets them.
_OUTCOMES: dict[str, tuple[Outcome, EndedBy]] = {
    "user_stop": ("completed", "user"),
    "agent_stop": ("completed", "agent"),
    "max_steps": ("limit_reached", "limit"),
    "timeout": ("limit_reached", "limit"),
    "too_many_errors": ("agent_error", ""),
    "agent_error": ("agent_error", ""),
    "user_error": ("simulator_error", ""),
    "infrastructure_error": ("provider_error", ""),
    "context_window_exceeded": ("provider_error", ""),
    "unexpected_error": ("harness_error", ""),
}
_CHECKS = {
    "env_assertions": "met",
    "action_checks": "action_match",
    "nl_assertions": "met",
    "communicate_checks": "met",
}
_Read = tuple[dict[str, Any], list[tuple[str, Any]]]  # the file, its simulations with places


def read_tau2(data: bytes, path: Path) -> RecordingFile:
    """Each simulation is a trial of its task."""
    documents = read_documents(data, path, form="tau2")
    whole, items = _simulations(documents, path)
    for place, each in items:
        if not isinstance(each, dict):
            raise TranscriptError(f"{place}: is {shown(each)}; a simulation is an object")
    names = task_ids([each for _, each in items], path, "simulation")
    source, agent = Source.of(data, path), _agent(whole.get("info"))
    recordings: list[Recording] = []
    for index, (place, each) in enumerate(items):
        with located(f"{place} (task {names[index]!r})"):
            trial = trial_number(each.get("trial"))
            recordings.append(
                source.recording(index, names[index], _transcript(each), trial=trial, agent=agent)
            )
    refuse_duplicates(recordings, lambda each: items[each.index][0])
    return RecordingFile(tuple(recordings), _notes(recordings, whole, path))


def _simulations(documents: list[Document], path: Path) -> _Read:
    whole = documents[0].value
    if not isinstance(whole, dict) or not ("simulations" in whole or "simulation_index" in whole):
        return {}, records(documents, path, "simulation")
    refuse_concatenated(documents, path, single=True)
    items = whole.get("simulations") or []
    if not items and whole.get("simulation_index"):
        raise TranscriptError(
            f"{path}: is tau2's form in a folder: it lists its simulations, which lie in files of "
            "their own; make one file of it (tau2 convert-results) and give that"
        )
    if not isinstance(items, list) or not items:
        raise TranscriptError(f"{path}: 'simulations' is {shown(items)}; it must be a filled list")
    return whole, [(f"{path}: simulation {n}", each) for n, each in enumerate(items)]


def _transcript(simulation: dict[str, Any]) -> Transcript:
    messages = simulation.get("messages")
    if messages is None and simulation.get("ticks"):
        raise TranscriptError("is a voice run (ticks, no messages), which is not read")
    chat = Chat(stop_tokens=True)
    chat.read(messages or [])
    recorded = _recorded(simulation)
    reason = simulation.get("termination_reason")
    if reason == "agent_stop" and chat.drop_last_text(STOP):
        chat.stopped = STOP.strip("#")
    if chat.stopped:
        recorded["stop_token"] = chat.stopped
    turns = chat.turns()
    outcome, ended_by, why = _ending(simulation, reason, bool(turns))
    return Transcript(
        turns=turns, outcome=outcome, reason=why, ended_by=ended_by, recorded=recorded
    )


def _ending(simulation: dict[str, Any], reason: Any, spoken: bool) -> tuple[Outcome, EndedBy, str]:
    if reason is None and spoken:
        return "completed", "", "the file does not say how it ended"
    if not isinstance(reason, str) or reason not in _OUTCOMES:
        return "harness_error", "", f"termination_reason {shown(reason)} is not known"
    outcome, ended_by = _OUTCOMES[reason]
    if not spoken and ended_by:
        return "harness_error", "", "it has no messages"
    if outcome == "completed":
        return outcome, ended_by, ""
    error = _error(simulation)
    return outcome, ended_by, f"termination_reason: {reason}" + (f": {error}" if error else "")


def _error(simulation: dict[str, Any]) -> str:
    info = simulation.get("info")
    error = info.get("error") if isinstance(info, dict) else None
    return clean(str(error)).strip() if error else ""


def _recorded(simulation: dict[str, Any]) -> dict[str, object]:
    """All scalars of the simulation and of its reward_info, and the share of checks that held."""
    rewards = simulation.get("reward_info")
    rewards = rewards if isinstance(rewards, dict) else {}
    breakdown = scalars(rewards.get("reward_breakdown"))
    values = {
        **scalars(simulation, leave=("task_id", "trial", "id")),
        **scalars(rewards.get("db_check")),
        **{f"reward_breakdown.{name}": value for name, value in breakdown.items()},
        **{name: share for name in _CHECKS if (share := _share(rewards, name)) is not None},
        **scalars(rewards),
    }
    return known_costs(values)


def _share(rewards: dict[str, Any], name: str) -> float | None:
    checks = rewards.get(name)
    if not isinstance(checks, list) or not checks:
        return None
    held = [isinstance(each, dict) and each.get(_CHECKS[name]) is True for each in checks]
    return sum(held) / len(held)


def _agent(info: Any) -> str | None:
    agent = info.get("agent_info") if isinstance(info, dict) else None
    name = (agent.get("llm") or agent.get("implementation")) if isinstance(agent, dict) else None
    return clean(name) if isinstance(name, str) else None


def _notes(recordings: list[Recording], whole: dict[str, Any], path: Path) -> tuple[str, ...]:
    """What the file says about itself and does not hold."""
    counts = Counter(each.task_id for each in recordings)
    info, tasks = whole.get("info"), whole.get("tasks")
    planned = info.get("num_trials") if isinstance(info, dict) else None
    odd = [task for task, count in counts.items() if count != planned]
    notes = []
    if type(planned) is int and odd:
        notes.append(
            f"{path}: info.num_trials says {planned}, but {len(odd)} of {len(counts)} tasks differ "
            f"({odd[0]!r} has {counts[odd[0]]})"
        )
    tasks = tasks if isinstance(tasks, list) else []
    named = {task_id(each.get("id")) for each in tasks if isinstance(each, dict)} - {None}
    absent = sorted(each for each in named if each and each not in counts)
    if absent:
        notes.append(
            f"{path}: {len(absent)} of {len(named)} tasks have no simulation ({absent[0]!r})"
        )
    return tuple(notes)
