from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from pytest_dialeval.conversation.agent import Brief
from pytest_dialeval.conversation.tool import Unfit, result_text, tool_of
from pytest_dialeval.errors import HarnessFault

BRIEF = Brief("shop", workspace="/work")


def book(  # noqa: D417 (not all parameters are described)
    line: int,
    seats: list[str],
    schema: Literal["a", "b"] = "a",
    note: Annotated[str | None, Field(description="in their words")] = None,
    **more: object,
) -> object:
    """Books seats.

    Several at once.

    Args:
        line (int): the tram's line
        seats: which seats

    Returns:
        the booking: a number

    """
    return line, seats, schema, note, more


def parameters(function: Any) -> Any:
    return tool_of(function, "python:x.py:f").definition["function"]["parameters"]  # type: ignore[index]


def test_what_the_model_is_told():
    assert tool_of(book, "x").definition == {
        "type": "function",
        "function": {
            "name": "book",
            "description": "Books seats.\n\nSeveral at once.",
            "parameters": {
                "type": "object",
                "properties": {
                    "line": {"type": "integer", "description": "the tram's line"},
                    "seats": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "which seats",
                    },
                    "schema": {"type": "string", "enum": ["a", "b"], "default": "a"},
                    "note": {
                        "anyOf": [{"type": "string"}, {"type": "null"}],
                        "default": None,
                        "description": "in their words",
                    },
                },
                "required": ["line", "seats"],
                "additionalProperties": False,
            },
        },
    }


def test_parameters_as_sphinx_describes_them():
    def find(order, *args, copy: int = 1):
        """Find it.

        :param str order: its number
        :param copy: which one
        :returns: something
        """

    told = tool_of(find, "x").definition["function"]
    assert told["description"] == "Find it."  # type: ignore[index]
    assert parameters(find)["properties"] == {
        "order": {"description": "its number"},
        "copy": {"type": "integer", "default": 1, "description": "which one"},
    }


def test_a_function_of_nothing():
    def now():
        return "12:00"

    assert parameters(now) == {"type": "object", "properties": {}, "additionalProperties": False}
    assert "description" not in tool_of(now, "x").definition["function"]  # type: ignore[operator]
    assert tool_of(now, "x").bound({}, BRIEF)() == "12:00"


def test_arguments_become_what_the_annotations_say():
    given = {"line": "4", "seats": ["1a"], "schema": "b"}
    assert tool_of(book, "x").bound(given, BRIEF)() == (4, ["1a"], "b", None, {})


def test_the_brief_is_given_by_us_and_no_business_of_the_model_s():
    def write(path: str, where: Brief, text: str = "") -> object:
        return path, where.workspace, text

    assert list(parameters(write)["properties"]) == ["path", "text"]
    tool = tool_of(write, "x")
    assert tool.bound({"path": "a"}, BRIEF)() == ("a", "/work", "")
    with pytest.raises(Unfit, match="where: Extra inputs are not permitted"):
        tool.bound({"path": "a", "where": {"task": "x"}}, BRIEF)


def test_own_defaults_are_used():
    default: list[int] = []

    def add(to: list[int] = default) -> list[int]:
        to.append(1)
        return to

    assert tool_of(add, "x").bound({}, BRIEF)() is default


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "the arguments are wrong: line: Field required; seats: Field required"),
        ({"line": "x", "seats": []}, "line: Input should be a valid integer"),
        ({"line": 1, "seats": [], "seat": 2}, "seat: Extra inputs are not permitted"),
        ({"line": 1, "seats": [3]}, "seats.0: Input should be a valid string"),
    ],
)
def test_arguments_that_do_not_fit(arguments: dict[str, object], words: str):
    with pytest.raises(Unfit) as caught:
        tool_of(book, "x").bound(arguments, BRIEF)
    assert words in str(caught.value) and "pydantic" not in str(caught.value)


class Shop:
    def __call__(self, order: int) -> int:
        return order


def test_an_object_that_is_called():
    assert parameters(Shop())["properties"] == {"order": {"type": "integer"}}
    assert tool_of(Shop(), "x").name == "Shop"


def unknown_type(a: Nowhere): ...  # type: ignore[name-defined]  # noqa: F821
def by_place(a: int, /): ...
def strange_type(a: Shop): ...
def schön(): ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (3, "must be a function, not 3"),
        (Shop, "must be a function, not <class"),
        (lambda: 1, "'<lambda>' is no name for a tool"),
        (schön, "'schön' is no name for a tool"),
        (unknown_type, "name 'Nowhere' is not defined"),
        (by_place, "a model gives arguments by name, which 'a' can't be"),
        (strange_type, "Unable to generate pydantic-core schema"),
    ],
)
def test_what_is_no_tool(function: object, words: str):
    with pytest.raises(HarnessFault) as caught:
        tool_of(function, "python:x.py:f")
    text = str(caught.value)
    assert text.startswith("tool 'python:x.py:f'") and words in text and "\n" not in text


@dataclass
class Order:
    id: int
    price: float


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("half a character \ud800", "half a character \ufffd"),
        (None, "null"),
        ({"order": Order(1, float("nan"))}, '{"order": {"id": 1, "price": "nan"}}'),
        (datetime.date(2026, 1, 2), '"2026-01-02"'),
        (Decimal("1.10"), '"1.10"'),
        ({"è": "\ud800"}, '{"è": "\ufffd"}'),
    ],
)
def test_results_as_a_model_reads_them(value: object, text: str):
    assert result_text(value) == text


@given(st.recursive(st.none() | st.text() | st.floats() | st.integers(), st.lists))
def test_a_result_is_text_or_json(value: object):
    text = result_text(value)
    assert isinstance(value, str) or json.loads(text) is not ...
    text.encode()
