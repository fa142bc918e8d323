"""What ran, frozen; secrets and places of this machine never."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

import pytest_dialeval
from pytest_dialeval.runs import manifest as module
from pytest_dialeval.runs.manifest import code_fingerprint, manifest
from pytest_dialeval.traces.json_bytes import to_json
from tests.runs.samples import planned, rubric, source

SOURCE = replace(
    source([rubric("r")], [planned()]),
    agents={"a": "v7", "b": None, "c": None},
    uses={"a": "scripted", "b": "command:agent --api-key abc123"},
    models={"a": {"judge": "openai:gpt-4o"}, "b": {}},
)


def made(**settings: object) -> dict[str, object]:
    shown = {
        name: {"value": value, "source": f"--dialeval-{name}"} for name, value in settings.items()
    }
    document = manifest("20260102-030405-abcdef", [SOURCE], label="nightly", settings=shown)
    found: dict[str, object] = json.loads(to_json(document))
    return found


def test_what_it_holds() -> None:
    found = made(trials=3)
    assert datetime.fromisoformat(str(found.pop("created"))).tzinfo is not None
    assert found.pop("python") and found.pop("platform")
    assert found == {
        "schema": "dialeval.manifest/1",
        "run_id": "20260102-030405-abcdef",
        "label": "nightly",
        "plugin_version": pytest_dialeval.__version__,
        "code": code_fingerprint(),
        "settings": {"trials": {"value": 3, "source": "--dialeval-trials"}},
        "sources": {
            "s.dialeval.yaml": {
                "suite": "s.dialeval.yaml",
                "sha256": "ab" * 32,
                "files": {"s.dialeval.yaml": "ab" * 32},
                "task": "t",
                "version": "3",
                "seed": "t",
                "models": {"a": {"judge": "openai:gpt-4o"}},
                "agents": {
                    "a": {"use": "scripted", "version": "v7"},
                    "b": {"use": "command:agent --api-key ***", "version": None},
                    "c": {"use": "", "version": None},
                },
            }
        },
    }


def test_no_place_of_this_machine_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
    found = made(
        runs="/home/somebody/runs", agent=["x=command:run --token t0k3n", "y=python:shop:Agent"]
    )
    assert "runs" not in found["settings"]  # type: ignore[operator]
    text = json.dumps(found)
    for word in ("/home", str(Path.cwd()), str(Path(module.__file__).parent), "secret", "t0k3n"):
        assert word not in text
    assert not [each for each in strings(found) if each.startswith(("/", "~"))]


def strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in (key, *strings(each))]
    if isinstance(value, list):
        return [text for each in value for text in strings(each)]
    return [value] if isinstance(value, str) else []


def test_the_fingerprint_changes_with_any_file_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fingerprint() -> str:
        code_fingerprint.cache_clear()
        return code_fingerprint()

    try:
        package = tmp_path / "pytest_dialeval"
        (package / "runs").mkdir(parents=True)
        file = package / "runs" / "manifest.py"
        file.write_text("a = 1\n", encoding="utf-8")
        monkeypatch.setattr(module, "__file__", str(file))
        first = fingerprint()
        assert fingerprint() == first
        (package / "runs" / "notes.txt").write_text("x", encoding="utf-8")
        assert fingerprint() == first
        file.write_text("a = 2\n", encoding="utf-8")
        second = fingerprint()
        file.rename(package / "runs" / "manifest2.py")
        assert len({first, second, fingerprint()}) == 3
    finally:
        code_fingerprint.cache_clear()
