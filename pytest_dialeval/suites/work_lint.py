"""What is wrong between work in a folder and the rubrics and agents of a suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_dialeval.records.suite import Suite
from pytest_dialeval.records.task import Task
from pytest_dialeval.records.work import Verifier, Workspace
from pytest_dialeval.suites.agent_script import AgentScript
from pytest_dialeval.suites.command_lines import lost_script
from pytest_dialeval.suites.remark import Remark, note

BY_VERIFIER = ("verifier", "no_regression")  # rules that stand on what a verifier said
METHODS = (*BY_VERIFIER, "claimed_tests")
_RULES_OF_RULES = ("all", "any", "not")


def asks_verifier(method: str, params: Mapping[str, object]) -> bool:
    """Whether a rubric's rule, or one inside it, stands on what a verifier said."""
    return any(name in BY_VERIFIER for name, _ in _rules(method, params))


def work_remarks(suite: Suite) -> Iterator[Remark]:
    """Rules without a verifier, verifiers without a rule, and acts without a folder."""
    yield from _rule_remarks(suite)
    asked = {
        name for each in suite.rubrics for name, _ in _rules(each.spec.method, each.spec.params)
    }
    if suite.task.verifier is not None:
        yield from _command_remarks(suite.task, suite.task.verifier)
        yield from _lost_remarks(suite.task.verifier, suite.task.workspace)
        if asked.isdisjoint(METHODS):
            text = "nothing asks what the verifier says: add a rubric with one of verifier, "
            yield note(("task", "verifier"), f"{text}no_regression or claimed_tests")
    if suite.task.workspace is None:
        yield from _act_remarks(suite)


def _command_remarks(task: Task, verifier: Verifier) -> Iterator[Remark]:
    """Commands of rounds that never come, or that come when the verifier runs no more."""
    place = ("task", "verifier", "rounds")
    if verifier.rounds and verifier.when == "first":
        text = "the verifier runs after round 1 alone (when: first), so these commands never run"
        yield Remark(place, f"{text}: write when: each, or remove them")
        return
    for number in verifier.rounds:
        if number > task.max_rounds:
            yield Remark((*place, str(number)), _never(number, task))


def _never(number: int, task: Task) -> str:
    text = f"round {number} never comes: max_rounds is {task.max_rounds}"
    return f"{text}; lower it, or raise task.max_rounds"


def _rule_remarks(suite: Suite) -> Iterator[Remark]:
    for index, rubric in enumerate(suite.rubrics):
        for name, params in _rules(rubric.spec.method, rubric.spec.params):
            if name in BY_VERIFIER and (problem := _problem(name, params, suite)):
                yield Remark(("rubrics", index, rubric.spec.method), problem)


def _lost_remarks(verifier: Verifier, workspace: Workspace | None) -> Iterator[Remark]:
    """Scripts of commands that are in neither folder: only the agent could bring them."""
    folders = [each for each in (verifier.hidden, workspace and workspace.folder) if each]
    commands: dict[tuple[str, ...], str] = {("command",): verifier.command}
    commands |= {("rounds", str(n)): each for n, each in verifier.rounds.items()}
    for path, command in commands.items():
        if lost := lost_script(command, folders):
            text = "the verifier has nothing to run unless the agent writes it"
            yield note(("task", "verifier", *path), f"{text}: {lost}")


def _problem(name: str, params: Mapping[str, object], suite: Suite) -> str:
    verifier = suite.task.verifier
    if verifier is None:
        needs = f"{name} needs task.verifier: a command that says whether the work is right"
        return "" if suite.transcripts else needs
    if name == "no_regression":
        alone = verifier.when in ("first", "last")
        told = f"the verifier speaks once (when: {verifier.when}), so nothing can be compared"
        return f"{told}: write when: each" if alone else ""
    after = params.get("after", "last")
    if type(after) is int and after > suite.task.max_rounds:
        return _never(after, suite.task)
    return _unheard(after, verifier)


def _unheard(after: object, verifier: Verifier) -> str:
    """Why the verifier never speaks after that round; empty where it may."""
    heard = {"first": ("first", 1), "last": ("last",), "first_and_last": ("first", "last", 1)}
    if verifier.when == "each" or after in heard[verifier.when]:
        return ""
    if after not in ("first", "last") and type(after) is not int:
        return ""  # which is said elsewhere
    where = f"round {after}" if type(after) is int else f"the {after} round"
    return f"the verifier does not run after {where} (when: {verifier.when}): write when: each"


def _rules(method: str, params: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """A rule, and those inside it; a bare value stands for what it asks for."""
    yield method, params
    if method not in _RULES_OF_RULES:
        return
    children = params.get("of", ())
    for each in children if isinstance(children, list | tuple) else (children,):
        if isinstance(each, str):
            yield from _rules(each, {})
        elif isinstance(each, Mapping) and len(each) == 1:
            [(name, given)] = each.items()
            yield from _rules(str(name), _params(str(name), given))


def _params(name: str, given: object) -> Mapping[str, object]:
    if isinstance(given, Mapping):
        return given
    shorthand = "of" if name in _RULES_OF_RULES else "after"
    return {} if given is None else {shorthand: given}


def _act_remarks(suite: Suite) -> Iterator[Remark]:
    for name, agent in suite.agents.items():
        script = agent.options.get("script")
        if isinstance(script, AgentScript) and (line := script.acts):
            text = f"its script works in a folder (line {line}), but there is none: "
            yield Remark(
                ("agents", name), f"{text}add task.workspace, or remove write, delete, run"
            )
