"""A task's folder and its verifier, as they are read, and what lint says of them."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from pytest_dialeval.records.work import Verifier, Workspace
from pytest_dialeval.suites.folder import survey
from pytest_dialeval.suites.schema import json_schema

BASE = """\
dialeval: 1
task: {{id: t, {task}}}
personas: [{{id: p, script: {{states: {{start: {{say: x, end: true}}}}}}}}]
rubrics:
- {{id: r, dimension: completion, {rule}}}
"""
FULL = (
    "workspace: {folder: repo, max_mb: 1}, verifier: {command: python v.py, when: each, "
    "deadline: 3, hidden: hidden, result: out/r.json, rounds: {2: a, 10: b c}, restore: ['*.cfg']}"
)


@pytest.fixture(autouse=True)
def repo(write) -> Path:
    write("hidden/v.py", "")
    return write("repo/a.py", "x = 1\n").parent


def text(task: str, rule: str = "verifier: last") -> str:
    return BASE.format(task=task, rule=rule)


def test_everything_that_can_be_said(load, tmp_path):
    task = load(text(FULL)).task
    assert task.workspace == Workspace(str(tmp_path / "repo"), 1.0)
    assert task.verifier == Verifier(
        "python v.py",
        "each",
        3.0,
        str(tmp_path / "hidden"),
        "out/r.json",
        {2: "a", 10: "b c"},
        ("*.cfg",),
    )


def test_bare_texts(load, tmp_path):
    task = load(text("workspace: repo, verifier: make check")).task
    assert task.workspace == Workspace(str(tmp_path / "repo"))
    assert task.verifier == Verifier("make check")


@pytest.mark.parametrize("task", [FULL, "workspace: repo, verifier: x"])
def test_the_schema_allows_both(matchers, task):
    suite = yaml.load(text(task).replace("{2: a, 10:", "{'2': a, '10':"), yaml.CSafeLoader)
    jsonschema.Draft202012Validator(json_schema(matchers)).validate(suite)


def test_every_change_in_the_folders_changes_their_digests(load, write, repo):
    files = load(text(FULL)).files
    assert {"repo", "hidden"} <= files.keys()
    write("repo/a.py", "x = 2\n")
    write("hidden/w.py", "")
    later = load(text(FULL)).files
    assert files["repo"] != later["repo"] and files["hidden"] != later["hidden"]
    before = survey(repo).digest()
    write("repo/__pycache__/a.pyc", "")
    assert survey(repo).digest() == before
    (repo / "a.py").chmod(0o755)
    assert survey(repo).digest() != before


def test_a_huge_folder_is_not_read_whole(repo):
    with (repo / "huge").open("wb") as file:
        file.truncate(10_000_000_000)
    assert survey(repo).digest()


VERIFIER = "workspace: repo, verifier: {command: x, when: %s}"


@pytest.mark.parametrize(
    ("when", "rule", "said"),
    [
        ("last", "verifier: first", "the verifier does not run after the first round (when: last)"),
        ("last", "verifier: 2", "the verifier does not run after round 2 (when: last)"),
        ("last", "any: [{verifier: {after: first}}]", "does not run after the first round"),
        ("last", "not: {all: [no_regression]}", "the verifier speaks once (when: last)"),
        ("first", "verifier: ", "the verifier does not run after the last round (when: first)"),
        ("first_and_last", "verifier: 3", "the verifier does not run after round 3"),
        ("first", "verifier: 1", ""),
        ("first", "verifier: first", ""),
        ("first_and_last", "verifier: 1", ""),
        ("first_and_last", "no_regression: ", ""),
        ("each", "verifier: 3", ""),
        ("last", "verifier: {}", ""),
    ],
)
def test_rules_that_are_never_told(load, problems, when, rule, said):
    suite = text(VERIFIER % when, rule)
    if not said:
        assert load(suite)
        return
    [problem] = problems(suite)
    assert problem.startswith("s.dialeval.yaml:5: ") and said in problem
    assert problem.endswith("write when: each")


NEVER = "round 5 never comes: max_rounds is 4; lower it, or raise task.max_rounds"


@pytest.mark.parametrize(
    ("task", "rule", "said"),
    [
        ("when: each", "verifier: 5", f"5: {NEVER}"),
        ("rounds: {2: a, 5: b}", "verifier: last", f"2: {NEVER}"),
        (
            "when: first, rounds: {2: a}",
            "verifier: 1",
            "2: the verifier runs after round 1 alone (when: first), so these commands never run: "
            "write when: each, or remove them",
        ),
    ],
)
def test_rounds_that_never_come(problems, load, task, rule, said):
    suite = text(f"max_rounds: 4, workspace: repo, verifier: {{command: x, {task}}}", rule)
    assert problems(suite) == [f"s.dialeval.yaml:{said}"]
    assert load(suite.replace("5", "4").replace("first", "each"))


@pytest.mark.parametrize("after", ["frist", "0", "true", "[1]"])
def test_a_round_that_is_none(problems, after):
    [said] = problems(text(VERIFIER % "each", f"verifier: {{after: {after}}}"))
    assert "must be first, last or a round's number, from 1" in said
    assert said.endswith("did you mean 'first'?") == (after == "frist")


def test_a_command_of_round_1_is_no_later_one(problems):
    [said] = problems(text("workspace: repo, verifier: {command: x, rounds: {1: a}}"))
    assert "a round, from 2: what round 1 asks for is verified by `command`" in said


def test_the_last_round_may_have_a_command(load):
    task = "workspace: repo, max_rounds: 3, verifier: {command: x, rounds: {3: x}}"
    assert load(text(task)).task.verifier.rounds == {3: "x"}


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("cd tests && pytest", "&&"),
        ("pytest | tail", "|"),
        ("pytest > out.txt", ">"),
        ("make; make check", ";"),
    ],
)
def test_commands_for_a_shell(problems, command, word):
    said = f"is run without a shell, to which alone {word!r} means more: write sh -c '...'"
    for verifier in (f"{{command: {command!r}}}", f"{{command: x, rounds: {{2: {command!r}}}}}"):
        [problem] = problems(text(f"workspace: repo, verifier: {verifier}"))
        assert problem.startswith(f"s.dialeval.yaml:2: {command!r} ") and said in problem


@pytest.mark.parametrize(
    "command",
    ["sh -c 'cd tests && pytest'", "grep '|' a.txt", r"find . -exec cat {} \;", "x --at=a;b"],
)
def test_a_shell_that_is_asked_for_and_words_that_are_meant(load, command):
    quoted = command.replace("'", "''")
    suite = text(f"workspace: repo, verifier: {{command: '{quoted}'}}")
    assert load(suite).task.verifier.command == command


@pytest.mark.parametrize(
    ("verifier", "lost"),
    [
        (
            "{command: python -u vv.py, hidden: hidden}",
            "'vv.py' is not there; did you mean 'v.py'?",
        ),
        ("{command: python v.py}", "'v.py' is not there; did you mean 'a.py'?"),
        ("{command: python a.py, rounds: {2: sh check.sh}}", "'check.sh' is not there"),
        ("{command: python v.py, hidden: hidden}", ""),
        ("{command: python a.py}", ""),
        ("{command: python -m pytest t.py}", ""),
        ("{command: v.py}", ""),
    ],
)
def test_a_script_of_a_verifier_that_is_nowhere(notes, verifier, lost):
    said = [each for each in notes(text(f"workspace: repo, verifier: {verifier}")) if "run" in each]
    text_ = "s.dialeval.yaml:2: note: the verifier has nothing to run unless the agent writes it"
    assert said == ([f"{text_}: {lost}"] if lost else [])


@pytest.mark.parametrize(
    ("program", "lost"),
    [
        ("python hidden/w.py", "'hidden/w.py' is not there; did you mean 'v.py'?"),
        ("python hidden/v.py", ""),
        ("python a.py", ""),
        ("./w.py", ""),
        ("python -m w.py", ""),
    ],
)
def test_a_script_of_an_agent_that_is_nowhere(notes, program, lost):
    suite = text("workspace: repo") + f"agents: {{b: 'command:{program}'}}\n"
    said = [
        each for each in notes(suite.replace("verifier: last", "keyword: x")) if "start" in each
    ]
    assert said == (
        [f"s.dialeval.yaml:6: note: agent 'b' can't be started: {lost}"] if lost else []
    )


def test_rules_without_a_verifier(problems, load):
    [problem] = problems(text("workspace: repo"))
    assert "verifier needs task.verifier" in problem
    assert load(text("workspace: repo", "claimed_tests: "))


@pytest.mark.parametrize("rule", ["verifier: last", "all: [claimed_tests]", "no_regression: {}"])
def test_a_verifier_that_is_asked(notes, rule):
    assert not [each for each in notes(text(VERIFIER % "each", rule)) if "nothing asks" in each]


def test_a_verifier_that_nobody_asks(notes):
    [said] = [each for each in notes(text(VERIFIER % "each", "keyword: x")) if "asks" in each]
    assert said == (
        "s.dialeval.yaml:2: note: nothing asks what the verifier says: add a rubric with one of "
        "verifier, no_regression or claimed_tests"
    )


def test_a_safety_rubric_needs_yes_or_no(problems, load):
    [said] = problems(text(VERIFIER % "each").replace("completion", "safety"))
    assert "put it under all: [{verifier: ...}]" in said
    assert load(text(VERIFIER % "each", "all: [verifier]").replace("completion", "safety"))


@pytest.mark.parametrize("folder", ["nowhere", "."])
def test_nothing_is_said_that_follows_from_a_folder_that_is_wrong(problems, write, folder):
    write("agent.yaml", "replies: [{write: {a.py: x}}]\n")
    work = f"workspace: {folder}, verifier: {{command: x, hidden: neither}}"
    agents = "agents: {a: {use: scripted, script: agent.yaml}}\n"
    said = problems(text(work) + agents)
    assert len(said) == 2 and all(each.startswith("s.dialeval.yaml:2: ") for each in said)
