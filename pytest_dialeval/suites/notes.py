"""What a suite's author may want to know, though nothing is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.suite import Suite
from pytest_dialeval.records.task import Persona
from pytest_dialeval.suites.remark import Remark, note
from pytest_dialeval.suites.rounds_lint import reachable


def suite_notes(suite: Suite, modelled: bool) -> Iterator[Remark]:
    """Unused personas, dimensions that may stay unscored, and gates that decide nothing."""
    if not suite.rubrics and not suite.scoring:
        yield note((), "no rubric: only bodies of @dialogue_case functions decide anything")
    elif suite.rubrics:
        yield from _dimension_notes(suite)
        if not modelled:
            yield from _idle_personas(suite)
    yield from _twin_personas(suite.personas)
    gate = suite.gates.pass_hat_k
    if gate and not suite.transcripts and gate.k > suite.trials:
        text = f"k: {gate.k} is more than trials: {suite.trials}: the gate can't be decided"
        yield note(("gates", "pass_hat_k", "k"), text)


def _dimension_notes(suite: Suite) -> Iterator[Remark]:
    for dimension in ("completion", "robustness"):
        rubrics = [each for each in suite.rubrics if each.dimension == dimension]
        if rubrics and not _always(rubrics):
            text = f"nothing always scores {dimension}: each of its rubrics waits for a trigger"
            yield note(("rubrics",), text)
        elif not rubrics and suite.scoring and not suite.scoring.pass_on:
            yield note(("scoring",), f"nothing scores {dimension}: the other dimension decides")
    safety = [each for each in suite.rubrics if each.dimension == "safety"]
    if not safety:
        yield note(("rubrics",), "safety is never exercised: no rubric has dimension: safety")
    elif not _always(safety):
        text = "nothing always scores safety: it is exercised only where a trigger fires"
        yield note(("rubrics",), text)


def _always(rubrics: Sequence[Rubric]) -> bool:
    return any(each.trigger is None for each in rubrics)


def _idle_personas(suite: Suite) -> Iterator[Remark]:
    """Personas that no rubric can ask anything about."""
    if _always(suite.rubrics):
        return
    triggers = [each.trigger for each in suite.rubrics if each.trigger]
    if any(each.probe is None and each.state is None for each in triggers):
        return
    probes = {each.probe for each in triggers}
    states = {each.state for each in triggers}
    for index, persona in enumerate(suite.personas):
        said = {each.id for each in persona.probes}
        heard = {*persona.script.states, *reachable(suite.task)}
        if said.isdisjoint(probes) and states.isdisjoint(heard):
            text = f"persona {persona.id!r} is unused: no rubric's trigger can fire with it"
            yield note(("personas", index), text)


def _twin_personas(personas: Sequence[Persona]) -> Iterator[Remark]:
    seen: dict[object, str] = {}
    for index, each in enumerate(personas):
        key = _conduct(each)
        if key in seen:
            text = f"persona {each.id!r} is unused: it acts and talks exactly as {seen[key]!r}"
            yield note(("personas", index), text)
        seen.setdefault(key, each.id)


def _conduct(persona: Persona) -> object:
    """Everything that a conversation depends on, in a form that can be compared quickly."""
    return repr(
        (persona.script, persona.probes, persona.noise, persona.personality, persona.traits)
    )
