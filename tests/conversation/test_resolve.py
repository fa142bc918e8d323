from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.conversation.agent import LimitedFactory
from pytest_dialeval.conversation.resolve import agent_factory
from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.records.suite import AgentSpec
from pytest_dialeval.records.transcript import Transcript
from pytest_dialeval.suites.agent_script import AgentScript
from pytest_dialeval.traces.writer import TraceWriter
from tests.conversation.stage import MATCHERS, held, said


def resolved(root: Path, use: str, objects: Any = None, **keys: Any) -> Any:
    spec = AgentSpec("mine", use, **{"folder": str(root / "suites"), **keys})
    return agent_factory(spec, rootdir=root, matchers=MATCHERS, objects=objects)


def talk(factory: Any) -> Transcript:
    return held(factory, adapted=True, max_rounds=1)


def answer(factory: Any) -> str:
    transcript = talk(factory)
    assert transcript.outcome == "limit_reached", transcript.reason
    return said(transcript, "agent")[0]


def test_python(tmp_path: Path):
    (tmp_path / "agent.py").write_text("def reply(message): return message + '?'")
    assert answer(resolved(tmp_path, "python:agent.py:reply")) == "hello?"
    assert answer(resolved(tmp_path, "python: agent.py:reply")) == "hello?"


def test_scripted_by_record_and_by_path(tmp_path: Path):
    script = AgentScript(otherwise=("yes",))
    assert answer(resolved(tmp_path, "scripted", options={"script": script})) == "yes"
    (tmp_path / "agent.yaml").write_text("otherwise: [no]\n")
    assert answer(resolved(tmp_path, "scripted:agent.yaml")) in ("no", "False")


def test_command_runs_in_the_suites_folder(tmp_path: Path):
    (tmp_path / "suites").mkdir()
    text = 'for line in open(0):\n if \'"turn"\' in line: print(\'{"text": "x"}\')'
    (tmp_path / "suites" / "my agent.py").write_text(text)
    assert answer(resolved(tmp_path, f"command: {sys.executable} 'my agent.py'")) == "x"


def test_replay_of_a_trace(tmp_path: Path):
    path = tmp_path / "old.jsonl"
    with TraceWriter(path) as trace:
        header = {"task": "task", "trial": 1}
        first = held(lambda message: f"{message} 7", trace=trace, header=header, max_rounds=2)
    again = held(
        resolved(tmp_path, "replay", options={"path": str(path), "format": "dialeval"}),
        adapted=True,
        max_rounds=2,
    )
    assert said(again, "agent") == said(first, "agent") == ["hello 7", "hello 7"]
    assert answer(resolved(tmp_path, "replay:old.jsonl")) == "hello 7"


def test_objects_by_name(tmp_path: Path):
    objects = {"fixture": lambda message: "from a fixture"}
    assert answer(resolved(tmp_path, "fixture", objects)) == "from a fixture"


def test_concurrency(tmp_path: Path):
    assert isinstance(resolved(tmp_path, "command:cat", concurrency=2), LimitedFactory)
    assert not isinstance(resolved(tmp_path, "command:cat"), LimitedFactory)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            "scriptde",
            "unknown kind of agent 'scriptde'; did you mean 'scripted'. .allowed: scripted, ",
        ),
        ("pyhton:a:b", "did you mean 'python:module:object'"),
        ("python", "unknown kind of agent 'python'.*did you mean 'python:module:object'"),
        ("fixtrue", "did you mean 'fixture'"),
        ("opnai:gpt-9", "did you mean 'openai:MODEL'"),
        ("openai:", "'openai:' is no model; write openai:NAME"),
        ("openai:m@http:", "base_url must be a URL such as"),
        ("http:", "use must be a URL such as"),
        ("htps://x.example", "did you mean 'https://HOST/PATH'"),
        ("python:nope.py:x", "there is no file 'nope.py'"),
        ("command:", "names no program"),
        ("command:a 'b", "cannot be split into words: No closing quotation"),
        ("scripted", "needs the key 'script'"),
        ("scripted:nope.yaml", "there is no 'nope.yaml' in "),
        ("replay", "needs the key 'path'"),
        ("replay:nope.jsonl", "there is no 'nope.jsonl' in "),
    ],
)
def test_what_cannot_be_resolved_is_one_message(tmp_path: Path, use: str, message: str):
    with pytest.raises(HarnessFault, match=message) as caught:
        resolved(tmp_path, use, {"fixture": None}, line=7)
    assert str(caught.value).startswith("agent 'mine' (line 7): ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["Needy", "three"])
def test_an_object_that_is_no_agent_is_named_once(tmp_path: Path, name: str):
    text = (
        "three = 3\nclass Needy:\n    def __init__(self, brief): ...\n    def reply(self, m): ..."
    )
    (tmp_path / "agent.py").write_text(text)
    with pytest.raises(HarnessFault, match=r"is 3|take the brief in `start`") as caught:
        resolved(tmp_path, f"python:agent.py:{name}", line=7)
    assert str(caught.value).count("'mine'") == 1
    assert str(caught.value).startswith("agent 'mine' (line 7): ")
