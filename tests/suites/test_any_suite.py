"""Whatever is written, a suite is loaded whole or refused in our own words."""

from __future__ import annotations

import copy
import json
import math
import re

import pytest
import yaml
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.matching.compiling import compile_spec
from pytest_dialeval.records.suite import Suite
from pytest_dialeval.suites.lint import lint
from pytest_dialeval.suites.load import load_suite

from .texts import WHOLE

BASE = yaml.safe_load(WHOLE)
WORDS = [
    "start", "end", "asks_fee", "hesitant", "refund", "flow.explain", "greet", "keyword", "judge",
    "share", "all", "not", "any", "score", "safety", "completion", "agent", "user", "{course}",
    "{x}", "{", "", " ", "no", "scripted", "python:a:b", "s.dialeval.yaml", "..", "tau2", "next",
    "user_turn", "first", "is", "\u200b", "é你", "a" * 300,
]  # fmt: skip
KEYS = [*WORDS, *BASE, *BASE["task"], *BASE["personas"][0], *BASE["rubrics"][2], "script", "min"]
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.integers()
    | st.floats()
    | st.sampled_from(WORDS)
    | st.text(max_size=8)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place of a suite, and those of its parts."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, each in value.items():
            found += places(each, (*path, key))
    if isinstance(value, list):
        for index, each in enumerate(value):
            found += places(each, (*path, index))
    return found


@st.composite
def mutants(draw: st.DrawFn) -> object:
    """The whole suite with one to three places changed."""
    root = copy.deepcopy(BASE)
    for _ in range(draw(st.integers(1, 3))):
        all_places = places(root)
        if not all_places:
            break
        *parents, last = draw(st.sampled_from(all_places))
        node = root
        for each in parents:
            node = node[each]
        match draw(st.sampled_from(["replace", "copy", "remove", "rename", "double"])):
            case "replace":
                node[last] = draw(values)
            case "copy":
                source = root
                for each in draw(st.sampled_from(all_places)):
                    source = source[each]
                node[last] = copy.deepcopy(source)
            case "remove":
                del node[last]
            case "rename" if isinstance(node, dict):
                node[draw(st.sampled_from(KEYS))] = node.pop(last)
            case "double" if isinstance(node, list):
                node.append(copy.deepcopy(node[last]))
            case _:
                pass
    return root


@pytest.fixture
def outcome(tmp_path, matchers):
    """What becomes of a text: a suite, or the problems with it."""
    path = tmp_path / "s.dialeval.yaml"

    def outcome(text: str) -> Suite | tuple[object, ...]:
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            return load_suite(path, rootdir=tmp_path, matchers=matchers)
        except SuiteError as exc:
            return exc.problems

    return outcome


def check(found: Suite | tuple, matchers) -> None:
    if isinstance(found, Suite):
        event("loaded")
        check_suite(found, matchers)
        return
    assert found
    for each in found:
        assert each.level == "error"
        assert each.line >= 1
        assert each.file in ("s.dialeval.yaml", "../s.dialeval.yaml")
        assert each.text.strip()
        assert "\n" not in each.text, each.text
        assert len(each.text) < 1200, each.text
        assert not re.search("(?i)input should|pydantic|traceback|validation error", each.text)


def check_suite(suite: Suite, matchers) -> None:
    """What lint promises, said once more in other words."""
    assert lint(suite, matchers) == lint(suite, matchers)
    assert all(each.level == "note" for each in suite.notes)
    assert bool(suite.personas) != bool(suite.transcripts)
    for ids in ([each.id for each in suite.personas], [each.id for each in suite.rubrics]):
        assert len(set(ids)) == len(ids)
    for persona in suite.personas:
        check_persona(persona, suite)
    nodes = {each.id for each in suite.task.flow.nodes}
    assert {end for edge in suite.task.flow.edges for end in edge} <= nodes
    for rubric in suite.rubrics:
        assert rubric.id != "score"
        assert rubric.weight > 0
        assert math.isfinite(rubric.weight)
        assert 0 <= rubric.min <= 1
        if rubric.spec.method != "judge":
            compiled = compile_spec(rubric.spec, matchers)
            assert rubric.dimension != "safety" or compiled.boolean
    if suite.rubrics and suite.scoring is None:
        assert any(each.severity == "hard" for each in suite.rubrics)
    if suite.agents:
        assert set(suite.run) <= set(suite.agents)


def check_persona(persona, suite) -> None:
    states = persona.script.states
    steps = {name: {each.to for each in state.next} for name, state in states.items()}
    reached = {persona.script.start}
    for _ in states:
        reached |= {to for name in reached & states.keys() for to in steps[name]}
    assert reached - {"end"} == set(states)
    ending = {"end", *(name for name, state in states.items() if state.end)}
    for _ in states:
        ending |= {name for name, to in steps.items() if to & ending}
    assert set(states) <= ending
    if suite.models.get("user") is None:
        assert all(state.say for state in states.values())
    assert all(line.strip() for state in states.values() for line in state.say)
    turns = [each.at_user_turn for each in persona.probes if each.at_user_turn is not None]
    assert len(set(turns)) == len(turns)
    assert all(1 <= turn <= suite.task.max_rounds for turn in turns)
    assert all((each.at_user_turn is None) != (each.on_state is None) for each in persona.probes)
    assert {each.on_state for each in persona.probes} - {None} <= set(states)
    assert persona.noise.rate == 0 or persona.noise.kinds


quick = settings(max_examples=300, suppress_health_check=list(HealthCheck), deadline=None)


@quick
@given(root=mutants())
def test_a_mutated_suite_loads_right_or_is_refused(outcome, matchers, root):
    check(outcome(as_yaml(root)), matchers)


@quick
@given(root=values)
def test_any_value_is_refused_or_a_suite(outcome, matchers, root):
    check(outcome(as_yaml(root)), matchers)


@quick
@given(data=st.data())
def test_a_suite_with_its_text_cut_and_spliced(outcome, matchers, data):
    text = WHOLE
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 40))
        piece = data.draw(st.text(max_size=3) | st.text("{}[]:,'\"|>-#&*! \n\t", max_size=4))
        text = text[:start] + piece + text[end:]
    check(outcome(text), matchers)


def as_yaml(value: object) -> str:
    """JSON with YAML's own names for numbers that have no end."""
    text = json.dumps(value, ensure_ascii=True)
    return re.sub(r"-?\bInfinity\b|\bNaN\b", lambda match: NAMES[match.group()], text)


NAMES = {"Infinity": ".inf", "-Infinity": "-.inf", "NaN": ".nan"}
