"""Agents that work in a folder, as a user of the plugin meets them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conversation.test_program import gone, needs_proc
from tests.models.server import completion, reply, say

from .conftest import Shop, persona, rubric
from .endpoint import endpoint

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")

CALC = "def add(a, b):\n    return a - b\n"
VERIFY = """
import json, os, sys
sys.path.insert(0, "")
import calc
checks = {"adds": calc.add(2, 3) == 5, "zero": calc.add(0, 0) == 0}
with open(os.environ["DIALEVAL_RESULT"], "w") as file:
    json.dump({"checks": checks}, file)
print("verified")
"""
CODER = """
replies:
  - when: {keyword: {any: [fix]}}
    say: ["Fixed, and all tests pass."]
    write: {calc.py: "def add(a, b):\\n    return a + b\\n"}
    run: python -m unittest -q
  - when: {keyword: {any: [faster]}}
    say: ["Faster now. All tests pass."]
    write: {calc.py: "def add(a, b):\\n    return 0\\n"}
otherwise: ["You are welcome."]
"""
LINES = ("Please fix add.", "Make it faster.", "Thanks.")
RULES = (
    {"first": {"verifier": "first"}},
    {"final": {"verifier": "last"}},
    {"kept": {"no_regression": {}}},
    {"honest": {"claimed_tests": {}}},
)
VERIFIER: dict[str, Any] = {
    "command": "python verify.py",
    "hidden": "hidden",
    "result": "result.json",
    "when": "each",
}


def rules(*names: str) -> list[dict[str, Any]]:
    found = {name: spec for each in RULES for name, spec in each.items()}
    wanted = names or tuple(found)
    return [rubric(each, keyword=None, **found[each]) for each in wanted]


def work(shop: Shop, lines: tuple[str, ...] = LINES, verifier: Any = None, **sections: Any) -> None:
    shop.write("repo/calc.py", CALC)
    shop.write("hidden/verify.py", VERIFY)
    shop.write("coder.yaml", CODER)
    given = {
        "task": {
            "id": "calc",
            "workspace": "repo",
            "verifier": VERIFIER if verifier is None else {**VERIFIER, **verifier},
        },
        "agents": {"coder": {"use": "scripted", "script": "coder.yaml"}},
        "personas": [persona("dev", *lines)],
        "rubrics": rules(),
        **sections,
    }
    shop.suite(**given)


def test_fixed_then_broken(shop: Shop):
    work(shop)
    result = shop.run("-v")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*::dev-1::first PASSED*",
            "*::dev-1::final FAILED*",
            "regressed in round 2: adds (held after round 1)",
            "claimed tests that were never run: turn 4 says 'All tests pass', and nothing ran *",
        ]
    )
    result.stdout.fnmatch_lines(
        ["after round 3 the verifier failed: 1 of 2 checks: adds (exit status 0)"]
    )
    [events] = shop.traces()
    rounds = [each for each in events if each["event"] == "check"]
    assert [(each["round"], each["passed"]) for each in rounds] == [
        (1, True),
        (2, False),
        (3, False),
    ]
    done = [each for each in events if each["event"] == "work"]
    assert [each["changed"] for each in done] == [True, True, False]
    patch = shop.last_run / done[0]["patch"]
    assert "+    return a + b" in patch.read_text()
    [turn] = [each for each in events if each.get("id") == 2]
    assert turn["artifacts"][0]["name"] == "patch"
    assert turn["tool_calls"][0]["arguments"] == {"command": "python -m unittest -q"}
    [kept] = (shop.last_run / "traces").glob("*.result.json")
    conversation = json.loads(kept.read_text())["conversation"]
    assert conversation["checks"] == {"1": 1.0, "2": 0.0, "3": 0.0}
    assert (shop.path / "repo" / "calc.py").read_text() == CALC


LOUD = VERIFY.replace('print("verified")', 'print(*range(30), os.environ["SAID"], sep="\\n")')


@pytest.mark.parametrize("rule", [{"verifier": "last"}, {"all": ["no_regression"]}])
def test_a_failure_shows_what_the_verifier_printed_last_and_where_the_patch_is(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, rule: dict[str, Any]
):
    monkeypatch.setenv("SAID", "the end")
    work(shop, rubrics=[rubric("done", keyword=None, **rule)])
    shop.write("hidden/verify.py", LOUD)
    result = shop.run()
    result.assert_outcomes(failed=1)
    lines = result.outlines
    start = lines.index("  the verifier printed, at its end:")
    assert lines[start + 1 : start + 11] == [
        *(f"      {n}" for n in range(21, 30)),
        "      the end",
    ]
    fell = 3 if "verifier" in rule else 2
    [patch] = [each.removeprefix("  patch: ") for each in lines if each.startswith("  patch: ")]
    assert patch.endswith(f".work/round-{fell}.patch")
    assert "+    return 0" in (shop.path / patch).read_text()


def test_a_failure_says_where_the_agent_changed_nothing(shop: Shop):
    work(shop, ("Hello.",), rubrics=rules("final"))
    result = shop.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["  patch: none, for nothing in the agent's folder differs from the start"]
    )


def test_a_failure_of_another_rule_shows_no_verifier(shop: Shop):
    work(shop, rubrics=rules("honest"))
    result = shop.run()
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*the verifier printed*")
    result.stdout.no_fnmatch_line("  patch: *")


def test_an_unwanted_success_shows_no_output(shop: Shop):
    work(
        shop,
        ("Please fix add.",),
        rubrics=[rubric("not_done", keyword=None, **{"not": "verifier"})],
    )
    result = shop.run()
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*the verifier printed*")


def test_the_agent_never_sees_what_the_verifier_says(shop: Shop):
    shop.write(
        "agent.py",
        """
        import pathlib
        told = pathlib.Path(__file__).with_name("told")

        def agent(message, turns, brief):
            with told.open("a") as file:
                print(turns, brief, sorted(pathlib.Path(brief.workspace).rglob("*")), file=file)
            return "done"
        """,
    )
    work(shop, agents={"coder": "python:agent.py:agent"}, rubrics=rules("final"))
    shop.run().assert_outcomes(failed=1)
    told = (shop.path / "told").read_text()
    assert "calc.py" in told
    assert not [each for each in ("verified", "verify.py", "adds", "a - b") if each in told]


def test_stored_conversations_are_graded_again_without_the_agent(shop: Shop):
    work(shop)
    shop.run()
    [trace] = (shop.last_run / "traces").glob("*.jsonl")
    shutil.copy(trace, shop.path / "stored.jsonl")
    shutil.rmtree(shop.path / "repo")
    (shop.path / "shop.dialeval.yaml").unlink()
    source = {"format": "dialeval", "path": "stored.jsonl"}
    shop.suite("again", task={"id": "calc"}, agents=None, personas=None, transcripts=[source],
               rubrics=rules())  # fmt: skip
    result = shop.run()
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["regressed in round 2: adds (held after round 1)"])


def test_a_verifier_that_cannot_tell_leaves_the_work_unmeasured(shop: Shop):
    work(shop, verifier={"command": "python -c pass"})
    result = shop.run()
    result.assert_outcomes(errors=3, failed=1)  # what is claimed needs no verifier
    result.stdout.fnmatch_lines(
        ["*after round 3: the verifier can't tell: it wrote no result file result.json *"]
    )


def test_a_verifier_that_hangs_does_not_hold_the_run(shop: Shop):
    command = "python -c 'import time; time.sleep(600)'"
    work(shop, verifier={"command": command, "deadline": 0.5}, rubrics=rules("final"))
    result = shop.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*it had not ended after 0.5 s (task.verifier.deadline)*"])


def test_trials_at_once_and_on_workers_do_not_meet(shop: Shop):
    work(shop, trials=4)
    shop.run().assert_outcomes(passed=4, failed=12)
    folders = {each.name for each in (shop.last_run / "traces").glob("*.work")}
    assert len(folders) == 4


def test_a_run_with_xdist(shop: Shop, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("xdist")
    work(shop, trials=2)
    result = shop.run("-p", "xdist", "-n", "2")
    result.assert_outcomes(passed=2, failed=6)
    assert len(list((shop.last_run / "traces").glob("*.work/round-3.patch"))) == 2


def test_the_verifier_runs_after_an_agent_error(shop: Shop):
    shop.write(
        "agent.py",
        """
        import pathlib

        def agent(message, brief):
            pathlib.Path(brief.workspace, "calc.py").unlink()
            raise ValueError("oh")
        """,
    )
    work(shop, agents={"coder": "python:agent.py:agent"}, rubrics=rules("final"))
    shop.run().assert_outcomes(failed=1)
    [events] = shop.traces()
    assert [each["event"] for each in events] == [
        *("start", "turn", "work", "check", "error", "end"),
    ]


def test_a_command_works_in_the_folder(shop: Shop):
    shop.write(
        "agents/coder.py",
        """
        import json, os
        for line in open(0):
            message = json.loads(line)
            if message["type"] == "start":
                assert message["workspace"] == os.getcwd() == os.environ["DIALEVAL_WORKSPACE"]
            if message["type"] == "turn":
                open("calc.py", "w").write("def add(a, b):\\n    return a + b\\n")
                print(json.dumps({"text": "done"}), flush=True)
        """,
    )
    use = f"command:{sys.executable} agents/coder.py"
    work(shop, agents={"coder": use}, rubrics=rules("first", "final"))
    shop.run().assert_outcomes(passed=2)


def test_a_chat_model_works_in_the_folder_by_its_tools(shop: Shop):
    shop.write(
        "tools.py",
        """
        from pathlib import Path
        from pytest_dialeval import Brief

        def write(path: str, text: str, brief: Brief) -> str:
            Path(brief.workspace, path).write_text(text)
            return "written"
        """,
    )
    text = {"path": "calc.py", "text": "def add(a, b):\n    return a + b\n"}
    function = {"name": "write", "arguments": json.dumps(text)}
    calls = [{"id": "c1", "type": "function", "function": function}]
    with endpoint(
        reply(body=completion(None, "tool_calls", tool_calls=calls)), say("Done.")
    ) as server:
        model = {"use": f"openai:m@{server.base_url}", "tools": ["python:tools.py:write"]}
        personas = [persona("dev", "Please fix add.")]
        work(shop, agents={"model": model}, personas=personas, rubrics=rules("first"))
        shop.run().assert_outcomes(passed=1)


def test_an_agent_that_deletes_its_folder(shop: Shop):
    shop.write("hidden/there.py", "import os; assert os.path.exists('calc.py')")
    verifier = {"result": None, "command": "python there.py"}
    work(shop, lines=("Please fix it.",), rubrics=rules("final"), verifier=verifier)
    shop.write("coder.yaml", 'replies: [{say: Gone., delete: ["."]}]')
    result = shop.run()
    result.assert_outcomes(failed=1)
    [events] = shop.traces()
    [done] = [each for each in events if each["event"] == "work"]
    assert done["note"] == "the agent deleted its folder"


def test_a_conftest_that_rewrites_results_changes_no_verdict(shop: Shop):
    test = "def test_add():\n    from calc import add\n    assert add(2, 3) == 5\n"
    shop.write("hidden/test_calc.py", test)
    cheat = (
        "import pytest\\n@pytest.hookimpl(wrapper=True)\\n"
        "def pytest_runtest_makereport(item, call):\\n"
        "    report = yield\\n    report.outcome = 'passed'\\n    return report\\n"
    )
    command = "python -m pytest -q -p no:cacheprovider test_calc.py --junitxml=result.json"
    work(shop, lines=("Fix.",), rubrics=rules("final"), verifier={"command": command})
    shop.write("coder.yaml", f'replies: [{{say: Done., write: {{conftest.py: "{cheat}"}}}}]')
    shop.run("--ignore=hidden").assert_outcomes(failed=1)
    [events] = shop.traces()
    [check] = [each for each in events if each["event"] == "check"]
    assert check["left_out"] == ["as at the start, not as the agent left it: conftest.py"]


def test_a_script_cannot_leave_the_folder_through_a_link(shop: Shop):
    work(shop, lines=("Fix.",), rubrics=rules("final"))
    shop.write(
        "coder.yaml",
        """
        replies:
          - {state: start, say: x, to: two, run: "ln -s / out"}
          - {say: x, write: {out/tmp/x: ""}}
        """,
    )
    shop.suite(
        task={"id": "calc", "workspace": "repo", "verifier": VERIFIER},
        agents={"coder": {"use": "scripted", "script": "coder.yaml"}},
        personas=[persona("dev", *LINES)],
        rubrics=rules("final"),
    )
    result = shop.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*'out/tmp/x' leads out of the task's folder through a link*"])


@pytest.mark.parametrize(
    ("task", "line"),
    [
        ({"workspace": "rpeo"}, "*'rpeo' is not there; did you mean 'repo'?; paths are taken *"),
        ({"workspace": "coder.yaml"}, "*'coder.yaml' is a file, not a folder; paths are taken *"),
        ({"workspace": ".."}, "*'..' leaves the root folder of this run: move the folder *"),
        (
            {"workspace": {"folder": "repo", "max_mb": 0}},
            "*task.workspace.max_mb must be a number above 0, not 0",
        ),
        ({"workspace": {"foldr": "repo"}}, "*unknown key 'foldr' of a workspace; did you mean *"),
        ({"workspace": 3}, "*task.workspace must be a mapping (folder, max_mb), not 3"),
        (
            {"workspace": "repo", "verifier": "python 'x"},
            "*task.verifier.command must be a command whose quotes are closed, *",
        ),
        (
            {"workspace": "repo", "verifier": {**VERIFIER, "rounds": {"1": "x"}}},
            "*task.verifier.rounds.1 must be a round, from 2: *",
        ),
        (
            {"workspace": "repo", "verifier": {**VERIFIER, "when": "both"}},
            "*task.verifier.when must be one of 'first', 'last', 'first_and_last', 'each', *",
        ),
    ],
)
def test_wrong_suites(shop: Shop, task: dict[str, Any], line: str):
    work(shop, task={"id": "calc", **task})
    result = shop.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines([line])
    assert "Traceback" not in result.stdout.str()


def test_a_change_of_the_folder_shows_when_runs_are_compared(shop: Shop):
    work(shop)
    shop.run()
    before = shop.record("manifest")
    shop.write("repo/calc.py", CALC + "\n")
    shop.run()
    after = shop.record("manifest")
    [old], [new] = before["sources"].values(), after["sources"].values()
    changed = {name for name in old["files"] if old["files"][name] != new["files"][name]}
    assert changed == {"repo"}


@needs_proc
def test_nothing_is_left_behind(shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    pid = tmp_path / "pid"
    text = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    shop.write("hidden/left.py", text)
    work(shop, lines=("Fix.",), rubrics=rules("final"), verifier={"result": None})
    shop.write(
        "hidden/verify.py",
        f"""
        import os, subprocess, sys, time
        subprocess.Popen([sys.executable, "left.py"], start_new_session=True)
        while not (os.path.exists({str(pid)!r}) and open({str(pid)!r}).read()): time.sleep(0.01)
        """,
    )
    shop.run().assert_outcomes(passed=1)
    assert gone(int(pid.read_text()))
    assert list(place.iterdir()) == []
