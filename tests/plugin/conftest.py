"""A small shop: suites are written one section at a time, and run in this process."""

from __future__ import annotations

import json
import os
import pkgutil
import textwrap
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import pytest_dialeval

# pytester forgets every module that a run imported; numpy and pydantic don't survive that twice.
for _module in pkgutil.walk_packages(pytest_dialeval.__path__, "pytest_dialeval."):
    import_module(_module.name)
for _name in ("numpy", "numpy.random", "scipy.special", "tabulate", "click.testing", "jsonschema"):
    import_module(_name)

CLERK = """
replies:
  - {when: {keyword: {any: [lamp]}}, say: ["Hello! The lamp is in stock."]}
  - {when: {keyword: {any: [discount]}}, say: ["I guarantee you half the price."]}
otherwise: ["You are welcome. Goodbye."]
"""
BUYER = {
    "id": "buyer",
    "script": {
        "states": {
            "start": {"say": ["Is the lamp in stock?"], "next": [{"to": "bye"}]},
            "bye": {"say": ["Thanks, bye."], "end": True},
        }
    },
}
SECTIONS: Mapping[str, Any] = {
    "dialeval": 1,
    "task": {"id": "shop", "max_rounds": 4},
    "agents": {"clerk": {"use": "scripted", "script": "clerk.yaml"}},
    "personas": [BUYER],
    "rubrics": [{"id": "greet", "dimension": "completion", "keyword": {"any": ["Hello"]}}],
}
STRICT = ("-W", "error", "--strict-markers", "--strict-config")


def rubric(name: str, word: str = "Hello", **keys: Any) -> dict[str, Any]:
    """A rubric that passes where the clerk says the word; keys replace and add."""
    given = {"id": name, "dimension": "completion", "keyword": {"any": [word]}, **keys}
    return {key: value for key, value in given.items() if value is not None}


def persona(name: str, *lines: str, **keys: Any) -> dict[str, Any]:
    """A persona that says the lines, in order, and leaves with the last."""
    said = lines or ("Is the lamp in stock?", "Thanks, bye.")
    names = ["start", *(f"s{number}" for number in range(2, len(said) + 1))]
    states: dict[str, Any] = {}
    for place, line in enumerate(said):
        last = place == len(said) - 1
        way = {"end": True} if last else {"next": [{"to": names[place + 1]}]}
        states[names[place]] = {"say": [line], **way}
    return {"id": name, "script": {"states": states}, **keys}


def told(case: ElementTree.Element) -> list[ElementTree.Element]:
    """What JUnit's XML says of a test case beside its properties: nothing where it passed."""
    return [each for each in case if each.tag != "properties"]


def properties(case: ElementTree.Element) -> dict[str, str]:
    """The properties of a test case in JUnit's XML."""
    return {str(each.get("name")): str(each.get("value")) for each in case.iter("property")}


class Shop:
    """The folder of one test, with suites in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.write("clerk.yaml", CLERK)

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def suite(self, name: str = "shop", **sections: Any) -> Path:
        """`<name>.dialeval.yaml`; a section that is None is left out, lists stand one a line."""
        wanted = {**SECTIONS, **sections}
        lines = []
        for key, value in wanted.items():
            if isinstance(value, list) and value:
                lines += [f"{key}:", *(f"  - {json.dumps(each)}" for each in value)]
            elif value is not None:
                lines.append(f"{key}: {json.dumps(value)}")
        return self.write(f"{name}.dialeval.yaml", "\n".join(lines) + "\n")

    def run(self, *arguments: str) -> pytest.RunResult:
        """Pytest in this process with our plugin alone; warnings are errors."""
        return self.pytester.runpytest_inprocess("-p", "dialeval", *STRICT, *arguments)

    def ids(self, *arguments: str) -> list[str]:
        """Node ids as --collect-only lists them."""
        result = self.run("--collect-only", "-q", *arguments)
        assert result.ret in (0, 5), result.outlines
        return [line for line in result.outlines if "::" in line and " " not in line]

    def items(self, *arguments: str) -> list[pytest.Item]:
        """The items as collected."""
        return self.pytester.inline_genitems("-p", "dialeval", *STRICT, *arguments)[0]

    def line_of(self, name: str, text: str) -> int:
        """The number, from 1, of the only line of a file that has the text."""
        lines = (self.path / name).read_text(encoding="utf-8").splitlines()
        [found] = [number for number, line in enumerate(lines, 1) if text in line]
        return found

    @property
    def runs(self) -> list[Path]:
        """Run directories, oldest first."""
        folder = self.path / ".dialeval" / "runs"
        return sorted(each for each in folder.glob("*") if each.is_dir())

    @property
    def last_run(self) -> Path:
        return max(self.runs, key=lambda each: (each / "manifest.json").stat().st_mtime_ns)

    def record(self, name: str) -> Any:
        """A JSON file of the last run."""
        return json.loads((self.last_run / f"{name}.json").read_text(encoding="utf-8"))

    @property
    def summary(self) -> Any:
        return self.record("summary")

    def agent_figures(self, task: int = 0, agent: int = 0) -> Any:
        return self.summary["tasks"][task]["agents"][agent]

    def traces(self) -> list[list[dict[str, Any]]]:
        """Every trace of the last run, as events."""
        return [
            [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            for path in sorted((self.last_run / "traces").glob("*.jsonl"))
        ]

    def junit(self, *arguments: str) -> dict[str, ElementTree.Element]:
        """Run with --junitxml; test cases by their name."""
        self.run("--junitxml=junit.xml", *arguments)
        tree = ElementTree.parse(self.path / "junit.xml")
        return {str(each.get("name")): each for each in tree.iter("testcase")}


@pytest.fixture
def shop(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """An empty folder with the clerk's script in it, far from any of our own settings."""
    for name in [each for each in os.environ if each.startswith("DIALEVAL_")]:
        monkeypatch.delenv(name)
    # Other plugins cost a second a run; test_manners.py runs beside them.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return Shop(pytester)
