"""The schema files in docs/reference are what the command prints."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from pytest_dialeval.cli import main

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["schema"], "suite.schema.json"),
        (["schema", "--summary"], "summary.schema.json"),
        (["schema", "--baseline"], "baseline.schema.json"),
    ],
)
def test_the_file_is_what_the_command_prints(arguments: list[str], name: str) -> None:
    printed = CliRunner().invoke(main, arguments, catch_exceptions=False).output
    assert (REFERENCE / name).read_text(encoding="utf-8") == printed, (
        f"dialeval {' '.join(arguments)} > docs/reference/{name}"
    )


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("example_suites/*/*.dialeval.yaml")), ids=lambda path: path.stem
)
def test_the_example_suites_fit_the_schema(path: Path) -> None:
    schema = json.loads((REFERENCE / "suite.schema.json").read_text(encoding="utf-8"))
    suite = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    jsonschema.Draft202012Validator(schema).validate(suite)


def test_a_misspelt_key_does_not_fit_the_schema() -> None:
    schema = json.loads((REFERENCE / "suite.schema.json").read_text(encoding="utf-8"))
    assert not jsonschema.Draft202012Validator(schema).is_valid({"dialeval": 1, "taks": {}})
