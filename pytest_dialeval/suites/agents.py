"""Agents: from what was written to records; scripts are read with the suite."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from os.path import isfile

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.records.model import ENDPOINT_NAMES
from pytest_dialeval.records.suite import AgentSpec
from pytest_dialeval.records.wording import closest, meaning
from pytest_dialeval.suites.addresses import bare_address_problem, header_problem, url_problem
from pytest_dialeval.suites.agent_form import (
    AgentForm,
    CommandForm,
    HookForm,
    HttpForm,
    ModelAgentForm,
    PythonForm,
    ReplayForm,
    ScriptedForm,
)
from pytest_dialeval.suites.agent_script import AgentScript, script_in
from pytest_dialeval.suites.command_lines import shell_problem
from pytest_dialeval.suites.form import shown
from pytest_dialeval.suites.paths import found, inside
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.reading import Reading
from pytest_dialeval.suites.suite_form import SuiteForm
from pytest_dialeval.suites.wording import level
from pytest_dialeval.traces.disk import nearest

_KINDS: dict[str, type[AgentForm]] = {
    "scripted": ScriptedForm,
    "replay": ReplayForm,
    "python:": PythonForm,
    "command:": CommandForm,
    "http:": HttpForm,
    "https:": HttpForm,
    # Other tools write the model behind a slash.
    **{f"{each}{mark}": ModelAgentForm for each in ENDPOINT_NAMES for mark in ":/"},
}
# How each kind is written, for messages of suites and options alike.
AGENT_KINDS = (
    *("scripted", "python:module:object", "python:file.py:object", "command:PROGRAM ARGUMENTS"),
    *("replay", "openai:MODEL", "openai:MODEL@BASE_URL"),
    *(f"{each}:MODEL" for each in ENDPOINT_NAMES if each != "openai"),
    *("http://HOST/PATH", "https://HOST/PATH"),
)


def allowed_kinds(brought: Iterable[str] | None = None) -> str:
    """`allowed: scripted, ...`, with the names that the hook brings where they are known."""
    names = list(brought or ())
    hook = "a name that the hook pytest_dialeval_agents gives"
    known = "" if brought is None else f" (there: {', '.join(names) or 'none'})"
    return f"allowed: {', '.join(AGENT_KINDS)}, or {hook}{known}"


def read_agent(name: str, place: Place, reading: Reading) -> AgentSpec | None:
    """The agent at a place; problems are noted and give None."""
    raw = {"use": place.value} if isinstance(place.value, str) else place.value
    use = raw.get("use") if isinstance(raw, dict) else None
    kind = _kind(use) if isinstance(use, str) else AgentForm
    if kind is None:
        place.at("use").error(_unknown_use(str(use)))
        return None
    form = place.read(kind, raw, around=[level(SuiteForm)])
    options = _options(place, form, reading) if form else None
    if form is None or options is None:
        return None
    return AgentSpec(
        name=name,
        use=form.use,
        options=options,
        folder=str(place.source.path.parent),
        version=form.version,
        concurrency=getattr(form, "concurrency", None),
        line=place.line,
    )


def _kind(use: str) -> type[AgentForm] | None:
    for prefix, form in _KINDS.items():
        if use == prefix or (prefix[-1] in ":/" and use.startswith(prefix)):
            return form
    # What conftest.py offers is known only after the suite is read, so any other name may be one.
    return HookForm if use.isidentifier() and not _meant(use) else None


def _meant(use: str) -> str | None:
    return closest(use, dict.fromkeys(each.rstrip(":/") for each in _KINDS), cutoff=0.75)


def _unknown_use(use: str) -> str:
    word = re.split("[:/]", use, maxsplit=1)[0]
    return f"unknown kind of agent {shown(use)}{meaning(_meant(word))} ({allowed_kinds()})"


def _options(place: Place, form: AgentForm, reading: Reading) -> dict[str, object] | None:
    """What the agent's kind needs beside `use`; None where it is wrong."""
    match form:
        case ScriptedForm():
            script = _script(place.at("script"), form.script, reading)
            return {"script": script} if script else None
        case ReplayForm():
            path = found(place.at("path"), form.path)
            return {"path": str(path), "format": form.format} if path else None
        case CommandForm():
            return _no_options(place.at("use"), _command_problem(form.use))
        case HookForm():
            return {}
        case ModelAgentForm():
            return _model_options(place, form, reading)
        case HttpForm():
            return _http_options(place, form, reading)
        case _:
            return _no_options(place.at("use"), _python_problem(place, form.use, reading))


def _no_options(place: Place, problem: str) -> dict[str, object] | None:
    if problem:
        place.error(problem)
    return None if problem else {}


def _model_options(
    place: Place, form: ModelAgentForm, reading: Reading
) -> dict[str, object] | None:
    """What was written of a model, its prompt filled in; what was not written is left out."""
    model, at, base_url = re.split("[:/]", form.use, maxsplit=1)[1].partition("@http")
    problems = [(place.at("use"), "" if model.strip() else f"{shown(form.use)} names no model")]
    problems.append((place.at("use"), bare_address_problem(form.use)))
    if at:
        problems.append((place.at("use"), url_problem(f"http{base_url}", "what follows @")))
    if form.base_url is not None:
        problems.append((place.at("base_url"), url_problem(form.base_url, "base_url")))
    for index, each in enumerate(form.tools):
        problems.append((place.at("tools", index), _tool_problem(place, each, reading)))
    if not _noted(problems):
        return None
    written = form.model_dump(include=form.model_fields_set - {"use", "version"})
    return {**written, **_prompt(place, form.prompt, reading)}


def _http_options(place: Place, form: HttpForm, reading: Reading) -> dict[str, object] | None:
    problems = [(place.at("use"), url_problem(form.use, "use", query=True))]
    for name, text in form.headers.items():
        problems.append((place.at("headers", name), header_problem(name, text)))
    if not _noted(problems):
        return None
    prompt = _prompt(place, form.prompt, reading)
    return {"headers": form.headers, "history": form.history, **prompt}


def _noted(problems: list[tuple[Place, str]]) -> bool:
    """Whether all is well."""
    found = [(place, text) for place, text in problems if text]
    for place, text in found:
        place.error(text)
    return not found


def _prompt(place: Place, written: str | None, reading: Reading) -> dict[str, object]:
    """The agent's own prompt, where it says something about one: null is none at all."""
    if not isinstance(place.value, dict) or "prompt" not in place.value:
        return {}
    return {"prompt": written and reading.fill(place.at("prompt"), written)}


def _tool_problem(place: Place, written: str, reading: Reading) -> str:
    if not written.startswith("python:"):
        return f"{shown(written)} must be python:file.py:function or python:module:function"
    return _python_problem(place, written, reading)


def _script(place: Place, written: str, reading: Reading) -> AgentScript | None:
    path = inside(place, written, reading.rootdir)
    if path is None:
        return None
    try:
        source = reading.open(path)
    except SuiteError as exc:
        place.source.problems.extend(exc.problems)
        return None
    return script_in(source, reading.matchers)


def _command_problem(use: str) -> str:
    command = use.removeprefix("command:")
    try:
        words = shlex.split(command)
    except ValueError as exc:
        return f"{shown(use)} can't be split into words ({exc}): close the quotes"
    if not words:
        return "command: names no program; write use: command:PROGRAM ARGUMENTS"
    return shell_problem(command)


def _python_problem(place: Place, use: str, reading: Reading) -> str:
    module, _, name = use.removeprefix("python:").rpartition(":")
    if not module or not all(each.isidentifier() for each in name.split(".")):
        return f"{shown(use)} must be python:module:object or python:file.py:object"
    if module.endswith(".py"):
        folders = (place.source.path.parent, reading.rootdir)
        if not any(isfile(each / module) for each in folders):
            guess = next(filter(None, (nearest(each / module) for each in folders)), "")
            return f"there is no file {shown(module)} in the suite's folder or in rootdir{guess}"
    elif not all(each.isidentifier() for each in module.split(".")):
        return f"{shown(module)} is neither a module's name nor a file that ends in .py"
    return ""
