"""`{name}` in a task's own prompt and lines: filled in, never evaluated."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

import yaml

from pytest_dialeval.records.text import clean
from pytest_dialeval.records.wording import closest, did_you_mean
from pytest_dialeval.suites.form import shown
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.task_form import TaskForm
from pytest_dialeval.suites.wording import there

# In this order: literal braces, a name, a brace that is neither.
_FIELD = re.compile(r"\{\{|\}\}|\{([^{}\n]*)\}|[{}]")
_LITERAL = {"{{": "{", "}}": "}"}


def written_variables(task: Place) -> dict[str, str] | None:
    """What each variable is filled in as: exactly as the file has it, so 99.90 keeps its 0.

    None where the variables can't be read, so that nothing is said of names that they may hold.
    """
    node = task.source.node((*task.path, "variables"))
    if node is None:
        return None if _astray(task) else {}
    if not isinstance(node, yaml.MappingNode):
        return None
    return {
        clean(key.value): clean(value.value) if isinstance(value, yaml.ScalarNode) else ""
        for key, value in node.value
        if isinstance(key, yaml.ScalarNode)
    }


def _astray(task: Place) -> bool:
    """Whether the task, or its variables, stand under another key, which is reported."""
    suite = task.source.value
    keys = [*task.value] if isinstance(task.value, dict) else []
    meant = {closest(each, TaskForm.keys()) for each in keys if each not in TaskForm.keys()}
    return not keys or "variables" in meant or (isinstance(suite, dict) and "variables" in suite)


def filled(
    place: Place, text: str, variables: Mapping[str, str], *, later: Collection[str] = ()
) -> str:
    """The text with its variables; every name that is missing is noted at its line.

    `later` are names that are filled in when the line is said: they stay as they are written, and
    all other braces are doubled. A variable goes before one of them.
    """
    if "{" not in text and "}" not in text:
        return text
    for position, problem in _problems(text, variables, later):
        place.source.add(place.source.line_inside(place.path, position), problem)

    def value(match: re.Match[str]) -> str:
        found = match.group()
        return _LITERAL.get(found) or variables.get(match.group(1) or "", found)

    def kept(match: re.Match[str]) -> str:
        found = match.group()
        given = variables.get(match.group(1) or "")
        return found if given is None else given.replace("{", "{{").replace("}", "}}")

    return _FIELD.sub(kept if later else value, text)


def _problems(
    text: str, variables: Mapping[str, str], later: Collection[str]
) -> Iterator[tuple[int, str]]:
    known = {**dict.fromkeys(later, ""), **variables}
    for match in _FIELD.finditer(text):
        name = match.group(1)
        if match.group() in _LITERAL or (name is not None and name in known):
            continue
        yield match.start(), _problem(match.group(), name, known)


def _problem(found: str, name: str | None, variables: Mapping[str, str]) -> str:
    if name is None:
        return f"a lone {found!r}: write {found * 2!r} for a literal brace"
    literal = "write '{{' and '}}' for literal braces"
    if not re.fullmatch(r"[\w.-]+", name):
        return (
            f"{shown(found)} names no variable: a name is of letters, digits, _ . and -; {literal}"
        )
    guess = did_you_mean(name, variables)
    return f"no variable {name!r} in task.variables{guess} ({there(variables)}); or {literal}"
