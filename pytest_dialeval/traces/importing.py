"""Recordings of other tools -> traces on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.slug import slug
from pytest_dialeval.records.transcript import Recording
from pytest_dialeval.traces.recordings import read_recording_file, reader_of
from pytest_dialeval.traces.writer import PART, TraceWriter


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or one recording of it, that was not imported."""

    path: str
    why: str
    index: int | None = None  # of the recording; None: the whole file


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did."""

    written: tuple[Path, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Import:
    form: str
    out: Path
    written: list[Path] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # Of tasks that do not number theirs, by the name of their files.
    trials: dict[str, int] = field(default_factory=dict)


def import_recordings(form: str, paths: Sequence[Path], out: Path) -> ImportReport:
    """Write a trace for each recording; a file that cannot be read is skipped, others go on.

    Raises TranscriptError for an unknown format and RunError where `out` cannot be written.
    """
    reader_of(form)
    doing = _Import(form, out)
    for path in paths:
        try:
            file = read_recording_file(form, path)
        except TranscriptError as exc:
            doing.skipped.append(Skipped(str(path), str(exc)))
            continue
        doing.notes += file.details or file.notes
        several = len({each.agent for each in file.recordings}) > 1
        for recording in file.recordings:
            _import_one(doing, recording, several=several)
    return ImportReport(tuple(doing.written), tuple(doing.skipped), tuple(doing.notes))


def _import_one(doing: _Import, recording: Recording, *, several: bool) -> None:
    """`several`: whether its file is of several agents, so that their traces need telling apart."""
    stem, number = slug(recording.task_id), recording.trial
    if several and recording.agent is not None:
        stem = f"{stem}-{slug(recording.agent)}"
    if number is None:
        number = doing.trials[stem] = doing.trials.get(stem, 0) + 1
    target = doing.out / f"{stem}-{number}.jsonl"
    if taken := [each for each in (target, Path(f"{target}{PART}")) if each.exists()]:
        why = f"{taken[0]} is there already; give another --out"
        doing.skipped.append(Skipped(recording.path, why, recording.index))
        return
    _write(recording, number, doing.form, target)
    doing.written.append(target)


def _write(recording: Recording, number: int, form: str, target: Path) -> None:
    transcript = recording.transcript
    with TraceWriter(target, timed=False) as trace:
        trace.start(_header(recording, number, form))
        for turn in transcript.turns:
            trace.turn(turn)
        if transcript.outcome not in ("completed", "limit_reached"):
            trace.error(transcript.outcome, transcript.reason)
        trace.end(
            transcript.outcome,
            transcript.reason,
            transcript.ended_by,
            recorded=transcript.recorded,
        )


def _header(recording: Recording, number: int, form: str) -> dict[str, object]:
    header: dict[str, object] = {"task": recording.task_id, "trial": number}
    if recording.agent is not None:
        header["agent"] = recording.agent
    source = {
        "format": form,
        "path": recording.path,
        "sha256": recording.sha256,
        "index": recording.index,
    }
    return {**header, "source": source}
