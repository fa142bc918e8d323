"""A run as a small file."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_dialeval.errors import RunError
from pytest_dialeval.records.suite import Scoring
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.runs.baseline import (
    Baseline,
    baseline_from,
    baseline_schema,
    read_baseline,
    write_baseline,
)
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.figures import score_source

from .samples import facts, passed, planned, rubric, source, two_personas

JUDGE = {"model": "openai:m, temperature 0", "prompt": "c0ffee", "rubric": "1", "plugin": "1"}


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    made = RunDirectory(tmp_path / "20261130-162155-3fa9c1")
    made.create()
    setting = {"value": 3, "source": "--dialeval-trials"}
    made.write("manifest", {"label": "nightly", "settings": {"trials": setting}})
    return made


def made(directory: RunDirectory) -> Baseline:
    sample, known = two_personas()
    return baseline_from(directory, [(sample, score_source(sample, known))])


def test_the_results_of_each_trial(directory: RunDirectory) -> None:
    baseline = made(directory)
    assert (baseline.run_id, baseline.label) == (directory.run_id, "nightly")
    assert baseline.settings == {"trials": 3}
    [task] = baseline.tasks
    assert (task.id, task.version, task.seed, task.files) == (
        *("t", "3", "t"),
        {"s.dialeval.yaml": "ab" * 8},
    )
    assert task.scoring == "task score at least 0.7; completion 0.8, robustness 0.2"
    [agent] = task.agents
    assert (agent.name, agent.version, agent.use) == ("a", "v7", "scripted")
    first, second = agent.cases
    assert (first.persona, first.trials, first.passed) == ("p", [1, 2, 3], [True, False, False])
    assert first.scores == [0.98, 0.38, 0.0]
    assert first.rubrics["promise"] == [1.0, None, 0.0]
    assert (second.passed[2], second.scores[2]) == (None, None)
    assert second.rubrics["explain"] == [1.0, 1.0, None]


def test_it_is_read_as_it_was_written_and_fits_its_schema(directory: RunDirectory) -> None:
    path = directory.path / "baseline.json"
    baseline = made(directory)
    write_baseline(baseline, path)
    assert read_baseline(path) == baseline
    text = path.read_text(encoding="utf-8")
    assert '"passed": [true, false, false],\n' in text
    jsonschema.Draft202012Validator(baseline_schema()).validate(json.loads(text))


def test_text_in_a_file_is_never_taken_for_a_list(directory: RunDirectory) -> None:
    path = directory.path / "baseline.json"
    odd = made(directory).model_copy(update={"label": "[\n  1,\n  2\n]"})
    write_baseline(odd, path)
    assert read_baseline(path).label == odd.label


def test_what_a_rubric_asks_is_digested_and_where_it_stands_is_not(directory: RunDirectory) -> None:
    def digest(**changed: object) -> str:
        one = replace(rubric("r"), **changed)  # type: ignore[arg-type]
        sample = source([one], [planned()])
        [task] = baseline_from(directory, [(sample, score_source(sample, {}))]).tasks
        return task.rubrics["r"].digest

    same = digest()
    assert digest(file="elsewhere.yaml", line=9, tags=("x",)) == same
    others = [
        digest(spec=MatcherSpec("keyword", {"any": ["y"]})),
        *(digest(weight=2.0), digest(severity="soft"), digest(min=0.5), digest(dimension="safety")),
    ]
    assert len({same, *others}) == 6


def test_who_judged_is_kept(directory: RunDirectory) -> None:
    judged = replace(rubric("r"), spec=MatcherSpec("judge", {"criterion": "nice"}))
    trial = planned()
    verdict = Verdict("r", "passed", score=1.0, details={"judge": JUDGE})
    sample = source([judged], [trial])
    scored = score_source(sample, {trial.id: facts(trial, verdict)})
    [task] = baseline_from(directory, [(sample, scored)]).tasks
    assert task.rubrics["r"].judge == "openai:m, temperature 0, prompt c0ffee"


@pytest.mark.parametrize(
    ("scoring", "words"),
    [
        (None, "no hard rubric failed"),
        (Scoring(pass_on="r"), "r alone; completion 0.8, robustness 0.2"),
    ],
)
def test_how_a_trial_passes_in_words(
    directory: RunDirectory, scoring: Scoring | None, words: str
) -> None:
    sample = source([rubric("r")], [planned()], scoring=scoring)
    [task] = baseline_from(directory, [(sample, score_source(sample, {}))]).tasks
    assert task.scoring == words


def test_secrets_in_what_an_agent_is_stay_out(directory: RunDirectory) -> None:
    trial = planned()
    sample = source([rubric("r")], [trial], uses={"a": "command:bot --api-key hunter2"})
    scored = score_source(sample, {trial.id: facts(trial, passed("r"))})
    [task] = baseline_from(directory, [(sample, scored)]).tasks
    assert task.agents[0].use == "command:bot --api-key ***"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("NaN", "is no JSON"),
        ('{"schema": "dialeval.summary/1"}', "its schema is 'dialeval.summary/1', and"),
        ('{"schema": "dialeval.baseline/1", "tasks": 3}', "is no baseline: "),
    ],
)
def test_what_is_no_baseline_is_refused_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RunError, match=says) as raised:
        read_baseline(path)
    assert "\n" not in str(raised.value)


def double_trial(document: Any) -> None:
    numbers = document["tasks"][0]["agents"][0]["cases"][0]["trials"]
    numbers[1] = numbers[0]


def double(*keys: Any) -> Callable[[Any], None]:
    """A list that has its first member twice."""

    def change(document: Any) -> None:
        for key in keys:
            document = document[key]
        document.append(document[0])

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (double_trial, "trial of 'p' 1 stands there 2 times; keep one"),
        (double("tasks", 0, "agents", 0, "cases"), "persona of 'a' p stands there 2 times"),
        (double("tasks", 0, "agents"), "agent of 't' a stands there 2 times; keep one"),
        (double("tasks"), "task t of s.dialeval.yaml stands there 2 times; keep one"),
    ],
)
def test_both_sides_of_a_merge_are_refused(
    directory: RunDirectory, change: Callable[[Any], None], says: str
) -> None:
    path = directory.path / "baseline.json"
    write_baseline(made(directory), path)
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(RunError) as error:
        read_baseline(path)
    assert says in str(error.value) and "\n" not in str(error.value)


def test_the_mark_of_an_editor_is_no_mistake(directory: RunDirectory) -> None:
    path = directory.path / "baseline.json"
    write_baseline(made(directory), path)
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_baseline(path) == made(directory)


def test_a_score_that_is_no_number_is_refused(directory: RunDirectory) -> None:
    path = directory.path / "baseline.json"
    write_baseline(made(directory), path)
    path.write_text(path.read_text(encoding="utf-8").replace("0.38", "NaN"), encoding="utf-8")
    with pytest.raises(RunError, match="is no JSON"):
        read_baseline(path)
