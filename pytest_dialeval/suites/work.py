"""The folder of a task and its verifier: from what was written to records, with their digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_dialeval.records.work import Verifier, Workspace
from pytest_dialeval.suites.command_lines import shell_problem
from pytest_dialeval.suites.folder import survey
from pytest_dialeval.suites.form import shown
from pytest_dialeval.suites.paths import folder_inside, is_within
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.reading import Reading, file_name
from pytest_dialeval.suites.task_form import TaskForm
from pytest_dialeval.suites.work_form import VerifierForm, WorkspaceForm


@dataclass(frozen=True, slots=True)
class WorkRead:
    """What a suite says of work in a folder."""

    workspace: Workspace | None = None
    verifier: Verifier | None = None
    files: Mapping[str, str] = field(
        default_factory=dict
    )  # folders -> digest of all that is in them


def read_work(suite: Place, form: TaskForm, reading: Reading) -> WorkRead:
    """Both keys of the task; problems are noted, and of what has one the rest is read."""
    files: dict[str, str] = {}
    at = suite.at("task")
    workspace = verifier = folder = None
    if form.workspace is not None:
        folder = _folder(at.at("workspace", "folder"), form.workspace, reading, files)
        workspace = Workspace(str(folder or form.workspace.folder), form.workspace.max_mb)
    if form.verifier is not None:
        place = at.at("verifier")
        if form.workspace is None:
            place.error("a verifier needs task.workspace: the folder whose changes it verifies")
        verifier = _verifier(place, form.verifier, reading, files, folder)
    return WorkRead(workspace, verifier, files)


def _folder(at: Place, form: WorkspaceForm, reading: Reading, files: dict[str, str]) -> Path | None:
    folder = folder_inside(at, form.folder, reading.rootdir)
    if folder is None:
        return None
    if at.source.path.resolve().is_relative_to(folder):
        at.error(f"{shown(form.folder)} holds this suite itself: give the work a folder of its own")
        return None
    _survey(at, folder, reading, files, form.max_mb)
    return folder


def _verifier(
    place: Place,
    form: VerifierForm,
    reading: Reading,
    files: dict[str, str],
    workspace: Path | None,
) -> Verifier:
    if form.result is not None and not is_within(form.result):
        text = f"{shown(form.result)} must be a path inside the copy, such as result.json"
        place.at("result").error(text)
    commands = {"command": form.command, **{f"rounds.{n}": each for n, each in form.rounds.items()}}
    for key, command in commands.items():
        if problem := shell_problem(command):
            place.at(*key.split(".")).error(problem)
    hidden = None
    if form.hidden is not None:
        hidden = _hidden(place.at("hidden"), form.hidden, reading, files, workspace)
    return Verifier(
        form.command,
        form.when,
        form.deadline,
        str(hidden) if hidden else None,
        form.result,
        {int(number): command for number, command in form.rounds.items()},
        None if form.restore is None else tuple(form.restore),
    )


def _hidden(
    at: Place, written: str, reading: Reading, files: dict[str, str], workspace: Path | None
) -> Path | None:
    hidden = folder_inside(at, written, reading.rootdir)
    if hidden is None:
        return None
    _survey(at, hidden, reading, files)
    if workspace is not None and hidden.is_relative_to(workspace):
        at.error(f"{shown(written)} lies in the workspace, where every agent sees it: move it out")
    return hidden


def _survey(
    at: Place,
    folder: Path,
    reading: Reading,
    files: dict[str, str],
    max_mb: float | None = None,
) -> None:
    """Note why it may not be copied; its digest shows a later run that it has changed."""
    name = file_name(folder, reading.rootdir)
    try:
        found = survey(folder)
        if problem := found.problem(max_mb):
            at.error(f"the folder {name} {problem}")
        else:
            files[name] = found.digest()
    except OSError as error:
        at.error(f"the folder {name} can't be read: {error.strerror}")
