"""A run in a few kilobytes: what a later run is compared with, to be committed beside the suite."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from pytest_dialeval.errors import RunError
from pytest_dialeval.grading.binding import binding_of
from pytest_dialeval.records.rubric import JUDGE, Rubric
from pytest_dialeval.records.run import Source
from pytest_dialeval.records.suite import Scoring
from pytest_dialeval.runs.command_line import without_secrets
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.figures import ScoredTrial
from pytest_dialeval.runs.files import read_json, write_bytes
from pytest_dialeval.runs.summary import Record
from pytest_dialeval.traces.json_bytes import to_json

SCHEMA = "dialeval.baseline/1"
_DIGITS = 6  # of scores; more would only make the file longer
_LIST = re.compile(r"\[\n\s+([^\[\]{}]*?)\n\s+\]")

Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class CaseResults(Record):
    """One persona, or one recorded task; every list has a place for each of `trials`."""

    persona: str
    trials: list[int] = Field(description="their numbers, from 1")
    passed: list[bool | None] = Field(description="null: unmeasured")
    scores: list[Score | None] = Field(description="task scores; null: unmeasured, or none")
    rubrics: dict[str, list[Score | None]] = Field(
        description="rubric -> its scores; null: not applicable, or unscored; "
        "rubrics that were nowhere scored are left out"
    )

    @model_validator(mode="after")
    def _as_long(self) -> CaseResults:
        lengths = {len(self.passed), len(self.scores), *map(len, self.rubrics.values())}
        if lengths != {len(self.trials)}:
            raise ValueError(f"the lists of {self.persona!r} must be as long as its trials")
        _each_once(f"trial of {self.persona!r}", self.trials)
        return self


class AgentResults(Record):
    name: str
    version: str | None
    use: str = Field(description="what it is, e.g. scripted")
    models: dict[str, str] = Field(description="role -> model, of roles that a model played")
    cases: list[CaseResults]

    @model_validator(mode="after")
    def _cases_once(self) -> AgentResults:
        _each_once(f"persona of {self.name!r}", [each.persona for each in self.cases])
        return self


class RubricContract(Record):
    """What a rubric asks, and who decided it."""

    dimension: str
    digest: str = Field(description="of its method, trigger, weight, severity and min")
    judge: str | None = Field(description="model and digest of the prompt; null: no model judged")


class TaskResults(Record):
    id: str
    version: str
    source: str = Field(description="suite path, or node id of a decorated function")
    seed: str
    files: dict[str, str] = Field(description="files of the suite -> first digits of sha256")
    scoring: str = Field(description="how a trial passes, in words")
    rubrics: dict[str, RubricContract]
    agents: list[AgentResults]

    @model_validator(mode="after")
    def _agents_once(self) -> TaskResults:
        _each_once(f"agent of {self.id!r}", [each.name for each in self.agents])
        return self


class Baseline(Record):
    schema_: str = Field(SCHEMA, alias="schema")
    run_id: str
    label: str | None
    created: str | None
    plugin_version: str | None
    settings: dict[str, Any] = Field(description="those that were not the default")
    tasks: list[TaskResults]

    @model_validator(mode="after")
    def _tasks_once(self) -> Baseline:
        _each_once("task", [f"{each.id} of {each.source}" for each in self.tasks])
        return self


def _each_once(what: str, names: Sequence[object]) -> None:
    """A merge that kept both sides would leave one of them unread."""
    for name, many in Counter(names).items():
        if many > 1:
            raise ValueError(f"{what} {name} stands there {many} times; keep one")


def baseline_schema() -> dict[str, object]:
    """The JSON Schema of a baseline file."""
    schema = Baseline.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def baseline_from(
    directory: RunDirectory, scored: Iterable[tuple[Source, Sequence[ScoredTrial]]]
) -> Baseline:
    """A run, of which plan and ledger were read and scored, as a baseline."""
    manifest = read_json(directory.path / "manifest.json")
    return Baseline(
        run_id=directory.run_id,
        label=manifest.get("label"),
        created=manifest.get("created"),
        plugin_version=manifest.get("plugin_version"),
        settings={name: each["value"] for name, each in manifest.get("settings", {}).items()},
        tasks=[_task(source, trials) for source, trials in scored],
    )


def _task(source: Source, trials: Sequence[ScoredTrial]) -> TaskResults:
    rubrics = {each.id: each for trial in trials for each in trial.rubrics}
    agents = dict.fromkeys(each.trial.agent for each in trials)
    return TaskResults(
        id=source.task,
        version=source.version,
        source=source.name,
        seed=source.seed,
        files={path: digest[:16] for path, digest in source.files.items()},
        scoring=_scoring(source.scoring),
        rubrics={name: _contract(each, trials) for name, each in rubrics.items()},
        agents=[
            _agent(source, name, [each for each in trials if each.trial.agent == name])
            for name in agents
        ],
    )


def _scoring(scoring: Scoring | None) -> str:
    if scoring is None:
        return "no hard rubric failed"
    weights = f"completion {scoring.completion:g}, robustness {scoring.robustness:g}"
    if scoring.pass_on is not None:
        return f"{scoring.pass_on} alone; {weights}"
    return f"task score at least {scoring.pass_mark:g}; {weights}"


def _contract(rubric: Rubric, trials: Sequence[ScoredTrial]) -> RubricContract:
    judge = None
    if rubric.spec.method == JUDGE:
        bound = {_judge(each, rubric.id) for each in trials if rubric.id in each.verdicts}
        judge = " and ".join(sorted(bound - {""})) or None
    return RubricContract(dimension=rubric.dimension, digest=_digest(rubric), judge=judge)


def _judge(trial: ScoredTrial, rubric: str) -> str:
    bound = binding_of(trial.verdicts[rubric].details)
    return f"{without_secrets(bound.model)}, prompt {bound.prompt}" if bound else ""


def _digest(rubric: Rubric) -> str:
    """Of all that decides its verdict and what that counts for."""
    trigger = asdict(rubric.trigger) if rubric.trigger else None
    what = (rubric.dimension, asdict(rubric.spec), trigger, rubric.weight, rubric.severity)
    text = json.dumps([*what, float(rubric.min)], sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _agent(source: Source, name: str, trials: Sequence[ScoredTrial]) -> AgentResults:
    personas: dict[str, list[ScoredTrial]] = {}
    for each in trials:
        personas.setdefault(each.trial.persona, []).append(each)
    return AgentResults(
        name=name,
        version=source.agents.get(name),
        use=without_secrets(source.uses.get(name, "")),
        models=dict(source.models.get(name, {})),
        cases=[_case(persona, found) for persona, found in personas.items()],
    )


def _case(persona: str, trials: Sequence[ScoredTrial]) -> CaseResults:
    rubrics = dict.fromkeys(rubric.id for each in trials for rubric in each.rubrics)
    found = ((each, _scores(trials, each)) for each in rubrics)
    return CaseResults(
        persona=persona,
        trials=[each.trial.number for each in trials],
        passed=[each.score.passed for each in trials],
        scores=[_rounded(each.score.task_score) for each in trials],
        rubrics={name: each for name, each in found if measured(each)},
    )


def _scores(trials: Sequence[ScoredTrial], rubric: str) -> list[float | None]:
    known = (each.verdicts.get(rubric) for each in trials)
    return [_rounded(each.score) if each else None for each in known]


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, _DIGITS)


def write_baseline(baseline: Baseline, path: Path) -> None:
    """A file with one line a list, so that a change is a short diff."""
    text = to_json(baseline.model_dump(mode="json", by_alias=True), indented=True).decode()
    write_bytes(path, _LIST.sub(_on_one_line, text).encode())


def _on_one_line(found: re.Match[str]) -> str:
    return "[" + ", ".join(each.strip() for each in found[1].split(",\n")) + "]"


def read_baseline(path: Path) -> Baseline:
    """A baseline file; RunError says in one line what is wrong with it."""
    document = read_json(path)
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        made = "`dialeval baseline RUN -o FILE` of this version writes it anew"
        raise RunError(f"{path}: its schema is {schema!r}, and {SCHEMA!r} is read here; {made}")
    try:
        return Baseline.model_validate(document)
    except ValidationError as error:
        raise RunError(f"{path}: is no baseline: {_first(error)}") from None


def unmeasured(baseline: Baseline) -> int:
    """Trials of which nothing is known: of a run that was stopped, most."""
    agents = (agent for task in baseline.tasks for agent in task.agents)
    return sum(each is None for agent in agents for case in agent.cases for each in case.passed)


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"


def measured(values: Iterable[float | None]) -> list[float]:
    """Those that are known."""
    return [float(each) for each in values if each is not None]
