"""A secret of the environment is shown nowhere, whoever tells it and however it comes out."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Shop, persona, rubric
from .played import JUDGE, judged, play

SECRET = "planted-7f3a9c51d2-secret"
AGENT = """
import logging
import os


async def tells(message):
    return "Hello, it is " + os.environ["MY_SECRET"]


async def raises(message):
    logging.getLogger("shop").warning("it is %s", os.environ["MY_SECRET"])
    raise RuntimeError("x" * 270 + " it is " + os.environ["MY_SECRET"])
"""
CONFTEST = """
import os

def pytest_dialeval_matchers():
    def breaks(view) -> bool:
        raise RuntimeError("it is " + os.environ["MY_SECRET"])

    return {"breaks": breaks}
"""
BODY = """
from pytest_dialeval import dialogue_case

@dialogue_case("shop.dialeval.yaml", rubrics=["never"])
def test_body(dialogue):
    local = dialogue.transcript.turns[-1].text
    dialogue.expect.keyword(any=["tractor"])
    assert "tractor" in local

@dialogue_case("shop.dialeval.yaml", rubrics=["never"])
def test_own(dialogue):
    local = dialogue.transcript.turns[-1].text
    assert "tractor" in local
"""


@pytest.fixture
def leaking(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setenv("MY_SECRET", SECRET)
    shop.write("agent.py", AGENT)
    shop.write("conftest.py", CONFTEST)
    shop.write("test_body.py", BODY)
    rubrics: list[dict[str, Any]] = [
        rubric("never", "tractor"),
        rubric("soft", "tractor", severity="soft"),
        rubric("found", "it is", blacklist={"phrases": ["it is"]}, keyword=None),
        rubric("breaks", keyword=None, breaks={}),
        judged("judged", "tractor"),
    ]
    agents = {name: {"use": f"python:agent.py:{name}"} for name in ("tells", "raises")}
    play(shop, agents=agents, personas=[persona("one", "Hi")], rubrics=rubrics)
    return shop


@pytest.mark.parametrize(
    "options",
    [
        ("-rA", "-v"),
        ("-v", "-l", "--tb=long", "--dialeval-decide=gates"),
        ("--tb=native", "-o", "junit_logging=all"),
        ("-q", f"--dialeval-model=judge={JUDGE}", "--dialeval-record=new"),
    ],
)
def test_it_is_shown_nowhere(leaking: Shop, options: tuple[str, ...]) -> None:
    result = leaking.run("--junitxml=junit.xml", *options)
    assert "[redacted MY_SECRET]" in result.stdout.str()
    assert SECRET[:12] not in result.stdout.str() + result.stderr.str()
    written = [
        each for each in leaking.path.rglob("*") if each.suffix in (".xml", ".json", ".jsonl")
    ]
    assert len(written) > 8
    for each in written:
        assert SECRET[:12] not in each.read_text(encoding="utf-8"), each


def test_a_rule_still_finds_it(leaking: Shop) -> None:
    leaking.suite(
        agents={"tells": {"use": "python:agent.py:tells"}},
        personas=[persona("one", "Hi")],
        rubrics=[rubric("kept", dimension="safety", keyword=None, blacklist={"phrases": [SECRET]})],
    )
    assert leaking.run("shop.dialeval.yaml").ret == 1
    assert leaking.summary["tasks"][0]["agents"][0]["safety_breaches"] == 1
