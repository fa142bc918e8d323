"""The parts of a suite, each read, become one Suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.suite import (
    AgainstBaseline,
    AgentSpec,
    Gates,
    Limits,
    PassHatK,
    Scoring,
    Suite,
    TranscriptSource,
)
from pytest_dialeval.records.task import Flow, FlowNode, Persona, Task
from pytest_dialeval.records.wording import closest
from pytest_dialeval.suites.form import shown
from pytest_dialeval.suites.paths import found
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.rounds import rounds_of_task
from pytest_dialeval.suites.suite_form import GatesForm, ModelForm, ScoringForm, SuiteForm
from pytest_dialeval.suites.task_form import TaskForm
from pytest_dialeval.suites.ux import ux_rubrics
from pytest_dialeval.traces.recordings import FOLDERS

_CASES = ("personas", "transcripts", "include")


def check_whole(place: Place, form: SuiteForm) -> None:
    """Note what is wrong between the keys of a suite file, but for personas."""
    if form.scoring and form.scoring.weights.completion + form.scoring.weights.robustness == 0:
        place.at("scoring", "weights").error("the weights can't both be 0: nothing would be scored")
    if form.gates.baseline:
        path = form.gates.baseline.path
        remedy = f"; `dialeval baseline RUN -o {path}` there writes it"
        found(place.at("gates", "baseline", "path"), path, remedy)
    for role, model in form.models.items():
        at = place.at("models", role)
        if isinstance(model, dict):
            at.read(ModelForm)
        elif model is not None and not (isinstance(model, str) and model.strip()):
            at.error(
                f"models.{role} must be a spec (openai:NAME), a mapping or null, not {shown(model)}"
            )


def check_cases(place: Place, personas: int, *, follows: bool = False) -> None:
    """Note a suite without cases, or with two kinds of them.

    `follows`: rounds follow a request, and need no personas.
    """
    transcripts = place.at("transcripts")
    if personas and transcripts.value:
        transcripts.error("a suite has personas or transcripts, not both: split it into two files")
    given = follows or personas or transcripts.value or place.at("personas").value
    if isinstance(place.value, dict) and not given and not _astray(place.value):
        place.error("a suite needs personas (or transcripts of conversations that exist already)")


def _astray(suite: dict[str, object]) -> bool:
    """Whether the cases stand under another key, which is reported."""
    task = suite.get("task")
    named = [each for each in suite if each not in SuiteForm.keys()]
    named += [each for each in (task if isinstance(task, dict) else ()) if each in SuiteForm.keys()]
    return any(closest(each, SuiteForm.keys()) in _CASES for each in named)


def sources(place: Place, form: SuiteForm) -> tuple[TranscriptSource, ...]:
    """The transcript files; those that are not there are noted and left out."""
    made = []
    for index, each in enumerate(form.transcripts):
        at = place.at("transcripts", index)
        if path := found(at.at("path"), each.path, folder=each.format in FOLDERS):
            made.append(TranscriptSource(each.format, str(path.absolute()), each.agent, at.line))
    return tuple(made)


def assembled(
    form: SuiteForm,
    task: Task,
    *,
    path: Path,
    personas: Sequence[Persona],
    rubrics: Sequence[Rubric],
    agents: Mapping[str, AgentSpec],
    transcripts: tuple[TranscriptSource, ...],
    model_lines: Mapping[str, int],
    ux_at: tuple[str, int],
    files: Mapping[str, str],
    sha256: str,
) -> Suite:
    """The suite, with defaults filled in; rubrics that `scoring` adds stand behind its own."""
    scoring = _scoring(form.scoring) if form.scoring else None
    added = ux_rubrics(scoring.ux, *ux_at) if scoring and scoring.ux else ()
    return Suite(
        path=str(path),
        sha256=sha256,
        task=task,
        agents=agents,
        run=tuple(agents if form.run is None else form.run),
        personas=tuple(personas),
        rubrics=(*rubrics, *added),
        transcripts=transcripts,
        trials=form.trials,
        seed=task.id if form.seed is None else form.seed,
        limits=Limits(**form.limits.model_dump()),
        scoring=scoring,
        gates=_gates(form.gates),
        models={str(role): model for role, model in form.models.items()},
        model_lines=model_lines,
        compare=form.compare.model_dump() if form.compare else {},
        votes=form.votes.model_dump(),
        files=files,
        stated=frozenset(form.model_fields_set | form.limits.model_fields_set),
    )


def task_of(form: TaskForm, prompt: str) -> Task:
    """The task with its prompt filled in."""
    nodes = tuple(
        FlowNode(each.id, each.rubric, each.optional, each.title) for each in form.flow.nodes
    )
    edges = tuple((start, end) for start, end in form.flow.edges)
    return Task(
        id=form.id,
        version=form.version,
        title=form.title,
        language=form.language,
        opening=form.opening,
        max_rounds=rounds_of_task(form),
        variables=form.variables,
        prompt=prompt,
        flow=Flow(nodes, edges),
    )


def _scoring(form: ScoringForm) -> Scoring:
    weights = form.weights
    ux = form.ux.model_dump() if form.ux else None
    return Scoring(form.pass_mark, weights.completion, weights.robustness, form.pass_on, ux)


def _gates(form: GatesForm) -> Gates:
    k, baseline = form.pass_hat_k, form.baseline
    return Gates(
        decide=form.decide,
        pass_hat_k=PassHatK(k.k, k.min) if k else None,
        mean_score=form.mean_score,
        safety_breaches=form.safety_breaches,
        unmeasured=form.unmeasured,
        distinct_models=form.distinct_models,
        baseline=AgainstBaseline(baseline.path, baseline.max_drop) if baseline else None,
    )
