"""xdist: a trial stays on one worker, other tests go as the mode says, the summary is the same."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from .conftest import Shop, persona, rubric

SLOW = [
    pytest.param(each, marks=pytest.mark.slow) for each in ("loadscope", "loadfile", "loadgroup")
]
MODES = ("load", *SLOW, pytest.param("worksteal", marks=pytest.mark.slow))
RUBRICS = [rubric("greet"), rubric("stock", "stock"), rubric("never", "never said")]


def run(shop: Shop, *arguments: str, workers: int = 2) -> pytest.RunResult:
    options = ("-p", "xdist", "-n", str(workers), "-p", "dialeval", "-v")
    return shop.pytester.runpytest_subprocess(*options, *arguments)


def workers_of(result: pytest.RunResult) -> dict[str, str]:
    """Node id -> worker."""
    found = re.findall(
        r"^\[(gw\d+)\].*?(PASSED|FAILED|SKIPPED|ERROR) (\S+)", result.stdout.str(), re.M
    )
    return {nodeid: worker for worker, _, nodeid in found}


def two_personas(shop: Shop, **sections: Any) -> None:
    shop.suite(personas=[persona("one"), persona("two")], rubrics=RUBRICS, trials=3, **sections)


@pytest.mark.parametrize("mode", MODES)
def test_a_trial_stays_on_one_worker(shop: Shop, mode: str) -> None:
    two_personas(shop)
    result = run(shop, "--dist", mode)
    assert result.ret == 1
    homes: dict[str, set[str]] = defaultdict(set)
    for nodeid, worker in workers_of(result).items():
        homes[nodeid.rpartition("::")[0]].add(worker)
    assert len(homes) == 6
    assert all(len(each) == 1 for each in homes.values())
    assert shop.agent_figures()["trials"] == 6
    assert len(list((shop.last_run / "traces").glob("*.jsonl"))) == 6


@pytest.mark.parametrize("mode", MODES)
def test_decorated_trials_stay_whole_too(shop: Shop, mode: str) -> None:
    shop.suite()
    shop.write(
        "test_it.py",
        """
        from pytest_dialeval import dialogue_case

        @dialogue_case("shop.dialeval.yaml", trials=4, rubrics=["greet"])
        def test_stock(dialogue):
            dialogue.expect.keyword(any=["stock"])
        """,
    )
    result = run(shop, "test_it.py", "--dist", mode)
    assert result.ret == 0
    assert len(workers_of(result)) == 8
    assert shop.agent_figures()["trials"] == 4
    assert len(list((shop.last_run / "traces").glob("*.jsonl"))) == 4  # each held once


@pytest.mark.parametrize("mode", MODES)
def test_other_tests_go_as_the_mode_says(shop: Shop, mode: str) -> None:
    two_personas(shop)
    tests = "import pytest\n" + "".join(
        f"@pytest.mark.xdist_group('g{each % 2}')\ndef test_{each}(): pass\n" for each in range(8)
    )
    shop.write("test_a.py", tests)
    shop.write("test_b.py", tests)
    homes: dict[str, set[str]] = defaultdict(set)
    for nodeid, worker in workers_of(run(shop, "--dist", mode)).items():
        if nodeid.startswith("test_"):
            key = {"loadgroup": nodeid.rpartition("@")[2], "loadfile": nodeid.partition("::")[0]}
            homes[key.get(mode, nodeid.rpartition("::")[0])].add(worker)
    assert sum(map(len, homes.values())) >= 2
    if mode in ("loadfile", "loadscope", "loadgroup"):
        assert all(len(each) == 1 for each in homes.values())


def test_a_session_without_dialogue_items_keeps_xdists_own_scheduler(shop: Shop) -> None:
    shop.write("test_a.py", "def test_a(): pass\ndef test_b(): pass\n")
    result = run(shop)
    result.assert_outcomes(passed=2)
    assert "dialogues" not in result.stdout.str()
    assert not (shop.path / ".dialeval").exists()


def test_each_is_refused(shop: Shop) -> None:
    shop.suite()
    result = shop.pytester.runpytest_subprocess(
        "-p", "xdist", "-p", "dialeval", "--dist", "each", "--tx", "2*popen"
    )
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--dist each runs every trial on every worker*"])


def test_row_18_summaries_are_equal_but_for_run_id_and_times(shop: Shop) -> None:
    two_personas(shop, scoring={"pass": 0.5}, gates={"decide": "items", "safety_breaches": 0})
    shop.write(
        "test_it.py",
        """
        from pytest_dialeval import dialogue_case

        @dialogue_case("shop.dialeval.yaml", trials=2, rubrics=["greet", "never"])
        def test_stock(dialogue):
            assert dialogue.trial == 1
        """,
    )
    found = []
    for plugin, workers in (("xdist", "0"), ("xdist", "2"), ("xdist.plugin", "2"), ("", "")):
        arguments = ("-p", plugin, "-n", workers) if plugin else ()
        shop.pytester.runpytest_subprocess("-p", "dialeval", *arguments)
        summary = shop.summary
        for key in ("run_id", "created"):
            assert summary.pop(key)
        found.append(summary)
    assert found[0]["verdicts"]["failed"] > 0
    assert found[0] == found[1] == found[2] == found[3]


def test_workers_write_their_own_plan_and_the_controller_merges(shop: Shop) -> None:
    two_personas(shop)
    run(shop)
    names = {each.name for each in shop.last_run.iterdir()}
    assert {"manifest.json", "plan.json", "summary.json", "plan.gw0.json", "plan.gw1.json"} <= names
    plan = shop.record("plan")
    assert len(plan["sources"][0]["trials"]) == 6


def test_a_killed_worker_loses_only_its_unfinished_trials_and_is_named(shop: Shop) -> None:
    shop.write(
        "agent.py",
        """
        import os, signal

        def answer(message):
            if "kill" in message:
                os.kill(os.getpid(), signal.SIGKILL)
            return "Hello!"
        """,
    )
    shop.suite(
        agents={"py": {"use": "python:agent.py:answer"}},
        personas=[persona("calm"), persona("deadly", "kill me", "bye")],
        trials=3,
    )
    result = run(shop)
    assert result.ret != 0
    summary = shop.summary
    [agent] = summary["tasks"][0]["agents"]
    by_persona = {each["id"]: each for each in agent["personas"]}
    assert by_persona["calm"]["passed"] == 3
    assert by_persona["deadly"]["unmeasured"] == 3
    result.stdout.fnmatch_lines(["worker* lost; trials unfinished: *deadly*"])


def test_run_directories_of_workers_are_one(shop: Shop) -> None:
    two_personas(shop)
    run(shop)
    assert len(shop.runs) == 1
    ledgers = sorted(each.name for each in shop.last_run.glob("ledger.*.jsonl"))
    assert ledgers == ["ledger.gw0.jsonl", "ledger.gw1.jsonl"]


def test_row_19_odd_text_crosses_to_the_controller(shop: Shop) -> None:
    shop.write(
        "agent.py",
        r"""
        def answer(message):
            return "a lone \ud800 surrogate, \x1b[31mred\x1b[0m, a bell \x07, \u2028 and NaN"
        """,
    )
    shop.suite(agents={"py": {"use": "python:agent.py:answer"}})
    result = run(shop)
    assert result.ret == 1
    assert "\x1b[31mred" not in result.stdout.str()
    assert shop.summary["verdicts"]["failed"] == 1


def plan_digests(run_directory: Path) -> set[str]:
    plans = run_directory.glob("plan.gw*.json")
    return {json.loads(each.read_text("utf-8"))["sources"][0]["sha256"] for each in plans}


def test_row_20_every_worker_reads_the_same_suite(shop: Shop) -> None:
    two_personas(shop)
    run(shop)
    assert len(plan_digests(shop.last_run)) == 1


def test_row_20_workers_that_read_different_suites_are_refused(shop: Shop) -> None:
    two_personas(shop)
    shop.write(
        "conftest.py",
        """
        import os
        from pathlib import Path

        if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
            read = Path.read_bytes

            def another(path):
                return read(path) + (b"# later" if path.name == "shop.dialeval.yaml" else b"")

            Path.read_bytes = another
        """,
    )
    result = run(shop)
    assert result.ret == 1  # rubrics failed; their figures are anybody's guess
    result.stdout.fnmatch_lines(["*the workers read different suites (*differ in shop.dialeval*"])
    [left] = shop.runs
    assert not (left / "summary.json").exists()


@pytest.mark.parametrize(("gates", "status"), [({"pass_hat_k": {"k": 1, "min": 0.9}}, 10), ({}, 0)])
def test_gates_are_said_where_every_item_was_skipped(
    shop: Shop, gates: dict[str, Any], status: int
) -> None:
    shop.write(
        "conftest.py",
        """
        import pytest

        @pytest.fixture
        def dialeval_agent():
            pytest.skip("no key")
        """,
    )
    shop.suite(agents=None, gates=gates)
    assert run(shop).ret == status
    assert shop.summary["outcomes"]["not_run"] == 1
