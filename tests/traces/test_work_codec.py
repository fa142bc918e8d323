from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.work import Check, RoundWork
from pytest_dialeval.traces.json_bytes import from_json, to_json
from pytest_dialeval.traces.work_codec import decode_check, decode_work, encode_record

texts = st.text(max_size=20).map(clean)
rounds = st.integers(0, 99)
works = st.builds(
    RoundWork,
    rounds,
    st.booleans(),
    files=st.lists(texts, max_size=3).map(tuple),
    patch=st.none() | texts.filter(bool),
    sha256=st.none() | texts.filter(bool),
    note=texts,
)
checks = st.builds(
    Check,
    rounds,
    st.none() | st.booleans(),
    reward=st.none() | st.floats(0, 1),
    checks=st.dictionaries(texts, st.booleans(), max_size=3),
    exit_status=st.none() | st.integers(-64, 255),
    seconds=st.none() | st.floats(0, 1e6),
    output=texts,
    left_out=st.lists(texts, max_size=3).map(tuple),
    why=texts,
)


def written(record: Any) -> Any:
    return from_json(to_json(encode_record(record)))


@given(works)
def test_work_is_read_as_it_was_written(work: RoundWork):
    assert decode_work(written(work)) == work


@given(checks)
def test_a_check_is_read_as_it_was_written(check: Check):
    known = check.passed is None or check.reward is not None
    same = check if known else replace(check, reward=float(bool(check.passed)))
    assert decode_check(written(check)) == same


def test_what_says_nothing_is_left_out():
    assert written(RoundWork(1, False)) == {"round": 1, "changed": False}
    assert written(Check(1, None, why="x")) == {"round": 1, "passed": None, "why": "x"}
    assert written(Check(2, True, 0.0, exit_status=0)) == {
        "round": 2,
        "passed": True,
        "reward": 0.0,
        "exit_status": 0,
    }


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"passed": True}, "'round' is null"),
        ({"round": -1}, "it counts from 0"),
        ({"round": 1, "passed": 1}, "'passed' is 1; it must be true or false"),
        ({"round": 1, "reward": 2}, "'reward' is 2.0; it is from 0 to 1"),
        ({"round": 1, "reward": "1"}, "it must be a number"),
        ({"round": 1, "exit_status": 0.5}, "it must be a whole number"),
        ({"round": 1, "checks": {"a": 1}}, "an object of true and false"),
        ({"round": 1, "left_out": "x"}, "a list of texts"),
    ],
)
def test_wrong_checks(data: dict[str, object], said: str):
    with pytest.raises(TranscriptError, match=said):
        decode_check(data)
