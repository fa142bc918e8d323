"""Conversations that exist already, by the name of their format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.transcript import Recording
from pytest_dialeval.records.wording import did_you_mean
from pytest_dialeval.traces.disk import read_file
from pytest_dialeval.traces.importers.dialeval_trace import read_dialeval
from pytest_dialeval.traces.importers.harbor import read_harbor, refuse_file
from pytest_dialeval.traces.importers.numbering import refuse_duplicates
from pytest_dialeval.traces.importers.openai_chat import read_openai
from pytest_dialeval.traces.importers.source import RecordingFile
from pytest_dialeval.traces.importers.tau2 import read_tau2
from pytest_dialeval.traces.importers.tau_bench import read_tau_bench

FORMATS: Mapping[str, Callable[[bytes, Path], RecordingFile]] = {
    "dialeval": read_dialeval,
    "harbor": refuse_file,
    "openai": read_openai,
    "tau-bench": read_tau_bench,
    "tau2": read_tau2,
}


def read_recordings(form: str, path: Path) -> tuple[Recording, ...]:
    """All recordings of a file; TranscriptError names file, place and remedy."""
    return read_recording_file(form, path).recordings


def read_recording_file(form: str, path: Path) -> RecordingFile:
    """The same with what the reader noticed; some formats read folders too."""
    reader = reader_of(form)
    if form in FOLDERS and path.is_dir():
        return FOLDERS[form](path)
    return reader(read_file(path), path)


def reader_of(form: str) -> Callable[[bytes, Path], RecordingFile]:
    """The reader of a format; TranscriptError names those that exist."""
    if form in FORMATS:
        return FORMATS[form]
    known = f"{', '.join(FORMATS)}{did_you_mean(form, FORMATS)}"
    raise TranscriptError(f"format {form!r} is not known; formats are {known}")


def _read_folder(folder: Path) -> RecordingFile:
    paths = sorted(folder.glob("*.jsonl"))
    if not paths:
        raise TranscriptError(f"{folder}: holds no trace; traces end in .jsonl")
    files = [read_dialeval(read_file(each), each) for each in paths]
    recordings = tuple(each for file in files for each in file.recordings)
    refuse_duplicates(recordings, lambda each: each.path)
    return RecordingFile(recordings)


# Formats of which a folder can be given.
FOLDERS: Mapping[str, Callable[[Path], RecordingFile]] = {
    "dialeval": _read_folder,
    "harbor": read_harbor,
}
