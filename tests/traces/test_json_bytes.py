from dataclasses import asdict
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.records.transcript import Usage
from pytest_dialeval.traces.json_bytes import from_json, to_json
from tests.traces.conversations import json_values


@given(json_values)
def test_every_json_value_comes_back(value):
    assert from_json(to_json(value)) == value


def test_a_line_stays_one_line():
    assert to_json({"text": "one\ntwo\u2028three"}).count(b"\n") == 0


def test_an_integer_beyond_64_bits_keeps_every_digit():
    order = 123456789012345678901234567890
    assert to_json({"order": order}) == b'{"order":123456789012345678901234567890}'
    assert from_json(b'{"order":123456789012345678901234567890}') == {"order": order}


def test_what_json_cannot_say_is_said_as_text_or_null():
    assert from_json(to_json({"a": float("nan"), "b": float("inf")})) == {"a": None, "b": None}
    assert from_json(to_json({"a": MappingProxyType({1: (2, 3)})})) == {"a": {"1": [2, 3]}}
    assert from_json(to_json([{5}, frozenset("x")])) == [[5], ["x"]]
    assert from_json(to_json({"a": "\ud800x"})) == {"a": "\ufffdx"}
    assert from_json(to_json(10**5000)) == hex(10**5000)


@pytest.mark.parametrize("beside", [3, 2**80])
def test_a_text_is_the_same_however_it_must_be_written(beside):
    value = {"a\x1f\r": "b\x00\x1f\x7f\x9b\r\n", "n": beside}
    assert from_json(to_json(value)) == value


def test_records_are_mappings_however_they_must_be_written():
    record = Usage(input_tokens=3)
    for value in (3, 2**80):
        said = from_json(to_json({"usage": record, "n": value}))
        assert said == {"usage": asdict(record), "n": value}


@pytest.mark.parametrize("label", ["plain", "\ud800"])
def test_indented_keys_stand_in_order(label):
    text = to_json({"b": {2}, "a": label}, indented=True).decode()
    label = label.replace("\ud800", "\ufffd")
    assert text == f'{{\n  "a": "{label}",\n  "b": [\n    2\n  ]\n}}\n'


def test_an_object_is_written_as_its_text():
    class Money:
        def __str__(self) -> str:
            return "12 EUR"

    assert from_json(to_json({"price": Money(), "big": 2**80})) == {
        "price": "12 EUR",
        "big": 2**80,
    }


def test_depth_without_end_is_shortened_and_never_raises():
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    assert from_json(to_json({"deep": deep}))["deep"]


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\xff", b"nul", b"[" * 100_000, b'{"n":' + b"9" * 5000 + b"}", b"[1" * 20_000],
)
def test_whatever_is_wrong_is_a_value_error(data):
    with pytest.raises(ValueError):
        from_json(data)


@given(st.integers(0, 10**22), st.text("0123456789 x,.", max_size=30))
def test_an_integer_is_read_exactly_beside_any_text(number: int, text: str) -> None:
    assert from_json(to_json({"a": number, "b": text})) == {"a": number, "b": text}
