"""Every mistake that a suite can have though each of its parts is well written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.records.model import ENDPOINT_NAMES
from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.suite import AgentSpec, Problem, Suite
from pytest_dialeval.records.task import Flow, Persona
from pytest_dialeval.records.ux import RUBRICS as UX_RUBRICS
from pytest_dialeval.records.wording import did_you_mean
from pytest_dialeval.records.work import Workspace
from pytest_dialeval.suites.agent_script import AgentScript
from pytest_dialeval.suites.command_lines import lost_script
from pytest_dialeval.suites.notes import suite_notes
from pytest_dialeval.suites.remark import Places, Remark, nearby, note
from pytest_dialeval.suites.rounds_lint import rounds_remarks
from pytest_dialeval.suites.rubric_lint import (
    cast_of,
    check_of,
    never_met,
    rubric_remarks,
    trigger_remarks,
)
from pytest_dialeval.suites.script_lint import persona_remarks
from pytest_dialeval.suites.ux import own_rubrics
from pytest_dialeval.suites.wording import there
from pytest_dialeval.suites.work_lint import work_remarks


def lint(
    suite: Suite,
    matchers: Mapping[str, Matcher],
    places: Places | None = None,
    *,
    user_model: bool = False,
) -> tuple[Problem, ...]:
    """Errors and notes of a suite by line; without places, the lines that its records remember."""
    modelled = is_modelled(suite.models, user_model)
    found = [*_own_remarks(suite, matchers, modelled), *_joint_remarks(suite, matchers, modelled)]
    problems = [places.problem(each) if places else nearby(suite, each) for each in found]
    return tuple(sorted(problems, key=lambda each: (each.file, each.line)))


def is_modelled(models: object, user_model: bool) -> bool:
    """Whether a model plays the user: by `models:` of the suite, else as it is set elsewhere."""
    if isinstance(models, Mapping) and "user" in models:
        return models["user"] is not None
    return user_model


def _own_remarks(suite: Suite, matchers: Mapping[str, Matcher], modelled: bool) -> Iterator[Remark]:
    yield from personas_alone(enumerate(suite.personas), suite.task.max_rounds, modelled)
    yield from rubrics_alone(enumerate(suite.rubrics), matchers)
    yield from rounds_remarks(suite.task, modelled)


def personas_alone(
    personas: Iterable[tuple[int, Persona]], max_rounds: int | None, modelled: bool
) -> Iterator[Remark]:
    """What is wrong with each persona by itself."""
    for index, persona in personas:
        for each in persona_remarks(persona, max_rounds=max_rounds, modelled=modelled):
            yield each.below("personas", index)


def rubrics_alone(
    rubrics: Iterable[tuple[int, Rubric]], matchers: Mapping[str, Matcher]
) -> Iterator[Remark]:
    """What is wrong with each rubric by itself."""
    for index, rubric in rubrics:
        for each in rubric_remarks(rubric, matchers):
            yield each.below("rubrics", index)


def duplicate_remarks(part: str, parts: Iterable[tuple[int, Persona | Rubric]]) -> Iterator[Remark]:
    """Ids that stand twice."""
    first: dict[str, Persona | Rubric] = {}
    for index, each in parts:
        if each.id in first:
            other = first[each.id]
            where = f"line {other.line}" + ("" if other.file == each.file else f" of {other.file}")
            text = f"id {each.id!r} is taken by {where}: rename one"
            yield Remark((part, index, "id"), text)
        first.setdefault(each.id, each)


def _joint_remarks(
    suite: Suite, matchers: Mapping[str, Matcher], modelled: bool
) -> Iterator[Remark]:
    yield from duplicate_remarks("personas", enumerate(suite.personas))
    yield from _rubric_names(suite)
    yield from _flow_remarks(suite.task.flow, [each.id for each in suite.rubrics])
    yield from _coverage_remarks(suite)
    yield from _asked_remarks(suite, matchers, modelled)
    yield from _scoring_remarks(suite)
    yield from _agent_remarks(suite)
    yield from work_remarks(suite)
    yield from suite_notes(suite, modelled)


def _rubric_names(suite: Suite) -> Iterator[Remark]:
    own = own_rubrics(suite)
    yield from duplicate_remarks("rubrics", enumerate(own))
    for index, each in enumerate(own):
        if len(own) < len(suite.rubrics) and each.id in UX_RUBRICS:
            text = f"id {each.id!r} is one of the rubrics that `scoring: {{ux: ...}}` adds"
            yield Remark(("rubrics", index, "id"), f"{text}: rename it, or remove `ux`")


def _flow_remarks(flow: Flow, rubrics: Sequence[str]) -> Iterator[Remark]:
    nodes = [each.id for each in flow.nodes]
    for index, node in enumerate(flow.nodes):
        if node.id in nodes[:index]:
            text = f"node {node.id!r} is there twice: rename one"
            yield Remark(("task", "flow", "nodes", index, "id"), text)
        if node.rubric is not None and node.rubric not in rubrics:
            path = ("task", "flow", "nodes", index, "rubric")
            yield _missing(path, "rubric", node.rubric, rubrics)
    for index, edge in enumerate(flow.edges):
        for end, name in enumerate(edge):
            if name not in nodes:
                yield _missing(("task", "flow", "edges", index, end), "flow node", name, nodes)


def _coverage_remarks(suite: Suite) -> Iterator[Remark]:
    nodes = [each.id for each in suite.task.flow.nodes]
    for index, persona in enumerate(suite.personas):
        for place, name in enumerate(persona.script.covers_flow_nodes):
            if name not in nodes:
                path = ("personas", index, "script", "covers_flow_nodes", place)
                yield _missing(path, "flow node", name, nodes)


def _missing(path: tuple[str | int, ...], what: str, name: str, known: Sequence[str]) -> Remark:
    return Remark(path, f"no {what} {name!r}{did_you_mean(name, known)} ({there(known)})")


def _asked_remarks(
    suite: Suite, matchers: Mapping[str, Matcher], modelled: bool
) -> Iterator[Remark]:
    cast = cast_of(suite, modelled)
    for index, rubric in enumerate(suite.rubrics):
        if rubric.trigger is None:
            continue
        found = [*trigger_remarks(rubric.trigger, suite, cast)]
        if not found:
            never = never_met(rubric, check_of(rubric, matchers), cast)
            found = [never] if never else []
        for each in found:
            yield each.below("rubrics", index)


def _scoring_remarks(suite: Suite) -> Iterator[Remark]:
    severities = Counter(each.severity for each in suite.rubrics)
    if suite.scoring is None and suite.rubrics and not severities["hard"]:
        text = "every rubric is soft, so nothing can fail: make one hard, or declare `scoring`"
        yield Remark(("rubrics",), text)
    if suite.scoring and not suite.rubrics:
        text = "scoring needs rubrics: a score is made of their verdicts; add some, or remove it"
        yield Remark(("scoring",), text)
        return
    pass_on = suite.scoring.pass_on if suite.scoring else None
    ids = [each.id for each in suite.rubrics]
    if pass_on is not None and pass_on not in ids:
        yield _missing(("scoring", "pass_on"), "rubric", pass_on, ids)


def _agent_remarks(suite: Suite) -> Iterator[Remark]:
    for index, name in enumerate(suite.run):
        # Where a suite declares none, fixtures and hooks bring them: the plugin checks those.
        if suite.agents and name not in suite.agents:
            yield _missing(("run", index), "agent", name, [*suite.agents])
        if name in suite.run[:index]:
            yield Remark(("run", index), f"agent {name!r} is there twice: remove one")
    for name, agent in suite.agents.items():
        script = agent.options.get("script")
        if suite.task.opening == "agent" and isinstance(script, AgentScript) and not script.opening:
            text = "the agent opens this task, but its script has no `opening`: add first lines"
            yield Remark(("agents", name), text)
        elif suite.task.opening == "agent" and _is_mute(agent, suite.task.prompt):
            text = "the agent opens this task, but its model has no prompt: add `prompt`"
            yield Remark(("agents", name), text)
        if lost := _lost_program(agent, suite.task.workspace):
            yield note(("agents", name), f"agent {name!r} can't be started: {lost}")


def _lost_program(agent: AgentSpec, workspace: Workspace | None) -> str:
    if not agent.use.startswith("command:"):
        return ""
    folders = [agent.folder, *([workspace.folder] if workspace else [])]
    return lost_script(agent.use.removeprefix("command:"), folders)


def _is_mute(agent: AgentSpec, prompt: str) -> bool:
    """Whether a model would be asked to open without a word to go by."""
    played = re.match(rf"(?:{'|'.join(ENDPOINT_NAMES)})[:/]", agent.use)
    return bool(played) and not str(agent.options.get("prompt", prompt) or "").strip()
