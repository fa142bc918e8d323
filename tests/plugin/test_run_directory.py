"""A run on disk: what ran, what was planned, what was said, and what it adds up to."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from pytest_dialeval.cli import main

from .conftest import Shop, persona, rubric

JUDGED = {"id": "kind", "dimension": "robustness", "judge": "the clerk was kind"}
PROBED = persona(
    "thief",
    traits={"attitude": "adversarial"},
    probes=[{"id": "cheap", "at_user_turn": 2, "say": "Give me a discount!"}],
)


def result_files(shop: Shop) -> list[Any]:
    paths = sorted((shop.last_run / "traces").glob("*.result.json"))
    return [json.loads(each.read_text(encoding="utf-8")) for each in paths]


def test_what_a_run_leaves(shop: Shop) -> None:
    shop.suite(trials=2)

    result = shop.run()

    names = {each.name for each in shop.last_run.iterdir()}
    assert {"manifest.json", "plan.json", "summary.json", "traces"} <= names
    assert not list(shop.last_run.rglob("*.part"))
    traces = sorted(each.name for each in (shop.last_run / "traces").iterdir())
    assert [each.partition(".jsonl")[0] for each in traces if each.endswith(".jsonl")] == [
        each.partition(".result.json")[0] for each in traces if each.endswith(".result.json")
    ]
    assert len(traces) == 4
    result.stdout.fnmatch_lines([f"run: .dialeval/runs/{shop.last_run.name}"])


def test_it_brings_its_own_gitignore(shop: Shop) -> None:
    shop.suite()
    shop.run()

    lines = (shop.path / ".dialeval/runs/.gitignore").read_text(encoding="utf-8").splitlines()
    assert "*" in lines


def test_the_manifest_freezes_what_ran(shop: Shop) -> None:
    suite = shop.suite(
        agents={"clerk": {"use": "scripted", "script": "clerk.yaml", "version": "2.1"}},
        task={"id": "shop", "version": "7"},
        seed="mine",
    )
    shop.run("--dialeval-label", "nightly")

    manifest = shop.record("manifest")
    source = manifest["sources"]["shop.dialeval.yaml"]

    assert manifest["run_id"] == shop.last_run.name
    assert manifest["label"] == "nightly"
    assert source["sha256"] == sha256(suite.read_bytes()).hexdigest()
    assert (
        source["files"]["clerk.yaml"] == sha256((shop.path / "clerk.yaml").read_bytes()).hexdigest()
    )
    assert (source["task"], source["version"], source["seed"]) == ("shop", "7", "mine")
    assert source["agents"] == {"clerk": {"use": "scripted", "version": "2.1"}}
    assert re.fullmatch("[0-9a-f]{32}", manifest["code"])


def test_secrets_of_the_environment_are_nowhere(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    shop.suite()
    shop.run()

    for path in shop.last_run.rglob("*"):
        assert path.is_dir() or b"sk-very-secret" not in path.read_bytes()


def test_the_plan_is_the_whole_denominator_whatever_is_selected(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("greet"), rubric("lamp", "lamp")], trials=3)
    shop.run("-k", "buyer-2 and lamp").assert_outcomes(passed=1)

    [source] = shop.record("plan")["sources"]

    assert [each["number"] for each in source["trials"]] == [1, 2, 3]
    assert source["trials"][0]["rubrics"] == ["greet", "lamp"]
    [(trial, rubrics)] = source["selected"].items()
    assert trial == source["trials"][1]["id"]
    assert rubrics == ["lamp"]


def test_a_trace_tells_the_conversation_from_start_to_end(shop: Shop) -> None:
    shop.suite(personas=[PROBED], seed="mine")
    shop.run()

    [events] = shop.traces()
    start, *turns, end = events

    assert start["event"] == "start"
    assert {key: start[key] for key in ("task", "version", "persona", "agent", "trial")} == {
        "task": "shop",
        "version": "1",
        "persona": "thief",
        "agent": "clerk",
        "trial": 1,
    }
    assert start["traits"] == {"attitude": "adversarial"}
    assert start["seed"] == "mine"
    assert start["digests"].keys() == {"suite", "agent"}
    assert [(each["speaker"], each.get("state"), each.get("probe")) for each in turns] == [
        ("user", "start", None),
        ("agent", None, None),
        ("user", None, "cheap"),
        ("agent", None, None),
        ("user", "s2", None),
        ("agent", None, None),
    ]
    assert turns[3]["text"] == "I guarantee you half the price."
    assert all(each["latency"] >= 0 for each in turns if each["speaker"] == "agent")
    assert (end["event"], end["outcome"], end["ended_by"]) == ("end", "completed", "user")


def test_results_hold_verdicts_whose_evidence_stands_in_the_trace(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("greet"), rubric("lamp", "lamp"), rubric("farm", "tractor")])
    shop.run()

    [result] = result_files(shop)
    [[_, *turns, _]] = shop.traces()

    assert [each["status"] for each in result["verdicts"]] == ["passed", "passed", "failed"]
    for verdict in result["verdicts"]:
        for evidence in verdict["evidence"]:
            text = turns[evidence["turn"] - 1]["text"]
            assert text[evidence["start"] :].startswith(evidence["quote"])
    assert result["verdicts"][2]["searched"] == [2, 4]
    assert result["score"]["passed"] is False
    assert result["conversation"]["outcome"] == "completed"


def schema() -> Any:
    result = CliRunner().invoke(main, ["schema", "--summary"])
    assert result.exit_code == 0
    return json.loads(result.output)


def test_the_published_schema_is_one(shop: Shop) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("case", ["passed", "table", "empty_trials", "recorded", "selected"])
def test_summaries_follow_the_published_schema(shop: Shop, case: str) -> None:
    fee = rubric("fee", "fee", trigger={"user_keyword": ["fee"]})
    table = [
        rubric("greet"),
        rubric("farm", "tractor"),
        rubric("plough", "plough", severity="soft"),
        fee,
        JUDGED,
    ]
    arguments: tuple[str, ...] = ("--dialeval-label=x", "--dialeval-trials=2")
    match case:
        case "passed":
            shop.suite()
        case "table":
            shop.suite(rubrics=table, scoring={"pass": 0.5})
        case "empty_trials":
            shop.suite(rubrics=[fee])
        case "recorded":
            shop.write(
                "talk.jsonl", '{"task_id": "é", "messages": [{"role": "user", "content": "a"}]}'
            )
            sources = [{"format": "openai", "path": "talk.jsonl"}]
            shop.suite(agents=None, personas=None, transcripts=sources)
        case "selected":
            shop.suite(rubrics=table)
            arguments = ("-k", "greet")
    shop.run(*arguments)

    jsonschema.Draft202012Validator(schema()).validate(shop.summary)


def test_the_keys_that_scripts_read(shop: Shop) -> None:
    shop.suite(personas=[persona("buyer"), persona("thief")], trials=2)
    shop.run()

    summary, agent = shop.summary, shop.agent_figures()

    assert summary.keys() >= {"schema", "run_id", "label", "exit_status", "outcomes", "tasks"}
    assert agent.keys() >= {
        "name",
        "agent_version",
        "cases",
        "trials",
        "unmeasured",
        "pass_rate",
        "pass_hat_k",
        "pass_at_k",
        "scored",
        "task_score_mean",
        "dimensions",
        "safety_breaches",
        "personas",
        "rubrics",
    }
    assert agent["dimensions"].keys() == {"completion", "robustness", "safety"}
    assert agent["pass_hat_k"].keys() == {"1", "2"}
    assert agent["pass_hat_k"]["1"].keys() >= {"value", "value_pessimistic", "low", "high", "cases"}
    assert [each["id"] for each in agent["personas"]] == ["buyer", "thief"]
    assert agent["rubrics"][0].keys() >= {"n", "mean", "not_applicable", "unscored"}


def test_outcomes_count_every_conversation(shop: Shop) -> None:
    shop.write("bad.py", "def bad(message):\n    raise OSError('no model')\n")
    shop.write("gone.py", "import nothing_of_this_name\n")
    shop.suite(
        agents={
            "clerk": {"use": "scripted", "script": "clerk.yaml"},
            "bad": {"use": "python:bad.py:bad"},
            "gone": {"use": "python:gone.py:gone"},
        },
        trials=2,
        task={"id": "shop", "max_rounds": 1},
    )
    shop.run()

    counts = {name: count for name, count in shop.summary["outcomes"].items() if count}
    assert counts == {"limit_reached": 2, "agent_error": 2, "harness_error": 2}


def old_run(folder: Path, number: int) -> Path:
    run = folder / f"20200101-0000{number:02d}-abcdef"
    (run / "traces").mkdir(parents=True)
    (run / "summary.json").write_text("{}", encoding="utf-8")
    return run


def test_the_last_twenty_runs_are_kept(shop: Shop) -> None:
    shop.suite()
    runs = shop.path / ".dialeval/runs"
    old = [old_run(runs, number) for number in range(25)]

    shop.run().assert_outcomes(passed=1)

    assert [each.exists() for each in old] == [False] * 6 + [True] * 19
    assert len(shop.runs) == 20


def test_folders_of_others_are_never_removed(shop: Shop) -> None:
    shop.suite()
    runs = shop.path / ".dialeval/runs"
    for number in range(25):
        old_run(runs, number)
    own = [runs / "notes", runs / "2019", runs / "20190101-000000-abcdef"]
    for each in own:
        each.mkdir()

    shop.run().assert_outcomes(passed=1)

    assert all(each.is_dir() for each in own)


def test_two_runs_have_two_folders(shop: Shop) -> None:
    shop.suite()
    shop.run()
    shop.run()

    assert len(shop.runs) == 2
    assert len({(each / "summary.json").read_text(encoding="utf-8") for each in shop.runs}) == 2


def test_names_of_traces_are_safe_and_unique(shop: Shop) -> None:
    shop.suite(personas=[persona("a"), persona("a_1")], trials=11)
    shop.suite("other", personas=[persona("a"), persona("a_1")], trials=11)
    shop.run("-q")

    names = [each.name for each in (shop.last_run / "traces").glob("*.jsonl")]

    assert len(set(names)) == 44
    assert all(re.fullmatch(r"[a-z0-9_.-]+", each) for each in names)
