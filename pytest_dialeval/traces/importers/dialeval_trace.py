"""Format `dialeval`: our own traces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.transcript import Recording
from pytest_dialeval.traces.codec import shown
from pytest_dialeval.traces.file_text import file_text
from pytest_dialeval.traces.importers.documents import decode_documents, refuse_other_formats
from pytest_dialeval.traces.importers.numbering import task_id, trial_number
from pytest_dialeval.traces.importers.source import RecordingFile, Source
from pytest_dialeval.traces.reader import Trace, parse_trace


def read_dialeval(data: bytes, path: Path) -> RecordingFile:
    """One trace is one recording; its case is its task and, where it has one, its persona."""
    try:
        trace = parse_trace(data, path)
    except TranscriptError:
        _refuse_other_formats(data, path)
        raise
    return RecordingFile((_recording(Source.of(data, path), trace),))


def _refuse_other_formats(data: bytes, path: Path) -> None:
    try:
        documents = decode_documents(file_text(data, path), path)
    except TranscriptError:
        return  # what the reader of traces said about it says more
    refuse_other_formats(documents, path, form="dialeval")


def _recording(source: Source, trace: Trace) -> Recording:
    header = trace.header
    task = task_id(header.get("task"))
    if task is None:
        raise TranscriptError(
            f"{source.path}:1: the start event's 'task' is {shown(header.get('task'))}; "
            "it must name the task, or trials of different tasks would be pooled"
        )
    persona, agent = header.get("persona"), header.get("agent")
    found = source.recording(
        0,
        f"{task}/{persona}" if isinstance(persona, str) and persona else task,
        trace.transcript,
        trial=trial_number(header.get("trial")),
        agent=agent if isinstance(agent, str) else None,
    )
    return replace(found, alone=True)
