from __future__ import annotations

import json
import re

import pytest

from tests.matching.asking import ask, score, view

SCHEMA = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer"}, "tag": {"pattern": "^[a-z]+$"}},
}


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ('{"id": 1}', 1),
        ('  ```json\n{"id": 1}\n```  ', 1),
        ("```\n[1]\n```", 1),
        ('Sure: {"id": 1}', 0),
        ('{"id": NaN}', 0),
        ("{'id': 1}", 0),
        ("", 0),
        ("[" * 100_000, 0),
        ("9" * 10_000, 0),
        ("null", 1),
    ],
)
def test_is_json(text: str, fits: float) -> None:
    assert score("json", {}, f"a: {text}") == fits


def test_keys_reach_inside() -> None:
    line = 'a: {"order": {"id": 1}, "a.b": 2}'
    assert score("json", ["order.id", "a.b"], line) == 1
    result = ask("json", ["order.id", "order.fee", "x"], view(line))
    assert (result.score, result.reason) == (0, "turn 1 lacks 'order.fee' and 'x'")


def test_a_schema_is_held() -> None:
    assert score("json", {"schema": SCHEMA}, 'a: {"id": 1}') == 1
    result = ask("json", {"schema": SCHEMA}, view('a: {"id": "one"}'))
    assert result.score == 0
    assert "at $.id: 'one' is not of type 'integer'" in result.reason
    assert score("json", {"schema": SCHEMA}, 'a: {"id": 1, "tag": "A"}') == 0


CUBIC = r"\w+\s*\w+\s*:"  # the time it takes grows with the third power of the text


@pytest.mark.parametrize("schema", ["http://json-schema.org/draft-07/schema#", None])
def test_a_pattern_of_a_schema_searches_no_text_in_one_go(
    monkeypatch: pytest.MonkeyPatch, schema: str | None
) -> None:
    wanted = {"properties": {"x": {"pattern": CUBIC}, "y": {"$ref": "#"}}}
    wanted |= {"$schema": schema} if schema else {}
    for value, fits in (
        ({"x": "a" * 300 + " b:"}, 1),
        ({"x": "-" * 20_000 + "a b:"}, 1),
        ({"x": 1}, 1),
        ({"y": {"x": "-" * 40_000}}, 0),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(re, "search", None)  # by which jsonschema would
            assert score("json", {"schema": wanted}, f"a: {json.dumps(value)}") == fits


def test_a_name_that_no_pattern_of_names_can_search_does_not_fit() -> None:
    wanted = {"schema": {"patternProperties": {CUBIC: {"type": "integer"}}}}
    assert score("json", wanted, f"a: {json.dumps({'a b:': 1})}") == 1
    assert score("json", wanted, f"a: {json.dumps({'a b:': '1'})}") == 0
    found = ask("json", wanted, view(f"a: {json.dumps([{'a' * 1001: 1}])}"))
    assert found.reason == (
        "turn 1 has a name of 1001 characters; a pattern of the schema searches at most 1000"
    )
    assert score("json", wanted, f"a: {json.dumps(['a' * 1001])}") == 1


def test_a_reference_to_elsewhere_fetches_nothing() -> None:
    schema = {"$ref": "https://example.invalid/schema.json"}
    assert "cannot be held against" in ask("json", {"schema": schema}, view("a: 1")).reason


def test_every_searched_turn_must_be_json() -> None:
    assert score("json", {}, "a: 1", "a: hello") == 0
    assert score("json", {"turns": "last"}, "a: hello", "a: 1") == 1
    assert score("json", {}, "u: hello") is None
