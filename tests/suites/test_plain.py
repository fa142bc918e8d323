from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.suites.source import Source, read_source


@pytest.fixture
def read(tmp_path: Path):
    def read(text: str) -> Source:
        path = tmp_path / "a.yaml"
        path.write_text(text, encoding="utf-8")
        return read_source(path, "a.yaml")

    return read


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("12", 12),
        ("-3", -3),
        ("0", 0),
        ("0.5", 0.5),
        ("-.5", -0.5),
        ("1e3", 1000.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        # YAML 1.1 reads all of these as something else than the text that was meant.
        ("no", "no"),
        ("on", "on"),
        ("Yes", "Yes"),
        ("off", "off"),
        ("y", "y"),
        ("007", "007"),
        ("+1", "+1"),
        ("+0.5", "+0.5"),
        ("1.", 1.0),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2026-01-02", "2026-01-02"),
        ("1.2.3", "1.2.3"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("你好", "你好"),
    ],
)
def test_only_true_false_null_and_numbers_are_not_text(read, written, value):
    source = read(f"a: {written}\n")
    assert source.value == {"a": value}
    assert type(source.value["a"]) is type(value)
    assert source.problems == []


def test_nan_is_a_number(read):
    assert math.isnan(read("a: .nan").value["a"])


def test_keys_are_text_whatever_they_look_like(read):
    assert read("1: a\ntrue: b\nno: c\n~: d\n").value == {
        "1": "a",
        "true": "b",
        "no": "c",
        "~": "d",
    }


def test_block_texts_keep_their_lines(read):
    assert read("a: |\n  x\n  y\nb: >\n  x\n  y\n").value == {"a": "x\ny\n", "b": "x y\n"}


def test_control_characters_are_cleaned(read):
    assert read('a: "x\\u0000y\\r\\nz"\n"b\\u0007": c').value == {"a": "xy\nz", "b": "c"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: 2\na: 3", "3: duplicate key 'a': it stands on line 1 too"),
        ("a: {x: 1, x: 2}", "1: duplicate key 'x': it stands on line 1 too"),
        ("a: 1\n<<: {b: 2}", "2: merge keys (<<) are not read: write the keys out"),
        ("? [a]\n: 1", "1: a key must be text, not a list or a mapping"),
        ("a: !!binary x", "1: tag 'tag:yaml.org,2002:binary' is not read: remove it"),
        ("a: !!python/object:os.system x", "1: tag 'tag:yaml.org,2002:python/object:os.system'"),
        ("a: 1\nb: !thing {c: 1}", "2: tag '!thing' is not read: remove it"),
        ("a: 99999999999999999999", "1: 99999999999999999999 is too large a number: quote it"),
        ("a: 9223372036854775808", "1: 9223372036854775808 is too large a number: quote it"),
        ("a: &x [*x]", "1: an alias (*name) stands inside its own anchor (&name)"),
        ("a: " + "[" * 70 + "]" * 70, "1: nested more than 64 levels deep"),
    ],
)
def test_what_is_refused_by_name(read, text, problem):
    (found,) = read(text).problems
    assert str(found).startswith(f"a.yaml:{problem}")


def test_the_largest_integers_that_json_keeps(read):
    source = read(f"a: {2**63 - 1}\nb: {-(2**63)}")
    assert source.value == {"a": 2**63 - 1, "b": -(2**63)}
    assert source.problems == []


def test_aliases_repeat_values(read):
    source = read("a: &x {y: [1]}\nb: *x\n")
    assert source.value == {"a": {"y": [1]}, "b": {"y": [1]}}
    assert source.problems == []


def test_a_bomb_of_aliases_is_refused(read):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    problems = read("\n".join(lines)).problems
    assert problems
    assert problems[0].text == "aliases (*name) repeat more than 100000 values"


_texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\ufffe\uffff")
)
_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts
)


def _nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=4)


@given(st.recursive(_scalars, _nested, max_leaves=12))
def test_json_is_read_as_what_it_says(value):
    root = {"v": value}
    with _file(json.dumps(root, ensure_ascii=False)) as path:
        source = read_source(path, "a.yaml")
    assert source.value == root
    assert source.problems == []


@given(st.text(max_size=60) | st.text("-[]{}:,'\"|>&*!#? \n\tab1", max_size=40))
def test_any_text_is_read_or_refused(text):
    data = text.encode("utf-8", "surrogatepass")
    with _file(data) as path:
        try:
            source = read_source(path, "a.yaml")
        except SuiteError as exc:
            assert all(each.line >= 1 and each.text for each in exc.problems)
        else:
            assert source.sha256
            assert all(each.line >= 1 for each in source.problems)


class _file:
    """A file that Hypothesis may write anew for each example."""

    def __init__(self, content: str | bytes) -> None:
        self.content = content.encode() if isinstance(content, str) else content

    def __enter__(self) -> Path:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "a.yaml"
        path.write_bytes(self.content)
        return path

    def __exit__(self, *exc: object) -> None:
        self.folder.cleanup()
