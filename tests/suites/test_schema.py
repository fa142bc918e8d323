from __future__ import annotations

import json
import re
from functools import cache

import pytest
import yaml
from hypothesis import event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.matching.compiling import spec_of, spec_problems
from pytest_dialeval.matching.matcher import matcher_from_function
from pytest_dialeval.matching.view import View
from pytest_dialeval.suites.schema import json_schema

from .texts import SMALL, WHOLE


@cache
def validator_of_builtin():
    return Draft202012Validator(json_schema(builtin_matchers()))


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


RUBRIC = {"id": "r", "dimension": "completion"}
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
        ("models", {"judge": {"temperature": 0.5}, "user": {}}),
        ("seed", 3),
        ("rubrics.0", {**RUBRIC, "keyword": {"any": [49.9]}}),
        ("rubrics.0", {**RUBRIC, "keyword": {"any": 7, "none": "free"}}),
        ("rubrics.0", {**RUBRIC, "keyword": "free"}),
        ("rubrics.0", {**RUBRIC, "keyword": 49.9}),
        ("rubrics.0", {**RUBRIC, "blacklist": "guarantee"}),
        ("rubrics.0", {**RUBRIC, "number_whitelist": {"allow": [24, "3-5"]}}),
        ("rubrics.0", {**RUBRIC, "number_whitelist": [24, "3-5"]}),
        ("rubrics.0", {**RUBRIC, "ordered_keyword": {"steps": ["a", ["b", 3]]}}),
        ("rubrics.0", {**RUBRIC, "pace": ["a", ["b", 3]]}),
        ("rubrics.0", {**RUBRIC, "placeholder": "@@"}),
        ("rubrics.0", {**RUBRIC, "placeholder": {"patterns": ["@@"], "allow": "{name}"}}),
        ("rubrics.0", {**RUBRIC, "tool_sequence": "find_order"}),
        ("rubrics.0", {**RUBRIC, "json": "order.id"}),
        ("rubrics.0", {**RUBRIC, "not": {"of": {"keyword": 5}}}),
        ("rubrics.0", {**RUBRIC, "all": ["repetition", {"any": [{"keyword": 5}]}]}),
        ("agents", {"a": {"use": "агент"}}),
        ("agents", {"a": "openai:m", "b": {"use": "vllm/m", "prompt": None, "seed": 1}}),
        ("agents", {"a": {"use": "https://x/", "headers": {"A": "${B}"}, "history": "last"}}),
    ],
)
def test_what_may_be_written(validator, place, value):
    assert [each.message for each in validator.iter_errors(changed(place, value))] == []


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("keyword", "free"),
        ("keyword", {"any": [49.9]}),
        ("placeholder", "@@"),
        ("not", {"of": {"keyword": 5}}),
        ("all", ["repetition", {"any": [{"keyword": 5}]}]),
    ],
)
def test_what_may_be_written_does_load(load, place, value):
    assert load(json.dumps(changed("rubrics.0", {**RUBRIC, place: value})))


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
        ("rubrics.0", {**RUBRIC, "keyword": True}),
        ("rubrics.0", {**RUBRIC, "keyword": []}),
        ("rubrics.0", {**RUBRIC, "keyword": {"any": [["x"]]}}),
        ("rubrics.0", {**RUBRIC, "pace": {"steps": [[]]}}),
        ("agents", {"a": {"use": "scripted"}}),
        ("agents", {"A": "python:a:b"}),
        ("agents", {"a": {"use": "openai:m", "api_key": "x"}}),
        ("agents", {"a": {"use": "openai:m", "api_key_env": "sk-1"}}),
        ("agents", {"a": {"use": "openai:m", "temperature": 3}}),
        ("agents", {"a": {"use": "http://x/", "timeout": 3}}),
        ("agents", {"a": {"use": "http://x/", "history": "some"}}),
        ("models", {"juge": "x"}),
        ("models", {"judge": {"model": None}}),
        ("models", {"judge": {"model": " "}}),
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


words = st.sampled_from(["a", "3-5", "a b", "10:00"]) | st.integers(0, 9) | st.just(49.9)
lists = words | st.lists(words, min_size=1, max_size=3)
flags, counts = st.booleans(), st.integers(0, 9) | st.none()
VALUES = {
    "by": st.sampled_from(["agent", "user", "any"]),
    "turns": st.sampled_from(["first", "next", "all"]),
    "is": st.sampled_from(["en", "pt", None]),
    "steps": lists | st.lists(lists, min_size=1, max_size=3),
    "equals": st.none() | st.booleans() | lists,
    **dict.fromkeys(("name", "field", "pattern"), st.sampled_from(["a", "a.b"])),
    **dict.fromkeys(("near", "share", "tolerance"), st.sampled_from([0.5, 1])),
    **dict.fromkeys(("schema", "arguments"), st.sampled_from([{}, {"type": "object"}, None])),
    **dict.fromkeys(("verbatim", "built_in", "unless_negated"), flags),
    **dict.fromkeys(("user", "tools", "arithmetic", "prompt"), flags),
    **dict.fromkeys(("min", "max", "min_chars", "min_words", "max_sentences"), counts),
    **dict.fromkeys(("per_turn", "counts_up_to"), st.integers(1, 9)),
}


def specs_of(name: str) -> st.SearchStrategy[dict[str, object]]:
    params = builtin_matchers()[name].params.model_fields.items()
    fields = {field.alias or key: field.is_required() for key, field in params}
    given = st.fixed_dictionaries(
        {key: VALUES.get(key, lists) for key, needed in fields.items() if needed},
        optional={key: VALUES.get(key, lists) for key, needed in fields.items() if not needed},
    )
    return st.fixed_dictionaries({name: lists | st.none() | given})


specs = st.recursive(
    st.sampled_from(sorted(builtin_matchers())).flatmap(specs_of),
    lambda inner: (
        st.fixed_dictionaries({"not": inner})
        | st.fixed_dictionaries({"all": st.lists(inner, min_size=1, max_size=2)})
        | st.fixed_dictionaries({"any": st.fixed_dictionaries({"of": st.lists(inner, min_size=1)})})
    ),
    max_leaves=2,
)


@settings(deadline=None, max_examples=400)
@given(spec=specs)
def test_every_matcher_that_is_accepted_is_valid(spec):
    matchers = builtin_matchers()
    [(name, value)] = spec.items()
    problems = spec_problems(spec_of(name, value, matchers), matchers)
    if not problems:
        event(f"{name} is accepted")
        found = validator_of_builtin().iter_errors(changed("rubrics.0", {**RUBRIC, **spec}))
        assert [each.message for each in found] == [], spec


@pytest.mark.parametrize("name", sorted(builtin_matchers()))
def test_an_editor_says_what_a_matcher_and_its_parameters_mean(name):
    schema = json_schema(builtin_matchers())["$defs"][f"matcher.{name}"]
    assert schema["description"].strip()
    for each in schema["anyOf"]:
        for key, parameter in each.get("properties", {}).items():
            assert key == "of" or parameter.get("description", "").strip(), f"{name}.{key}"


def test_a_user_s_matcher_is_described_by_its_docstring():
    def polite(view: View, *, words: list[str]) -> bool:
        """Whether the agent says all of these words."""
        return True

    made = {"polite": matcher_from_function("polite", polite)}
    described = json_schema(made)["$defs"]["matcher.polite"]
    assert described["description"] == "Whether the agent says all of these words."


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
