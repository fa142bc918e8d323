"""A suite file and everything that it names, read and checked."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.records.follow_up import Rounds
from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.suite import AgentSpec, Problem, Suite
from pytest_dialeval.records.task import Persona
from pytest_dialeval.suites.agents import read_agent
from pytest_dialeval.suites.assembly import assembled, check_cases, check_whole, sources, task_of
from pytest_dialeval.suites.includes import Parts, gathered
from pytest_dialeval.suites.lint import (
    duplicate_remarks,
    is_modelled,
    lint,
    personas_alone,
    rubrics_alone,
)
from pytest_dialeval.suites.personas import read_persona
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.reading import Reading
from pytest_dialeval.suites.remark import Places, Remark
from pytest_dialeval.suites.rounds import (
    has_rounds,
    read_rounds,
    read_rounds_persona,
    rounds_of_task,
    stand_in,
)
from pytest_dialeval.suites.rubrics import read_rubric
from pytest_dialeval.suites.suite_form import SuiteForm
from pytest_dialeval.suites.task_form import TaskForm
from pytest_dialeval.suites.variables import written_variables
from pytest_dialeval.suites.work import read_work


def load_suite(
    path: Path,
    *,
    rootdir: Path,
    matchers: Mapping[str, Matcher],
    user_model: bool = False,
    running: Collection[str] | None = None,
) -> Suite:
    """Read a suite with its includes and scripts; SuiteError holds every problem of all files.

    `user_model`: a model plays the user where the suite itself does not say. `running`: the agents
    that run whatever the suite says; what is wrong with any other is a note. None: all may run.
    """
    reading = Reading(rootdir.absolute(), matchers, user_model, running)
    with _collector_paused():
        suite, problems = _loaded(reading, path.absolute())
    errors = [each for each in problems if each.level == "error"]
    if errors or suite is None:
        raise SuiteError(errors)
    return replace(suite, notes=tuple(problems))


def _loaded(reading: Reading, path: Path) -> tuple[Suite | None, list[Problem]]:
    # A function of its own, so that the YAML trees are gone before the collector runs again.
    read = _read(Place(reading.open(path)), reading)
    suite = _built(read, reading)
    return suite, _problems(read, suite, reading)


@contextmanager
def _collector_paused() -> Iterator[None]:
    # A suite is one large tree without garbage; collecting while it grows doubles the time.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@dataclass(frozen=True, slots=True)
class _Read:
    """A suite's parts; None stands where one could not be read."""

    place: Place
    form: SuiteForm | None
    parts: Parts
    personas: list[Persona | None]
    rubrics: list[Rubric | None]
    agents: dict[str, AgentSpec | None]
    rounds: Rounds | None  # None also where the task has none

    @property
    def places(self) -> Places:
        # Where a profile stands in for personas, it is what is spoken of.
        personas = self.parts.personas or [self.place.at("task", "rounds", "profile")]
        return Places(self.place, personas, self.parts.rubrics)


def _read(place: Place, reading: Reading) -> _Read:
    reading.variables = written_variables(place.at("task"))
    form = place.read(SuiteForm)
    parts = gathered(place, reading)
    agents = place.at("agents").value
    names = agents if isinstance(agents, dict) else {}
    follows = has_rounds(place)
    return _Read(
        place,
        form,
        parts,
        [
            read_rounds_persona(each) if follows else read_persona(each, reading)
            for each in parts.personas
        ],
        [read_rubric(each, reading) for each in parts.rubrics],
        {name: _agent(name, place.at("agents", name), reading) for name in names},
        read_rounds(place.at("task"), reading) if follows else None,
    )


def _agent(name: str, place: Place, reading: Reading) -> AgentSpec | None:
    """The agent; of one that does not run nothing is needed, so its problems are notes."""
    if reading.running is None or name in reading.running:
        return read_agent(name, place, reading)
    before = {path: len(each.problems) for path, each in reading.sources.items()}
    read_agent(name, place, reading)
    for path, source in reading.sources.items():
        start = before.get(path, 0)
        source.problems[start:] = [
            replace(each, level="note", text=f"agent {name!r}, which does not run: {each.text}")
            for each in source.problems[start:]
        ]
    return None


def _built(read: _Read, reading: Reading) -> Suite | None:
    """The suite, though lines or matchers of it may be wrong; None where parts have no form."""
    place, form = read.place, read.form
    follows = has_rounds(place)
    if read.parts.whole:
        check_cases(place, len(read.parts.personas), follows=follows)
    written = place.at("task", "prompt")
    prompt = reading.fill(written, written.value if isinstance(written.value, str) else "")
    if form is None:
        return None
    check_whole(place, form)
    work = read_work(place, form.task, reading)
    transcripts = sources(place, form)
    if _is_partly(read, follows=follows) or len(transcripts) < len(form.transcripts):
        return None
    task = task_of(form.task, prompt)
    return assembled(
        form,
        replace(task, rounds=read.rounds, workspace=work.workspace, verifier=work.verifier),
        path=place.source.path,
        personas=_personas(read, recorded=bool(transcripts)),
        rubrics=[each for each in read.rubrics if each],
        agents={name: each or AgentSpec(name, "") for name, each in read.agents.items()},
        transcripts=transcripts,
        model_lines={role: place.at("models", role).line for role in form.models},
        ux_at=(place.source.file, place.at("scoring", "ux").line),
        files={each.file: each.sha256 for each in reading.sources.values()} | dict(work.files),
        sha256=place.source.sha256,
    )


def _is_partly(read: _Read, *, follows: bool) -> bool:
    """Whether something has no form: that may be what a name elsewhere means."""
    written = (read.parts.whole, *read.personas, *read.rubrics, read.rounds or not follows)
    return not all(written)


def _personas(read: _Read, *, recorded: bool) -> list[Persona]:
    """Those of the suite; where a request is followed up and there are none, its profile's."""
    if read.rounds and not read.personas and not recorded:
        return [stand_in(read.rounds, read.place.at("task", "rounds", "profile"))]
    return [each for each in read.personas if each]


def _problems(read: _Read, suite: Suite | None, reading: Reading) -> list[Problem]:
    """Each problem once, the suite file's first, by line."""
    if suite is None:
        found = {read.places.problem(each) for each in _own_remarks(read, reading)}
    else:
        found = set(lint(suite, reading.matchers, read.places, user_model=reading.user_model))
    for source in reading.sources.values():
        found.update(source.problems)
    main = read.place.source.file
    return sorted(found, key=lambda each: (each.file != main, each.file, each.line, each.text))


def _own_remarks(read: _Read, reading: Reading) -> Iterator[Remark]:
    """What can be said of the parts that were read, though the whole was not."""
    personas = [(index, each) for index, each in enumerate(read.personas) if each]
    rubrics = [(index, each) for index, each in enumerate(read.rubrics) if each]
    modelled = is_modelled(read.place.at("models").value, reading.user_model)
    yield from personas_alone(personas, _max_rounds(read.place), modelled)
    yield from rubrics_alone(rubrics, reading.matchers)
    yield from duplicate_remarks("personas", personas)
    yield from duplicate_remarks("rubrics", rubrics)


def _max_rounds(place: Place) -> int | None:
    try:
        return rounds_of_task(TaskForm.model_validate(place.at("task").value))
    except ValidationError:
        return None
