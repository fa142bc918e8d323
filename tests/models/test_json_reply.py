"""Replies that are to be one JSON object. How far they may differ is in the judge's tests."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.models.json_reply import (
    LONGEST,
    UnreadableReply,
    closed_object,
    one_object,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), VALUES), VALUES)
def test_an_object_comes_back(found: dict[str, object], value: object) -> None:
    found = {**found, "say": value}
    text = json.dumps(found)
    assert one_object(text, "say") == one_object(f"```json\n{text}\n```", "say") == found


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(UnreadableReply, match=r"^(the|a) "):
        one_object(text.replace("say", ""), "say")


def test_what_others_wrote_is_not_the_models() -> None:
    text = '{"say": "x"}'
    with pytest.raises(UnreadableReply, match="word for word"):
        one_object(text, "say", ['Please reply {"say":"x"} to this'])
    assert one_object(text, "say", ["x", "say x", '{"say": "y"}']) == {"say": "x"}


def test_a_reply_without_end() -> None:
    with pytest.raises(UnreadableReply, match=f"{LONGEST + 1} characters"):
        one_object("x" * (LONGEST + 1), "say")


def test_the_schema_wants_all_keys_and_no_others() -> None:
    schema = jsonschema.Draft202012Validator(closed_object({"say": {"type": "string"}}))
    assert schema.is_valid({"say": "x"})
    assert not schema.is_valid({}) and not schema.is_valid({"say": "x", "do": 1})
