"""Format `harbor`: a job's folder, or the folder of one of its trials."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.transcript import Recording
from pytest_dialeval.records.wording import listed, plural
from pytest_dialeval.traces.importers.harbor_files import LINK, said
from pytest_dialeval.traces.importers.harbor_names import agent_names, completed, task_names
from pytest_dialeval.traces.importers.harbor_notes import details, notes
from pytest_dialeval.traces.importers.harbor_trial import Trial, read_trial
from pytest_dialeval.traces.importers.source import RecordingFile, Source

_OF_TRIALS = {"trial.log", "exception.txt", "agent", "verifier", "steps"}
_OF_BOTH = {"result.json", "config.json"}
_SHOWN = 3


def refuse_file(data: bytes, path: Path) -> NoReturn:
    """A job is a folder, and no file in it stands for it."""
    raise TranscriptError(f"{path}: is a file; 'harbor' reads the folder of a job, or of a trial")


def read_harbor(path: Path) -> RecordingFile:
    """Each trial is a recording, whose file is its folder; its case is its task."""
    found = _folders(path)
    trials: list[Trial] = []
    for folder in found.trials:
        try:
            trials.append(read_trial(folder))
        except TranscriptError as error:
            found.problems.append(said(str(error)))
    if not trials:
        raise TranscriptError(_nothing(path, found))
    for each, result in zip(trials, completed([each.result for each in trials]), strict=True):
        each.result = result
    trials.sort(key=lambda each: (not each.result.started, each.result.started, each.name))
    recordings = tuple(_recordings(trials))
    return RecordingFile(
        recordings=recordings,
        notes=tuple(notes(path, trials, found.problems, found.left_out)),
        details=tuple(details(path, trials, found.problems, found.left_out)),
        agents=_agents(recordings, trials),
    )


def _recordings(trials: Sequence[Trial]) -> Iterator[Recording]:
    agents = agent_names(each.result.agent for each in trials)
    tasks = task_names((each.result.task, each.result.checksum) for each in trials)
    for each in trials:
        source = Source(each.files.folder, each.files.sha256)
        task = tasks[each.result.task, each.result.checksum]
        made = source.recording(0, task, each.transcript, agent=agents[each.result.agent])
        yield replace(made, alone=True)


def _agents(recordings: Sequence[Recording], trials: Sequence[Trial]) -> dict[str, str]:
    """The agents' names -> who they are, in the order of their first trials."""
    pairs = zip(recordings, trials, strict=True)
    return {str(one.agent): str(other.result.agent) for one, other in pairs}


# ---- folders


@dataclass(slots=True, eq=False)
class _Found:
    trials: list[Path] = field(default_factory=list)
    jobs: list[Path] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)  # name from the job's folder -> why
    problems: list[str] = field(default_factory=list)


def _folders(path: Path) -> _Found:
    """The trials of a job, by name; links are not followed."""
    found = _Found()
    entries = _listing(path)
    if _OF_TRIALS & {each.name for each in entries}:
        found.trials.append(path)
        return found
    for entry in entries:
        folder = path / entry.name
        if entry.is_symlink():
            found.left_out[entry.name] = LINK
        elif not entry.is_dir(follow_symlinks=False):
            found.left_out[entry.name] = "is not read"
        elif _is_trial(folder):
            found.trials.append(folder)
        else:
            found.left_out[f"{entry.name}/"] = "is no trial"
            if any(_is_trial(each) for each in _subfolders(folder)):
                found.jobs.append(folder)
    if not found.trials and _OF_BOTH & {each.name for each in entries} and not found.jobs:
        found.trials.append(path)  # a trial that hardly began
    return found


def _is_trial(folder: Path) -> bool:
    names = {each.name for each in _quietly(folder)}
    if _OF_TRIALS & names:
        return True
    marked = bool(_OF_BOTH & names)
    return marked and not any(_OF_TRIALS & _names(each) for each in _subfolders(folder))


def _names(folder: Path) -> set[str]:
    return {each.name for each in _quietly(folder)}


def _subfolders(folder: Path) -> Iterable[Path]:
    found = (each for each in _quietly(folder) if each.is_dir(follow_symlinks=False))
    return (folder / each.name for each in found)


def _listing(path: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as found:
            return sorted(found, key=lambda each: each.name)
    except OSError as exc:
        raise TranscriptError(f"{path}: cannot be read: {exc.strerror}") from None


def _quietly(path: Path) -> list[os.DirEntry[str]]:
    try:
        return _listing(path)
    except TranscriptError:
        return []


def _nothing(path: Path, found: _Found) -> str:
    """Why there is nothing to grade, with what was probably meant."""
    if found.problems:
        more = len(found.problems) - 1
        also = f" (and {plural(more, 'trial')} more)" if more else ""
        return f"{path}: no trial can be read: {found.problems[0]}{also}"
    text = f"{path}: holds no trial; a job's folder has one a trial, each with its result.json"
    if found.jobs:
        jobs = listed([repr(said(each.name)) for each in found.jobs], _SHOWN)
        return f"{path}: is a folder of jobs; give one of them: {jobs}"
    return text
