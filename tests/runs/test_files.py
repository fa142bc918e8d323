"""Files are whole or not there."""

from __future__ import annotations

import errno
import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.errors import RunError
from pytest_dialeval.records.text import clean
from pytest_dialeval.runs.files import explained, write_bytes, write_json
from pytest_dialeval.traces.json_bytes import to_json

OLD = b'{"old": true}\n'


@dataclass(frozen=True, slots=True)
class Inner:
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outer:
    inner: Inner
    size: float | None = None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "summary.json"
    found.write_bytes(OLD)
    return found


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_json_is_indented_sorted_and_ends_in_a_line_break(path: Path) -> None:
    write_json(path, {"b": Outer(Inner(("x", "é你")), 0.5), "a": [1, None, True]})
    assert path.read_text(encoding="utf-8") == (
        '{\n  "a": [\n    1,\n    null,\n    true\n  ],\n'
        '  "b": {\n    "inner": {\n      "words": [\n        "x",\n        "é你"\n      ]\n    },\n'
        '    "size": 0.5\n  }\n}\n'
    )
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (MappingProxyType({"a": 1}), {"a": 1}),
        ({"a": frozenset({"z", "b"})}, {"a": ["b", "z"]}),
        ({"a": Path("x/y")}, {"a": "x/y"}),
        ({1: "a"}, {"1": "a"}),
        ({"a": float("nan")}, {"a": None}),
        ({"label": "caf\udce9"}, {"label": "caf\ufffd"}),
        ({"order": 2**80}, {"order": 2**80}),
        (
            {"a": Outer(Inner(("\ud800",))), "b": 2**64},
            {"a": {"inner": {"words": ["\ufffd"]}, "size": None}, "b": 2**64},
        ),
    ],
)
def test_what_json_does_not_know(path: Path, value: object, read: object) -> None:
    write_json(path, value)
    assert json.loads(path.read_bytes()) == read
    assert path.read_bytes().endswith(b"}\n")
    assert json.loads(to_json(value)) == read


texts = st.text().map(clean)  # as all text is that enters
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_any_value_is_one_line_and_read_back(value: object) -> None:
    line = to_json({"value": value})
    assert b"\n" not in line
    assert json.loads(line) == {"value": value}


def test_a_write_that_fails_leaves_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = Path.write_bytes

    def write_bytes(self: Path, content: bytes) -> None:
        half(self, content[:5])
        no_space()

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    with pytest.raises(RunError) as caught:
        write_json(path, {"new": 1})
    assert str(caught.value) == (
        f"{path}: cannot be written: No space left on device; free some space and run again"
    )
    assert path.read_bytes() == OLD
    assert list(path.parent.iterdir()) == [path]


def test_a_rename_that_fails_leaves_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "replace", no_space)
    with pytest.raises(RunError, match="No space left"):
        write_json(path, {"new": 1})
    assert path.read_bytes() == OLD
    assert list(path.parent.iterdir()) == [path]


def test_ctrl_c_leaves_nothing_half_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    half = Path.write_bytes

    def write_bytes(self: Path, content: bytes) -> None:
        half(self, content[:5])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    with pytest.raises(KeyboardInterrupt):
        write_json(path, {"new": 1})
    assert path.read_bytes() == OLD
    assert list(path.parent.iterdir()) == [path]


def test_a_reader_sees_the_old_or_the_new_never_a_part(path: Path) -> None:
    contents = [bytes([letter]) * 200_000 for letter in b"ab"]
    write_bytes(path, contents[0])
    done = threading.Event()
    seen: set[bytes] = set()

    def read() -> None:
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(100):
        write_bytes(path, contents[turn % 2])
    done.set()
    reader.join()
    assert seen <= set(contents)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"x/summary\.json: cannot be written: No such file"):
        write_json(tmp_path / "x" / "summary.json", {})


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EROFS, "--dialeval-runs DIR"),
        (errno.EACCES, "--dialeval-runs DIR"),
    ],
)
def test_an_os_error_is_explained(tmp_path: Path, code: int, remedy: str) -> None:
    with pytest.raises(RunError, match=remedy) as caught, explained(tmp_path / "x"):
        raise OSError(code, os.strerror(code))
    assert str(tmp_path / "x") in str(caught.value)
    assert os.strerror(code) in str(caught.value)


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), explained(Path("x")):
        raise KeyError("x")
