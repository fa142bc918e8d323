"""Suites in one session never mix: conversations, agents, figures."""

from __future__ import annotations

import json

import pytest

from .conftest import Shop, persona, rubric

COUNTING = """
from pathlib import Path

def agent(message):
    with Path({log!r}).open("a") as log:
        log.write("x")
    return {answer!r}
"""


def test_equal_suites_hold_conversations_of_their_own(shop: Shop) -> None:
    log = shop.path / "calls"
    shop.write("agent.py", COUNTING.format(log=str(log), answer="Hello"))
    agents = {"own": {"use": "python:agent.py:agent"}}
    shop.suite("one", agents=agents, trials=2)
    shop.suite("two", agents=agents, trials=2)

    shop.run().assert_outcomes(passed=4)

    assert len(log.read_text(encoding="utf-8")) == 8  # two turns each
    assert sum(shop.summary["outcomes"].values()) == 4
    assert [each["source"] for each in shop.summary["tasks"]] == [
        "one.dialeval.yaml",
        "two.dialeval.yaml",
    ]


def test_suites_that_share_a_task_id_are_named_with_their_paths(shop: Shop) -> None:
    shop.write("deep/clerk.yaml", "otherwise: [Hm]\n")
    shop.suite("one")
    shop.suite("deep/two")
    shop.suite("three", task={"id": "till", "max_rounds": 4})

    shop.run().stdout.fnmatch_lines_random(
        [
            "shop (one.dialeval.yaml)  *1.000*",
            "shop (deep/two.dialeval.yaml)  *0.000*",
            "till  *1.000*",
            "shop (deep/two.dialeval.yaml) / clerk failed: greet 1 of 1",
        ]
    )


def test_files_of_one_name_in_two_folders_are_two_agents(shop: Shop) -> None:
    for folder, answer in (("a", "Hello"), ("b", "What now?")):
        log = str(shop.path / f"{folder}.log")
        shop.write(f"{folder}/agent.py", COUNTING.format(log=log, answer=answer))
        shop.suite(f"{folder}/shop", agents={"own": {"use": "python:agent.py:agent"}})

    shop.run().assert_outcomes(passed=1, failed=1)

    rates = {each["source"]: each["agents"][0]["pass_rate"] for each in shop.summary["tasks"]}
    assert rates == {"a/shop.dialeval.yaml": 1.0, "b/shop.dialeval.yaml": 0.0}


def test_two_agents_meet_the_same_user(shop: Shop) -> None:
    buyer = persona("buyer")
    buyer["script"]["states"]["start"]["say"] = [f"Lamp number {n}?" for n in range(300)]
    scripted = {"use": "scripted", "script": "clerk.yaml"}
    shop.suite(personas=[buyer], agents={"one": scripted, "two": scripted}, trials=3)
    shop.run().assert_outcomes(passed=6)

    said: dict[str, list[str]] = {}
    for start, first, *_ in sorted(shop.traces(), key=lambda each: each[0]["trial"]):
        said.setdefault(start["agent"], []).append(first["text"])

    assert said["one"] == said["two"]
    assert len(set(said["one"])) > 1  # but each trial another line


def test_suites_with_and_without_scoring_side_by_side(shop: Shop) -> None:
    half = [rubric("greet"), rubric("farm", "tractor", severity="soft")]
    shop.suite("scored", rubrics=half, scoring={"pass": 0.9})
    shop.suite("plain", rubrics=half)

    result = shop.run()

    assert result.parseoutcomes() == {"passed": 2, "failed": 1, "soft": 2}
    rates = {each["source"]: each["agents"][0]["pass_rate"] for each in shop.summary["tasks"]}
    assert rates == {"scored.dialeval.yaml": 0.0, "plain.dialeval.yaml": 1.0}


def test_personas_beside_recordings_beside_a_body(shop: Shop) -> None:
    shop.suite("spoken")
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    shop.write("talk.jsonl", json.dumps({"task_id": "a", "messages": said}))
    shop.suite(
        "recorded",
        agents=None,
        personas=None,
        transcripts=[{"format": "openai", "path": "talk.jsonl"}],
    )
    shop.write(
        "test_body.py",
        "from pytest_dialeval import dialogue_case\n\n"
        '@dialogue_case("spoken.dialeval.yaml")\n'
        "def test_body(dialogue):\n    dialogue.expect.keyword('Hello')\n\n"
        "def test_other():\n    pass\n",
    )

    result = shop.run()

    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["3 conversations; rubrics: 3 passed"])
    assert {each["source"] for each in shop.summary["tasks"]} == {
        "spoken.dialeval.yaml",
        "recorded.dialeval.yaml",
        "test_body.py::test_body",
    }


def test_one_run_directory_serves_them_all(shop: Shop) -> None:
    shop.suite("a/one", agents={"own": {"use": "python:own.py:own"}})
    shop.suite("b/two", agents={"own": {"use": "python:own.py:own"}})
    shop.write("own.py", "def own(message):\n    return 'Hello'\n")

    shop.run().assert_outcomes(passed=2)

    assert len(shop.runs) == 1
    assert not (shop.path / "a/.dialeval").exists()


def test_from_a_folder_below_runs_still_stand_at_rootdir(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.pytester.makeini("[pytest]")
    shop.write("deep/clerk.yaml", "otherwise: [Hello]\n")
    shop.suite("deep/shop")
    monkeypatch.chdir(shop.path / "deep")

    shop.run().assert_outcomes(passed=1)

    assert len(shop.runs) == 1
    assert shop.summary["tasks"][0]["source"] == "deep/shop.dialeval.yaml"


def test_one_suite_named_twice_on_the_command_line_is_held_once(shop: Shop) -> None:
    shop.suite()

    assert shop.run("shop.dialeval.yaml", "shop.dialeval.yaml").ret == 0

    assert shop.summary["outcomes"]["completed"] == 1


def test_a_random_order_changes_no_figure(shop: Shop) -> None:
    shop.suite(
        rubrics=[rubric("greet"), rubric("lamp", "lamp"), rubric("farm", "tractor")],
        personas=[persona("buyer"), persona("thief")],
        trials=3,
    )
    shop.run("-q")
    before = shop.summary["tasks"]

    result = shop.run("-p", "randomly", "--randomly-seed=3", "-v")

    order = [each for each in result.outlines if "::" in each and "PASSED" in each]
    assert order != sorted(order)
    assert shop.summary["tasks"] == before
