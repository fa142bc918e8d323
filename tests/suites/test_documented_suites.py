"""Every suite that the documentation shows and that loads, an editor finds valid too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.suites.load import load_suite
from pytest_dialeval.suites.schema import json_schema
from pytest_dialeval.suites.source import read_source

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)(?: title=(\S+))?\n(.*?)^```$", re.M | re.S)
BASE = {
    "dialeval": 1,
    "task": {"id": "t", "variables": {"course": "Yoga"}},
    "personas": [{"id": "p", "script": {"states": {"start": {"say": "Hi.", "end": True}}}}],
    "rubrics": [{"id": "explains", "dimension": "completion", "keyword": "x"}],
}
RUBRIC = {"id": "r", "dimension": "completion"}


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """Language, file name and text of every fenced block; a first comment may name the file."""
    found = []
    for language, title, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        named = re.match(r"# (\S+\.yaml)\n", text)
        found.append((language, title or (named[1] if named else ""), text))
    return found


def suites(text: str) -> Iterator[object]:
    """The suites that a block may be, or be a part of."""
    try:
        shown = yaml.safe_load(text)
    except yaml.YAMLError:
        return
    if isinstance(shown, dict) and "dialeval" in shown:
        yield shown
    elif isinstance(shown, dict):
        yield {**BASE, **shown}
        yield {key: each for key, each in {**BASE, **shown}.items() if key != "personas"}
        yield {**BASE, "rubrics": [{**RUBRIC, **shown}]}
    elif isinstance(shown, list):
        yield {**BASE, "rubrics": shown}
        yield {**BASE, "personas": shown}


@cache
def validator() -> Draft202012Validator:
    return Draft202012Validator(json_schema(builtin_matchers()))


def complaints(folder: Path, suite: object) -> list[str] | None:
    """What the schema finds wrong with a suite; None where it does not load."""
    path = folder / "s.dialeval.yaml"
    path.write_text(yaml.safe_dump(suite, allow_unicode=True), encoding="utf-8")
    try:
        load_suite(path, rootdir=folder, matchers=builtin_matchers())
    except SuiteError:
        return None
    written = read_source(path, path.name).value
    return [f"{each.json_path}: {each.message}" for each in validator().iter_errors(written)]


def checked(page: Path, folder: Path) -> list[list[str]]:
    """The complaints about each suite of a page that loads."""
    for name in ("agents.py", "march.json", "april.json", "recordings/yesterday.jsonl"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    for _, name, text in blocks(page):
        if name:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    shown = [text for language, _, text in blocks(page) if language == "yaml"]
    found = [complaints(folder, each) for text in shown for each in suites(text)]
    return [each for each in found if each is not None]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_loads_is_valid(page: Path, tmp_path: Path) -> None:
    assert not [each for each in checked(page, tmp_path) if each]


def test_most_of_what_is_shown_loads(tmp_path: Path) -> None:
    found = {page.name: len(checked(page, tmp_path / page.name)) for page in PAGES}
    assert found["README.md"] and found["suite.md"] >= 12 and found["matchers.md"] >= 18, found
    assert sum(found.values()) >= 50, found
