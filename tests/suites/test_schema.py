from __future__ import annotations

import json
import re

import pytest
import yaml
from jsonschema import Draft202012Validator

from pytest_dialeval.matching.matcher import matcher_from_function
from pytest_dialeval.matching.view import View
from pytest_dialeval.suites.schema import json_schema

from .texts import SMALL, WHOLE


@pytest.fixture(scope="module")
def validator(matchers):
    schema = json_schema(matchers)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_it_names_its_dialect_and_is_plain_json(matchers):
    schema = json_schema(matchers)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(schema, allow_nan=False)) == schema
    assert "$comment" not in json.dumps(schema)


def test_every_reference_leads_somewhere(matchers):
    schema = json_schema(matchers)
    named = set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(schema)))
    assert named == set(schema["$defs"])


@pytest.mark.parametrize("text", [SMALL, WHOLE])
def test_suites_that_load_are_valid(validator, load, text):
    assert load(text)
    assert [each.message for each in validator.iter_errors(yaml.safe_load(text))] == []


BASE = {
    "dialeval": 1,
    "task": {"id": "t"},
    "personas": [{"id": "p", "script": {"states": {"start": {"say": "x", "end": True}}}}],
    "rubrics": [{"id": "r", "dimension": "safety", "not": {"keyword": {"any": ["x"]}}}],
}


def changed(place: str, value: object) -> object:
    root = json.loads(json.dumps(BASE))
    node = root
    *parents, last = [int(each) if each.isdigit() else each for each in place.split(".")]
    for each in parents:
        node = node[each]
    node[last] = value
    return root


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("personas.0.script.states.start.say", ["a", "b"]),
        ("personas.0.script.states", {"你好": {"goal": "x", "next": [{"to": "end"}]}}),
        (
            "personas.0.script.states.start.next",
            [
                {"to": "end", "when": {"user_turn": 3}},
                {"to": "a", "when": {"not": {"keyword": {"any": ["x"]}}}},
            ],
        ),
        ("rubrics.0", {"id": "r", "dimension": "safety", "judge": "x"}),
        ("rubrics.0", {"id": "r", "dimension": "safety", "judge": {"criterion": "x"}}),
        ("rubrics.0", {"id": "r", "dimension": "safety", "all": [{"keyword": {"any": ["x"]}}]}),
        ("rubrics.0.trigger", {"user_keyword": "x", "then": "all"}),
        ("rubrics.0.trigger", {"when": {"keyword": {"all": ["x"]}}}),
        ("agents", {"a": {"use": "scripted", "script": "x"}, "b": "python:a:b", "c": {"use": "m"}}),
        ("models", {"user": None, "judge": "openai:x", "agent": {"model": "x", "a": 1}}),
        ("seed", 3),
    ],
)
def test_what_may_be_written(validator, place, value):
    assert [each.message for each in validator.iter_errors(changed(place, value))] == []


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("dialeval", 2),
        ("task", {}),
        ("task.opening", "agnt"),
        ("task.max_rounds", 0),
        ("task.rounds", {}),
        ("colour", "red"),
        ("trials", True),
        ("personas.0.id", "A-b"),
        ("personas.0.script.states.start.say", []),
        ("personas.0.script.states.start.next", [{"to": "end", "when": {}}]),
        ("personas.0.script.states.start.next", [{"to": "end", "when": {"keywrd": "x"}}]),
        ("personas.0.noise", {"kinds": ["loud"]}),
        ("personas.0.probes", [{"id": "x"}]),
        ("rubrics.0.keyword", {"any": ["a second method"]}),
        ("rubrics.0", {"id": "r", "dimension": "safety"}),
        ("rubrics.0.dimension", "safe"),
        ("rubrics.0.weight", 0),
        ("rubrics.0.min", 2),
        ("rubrics.0.trigger", {"then": "all"}),
        ("rubrics.0.trigger", {"probe": "a", "state": "b"}),
        ("rubrics.0", {"id": "r", "dimension": "safety", "keyword": {"an": ["x"]}}),
        ("agents", {"a": {"use": "scripted"}}),
        ("agents", {"A": "python:a:b"}),
        ("models", {"juge": "x"}),
        ("gates", {"pass_hat_k": {"k": 2}}),
    ],
)
def test_what_an_editor_underlines(validator, place, value):
    assert [*validator.iter_errors(changed(place, value))]


def test_keys_are_described_and_words_listed(matchers):
    schema = json_schema(matchers)
    for form in ("TaskForm", "PersonaForm", "ScriptForm", "StateForm", "ProbeForm", "GatesForm"):
        for key, each in schema["$defs"][form]["properties"].items():
            assert each.get("description"), f"{form}.{key}"
    assert schema["$defs"]["RubricForm"]["properties"]["dimension"]["enum"] == [
        "completion",
        "robustness",
        "safety",
    ]
    assert set(matchers) <= schema["$defs"]["RubricForm"]["properties"].keys()
    assert set(matchers) <= schema["$defs"]["matcher"]["properties"].keys()


def test_a_user_s_matcher_with_odd_parameters(matchers):
    def odd(view: View, *, pattern: re.Pattern[str], title: str = "x", default: int = 3) -> bool:
        return bool(pattern)

    def odder(view: View, *, place: object = None, call: type = int) -> bool:
        return True

    made = {each.__name__: matcher_from_function(each.__name__, each) for each in (odd, odder)}
    schema = json_schema({**matchers, **made})
    Draft202012Validator.check_schema(schema)
    assert "odd" in schema["$defs"]["matcher"]["properties"]
    written = schema["$defs"]["matcher.odd"]["anyOf"][0]["properties"]
    assert {"title", "default"} <= written.keys()
