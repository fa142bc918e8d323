"""summary.json against its published schema."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pytest_dialeval.records.suite import PassHatK
from pytest_dialeval.records.transcript import OUTCOMES
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.gates import Bound, Bounds
from pytest_dialeval.runs.record import read_facts, summarise
from pytest_dialeval.runs.summary import Outcomes, SettingFigure, Summary, summary_schema
from tests.runs.samples import planned, rubric, source, two_personas, written

PAGES = Path(__file__).resolve().parents[2] / "docs" / "reference"


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = summary_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.fixture
def summary(tmp_path: Path) -> Summary:
    made, known = two_personas()
    directory = RunDirectory(tmp_path / "20260102-030405-abcdef")
    directory.create()
    lines = [
        (trial, value)
        for trial, facts in known.items()
        for value in (facts.conversation, *facts.verdicts.values())
        if value is not None
    ]
    written(directory.path / "ledger.main.jsonl", *lines)
    return summarise(
        directory,
        [made, source([rubric("r")], [planned(task="u")], task="u")],
        read_facts(directory),
        label="nightly",
        exit_status=10,
        settings={
            "trials": SettingFigure(value=3, source="--dialeval-trials"),
            "agent": SettingFigure(value=["a"], source="DIALEVAL_AGENT"),
            "distinct-models": SettingFigure(value=True, source="x"),
        },
        notes=["a note"],
        bounds=lambda each: Bounds(
            pass_hat_k=Bound(PassHatK(3, 0.5), each.name),
            unmeasured=Bound(0, "default"),
            distinct_models=Bound(True, "x"),
        ),
    )


def document(summary: Summary) -> Any:
    return json.loads(json.dumps(summary.model_dump(mode="json", by_alias=True), allow_nan=False))


def test_a_summary_is_valid(summary: Summary, validator: Draft202012Validator) -> None:
    assert [each.message for each in validator.iter_errors(document(summary))] == []


def test_it_has_the_keys_that_scripts_read(summary: Summary) -> None:
    found = document(summary)
    assert found.keys() >= {
        "schema",
        "run_id",
        "label",
        "exit_status",
        "outcomes",
        "tasks",
        "gates",
    }
    assert found["schema"] == "dialeval.summary/1"
    assert found["outcomes"].keys() == {*OUTCOMES, "not_run"}
    agent = found["tasks"][0]["agents"][0]
    assert agent.keys() >= {
        "name", "agent_version", "cases", "trials", "unmeasured", "pass_rate", "pass_hat_k",
        "pass_at_k", "task_score_mean", "dimensions", "safety_breaches", "personas", "rubrics",
    }  # fmt: skip
    assert agent["pass_hat_k"].keys() == {"1", "2", "3"}
    assert agent["pass_hat_k"]["1"].keys() >= {"value", "value_pessimistic", "low", "high", "cases"}
    assert agent["dimensions"].keys() == {"completion", "robustness", "safety"}
    assert agent["rubrics"][0].keys() >= {"n", "mean", "not_applicable", "unscored"}


def test_it_is_read_back(summary: Summary) -> None:
    assert Summary.model_validate(document(summary)) == summary


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("run_id",), 3),
        (("exit_status",), "0"),
        (("outcomes", "completed"), -0.5),
        (("tasks", 0, "selection"), "some"),
        (("tasks", 0, "agents", 0, "pass_hat_k", "1", "value"), "x"),
        (("tasks", 0, "agents", 0, "rubrics"), None),
        (("gates", 0, "status"), "maybe"),
        (("surprise",), 1),
    ],
)
def test_what_the_schema_refuses(
    summary: Summary, validator: Draft202012Validator, place: tuple[str | int, ...], value: object
) -> None:
    found = document(summary)
    node = found
    for each in place[:-1]:
        node = node[each]
    node[place[-1]] = value
    assert [*validator.iter_errors(found)]


def test_every_key_is_required(validator: Draft202012Validator) -> None:
    missing = {each.message for each in validator.iter_errors({})}
    assert "'tasks' is a required property" in missing
    assert "'gates' is a required property" in missing


def test_outcomes_are_all_there() -> None:
    assert {*Outcomes.model_fields} == {*OUTCOMES, "not_run"}


# ---- the page


def page() -> str:
    return (PAGES / "summary.md").read_text(encoding="utf-8")


def test_every_field_is_on_its_page() -> None:
    schema = summary_schema()
    forms = [schema, *schema["$defs"].values()]  # type: ignore[attr-defined]
    for form in forms:
        for key in form["properties"]:
            assert re.search(rf"^\| `{key}`", page(), re.MULTILINE), key


def test_the_example_on_the_page_is_valid(validator: Draft202012Validator) -> None:
    example = re.search(r"```json\n(.*?)```", page(), re.DOTALL)
    assert example is not None
    found = json.loads(example[1])
    assert [each.message for each in validator.iter_errors(found)] == []
    assert Summary.model_validate(found)
