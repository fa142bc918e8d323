from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.suites.source import read_source


def read(path: Path, data: bytes):
    path.write_bytes(data)
    return read_source(path, "a.yaml")


def refused(path: Path, data: bytes) -> str:
    with pytest.raises(SuiteError) as caught:
        read(path, data)
    return str(caught.value)


def test_a_source_knows_its_file_and_digest(tmp_path):
    source = read(tmp_path / "a.yaml", b"a: 1\n")
    assert (source.file, source.sha256) == ("a.yaml", sha256(b"a: 1\n").hexdigest())


def test_lines_of_keys_items_and_of_what_is_missing(tmp_path):
    text = b"# note\na: 1\nb:\n  - x\n  -\n    c: 1\n    d:\n      e: 2\n"
    source = read(tmp_path / "a.yaml", text)
    assert source.line(["a"]) == 2
    assert source.line(["b"]) == 3
    assert source.line(["b", 0]) == 4
    assert source.line(["b", 1]) == 6
    assert source.line(["b", 1, "d"]) == 7
    assert source.line(["b", 1, "d", "e"]) == 8
    assert source.line(["b", 1, "nothing", "there"]) == 6
    assert source.line(["b", 7]) == 3
    assert source.line([]) == 1


def test_lines_inside_a_literal_block(tmp_path):
    source = read(tmp_path / "a.yaml", b"a: |\n  one\n\n  {two}\nb: 'x {y}'\n")
    assert source.value == {"a": "one\n\n{two}\n", "b": "x {y}"}
    assert source.line_inside(["a"], 0) == 2
    assert source.line_inside(["a"], 5) == 4
    assert source.line_inside(["b"], 2) == 5


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    assert read(tmp_path / "a.yaml", b"\xef\xbb\xbfa: 1\n").value == {"a": 1}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a.yaml:1: the file is empty"),
        (b"# nothing\n", "a.yaml:1: the file is empty"),
        (b"a: 1\nb: \xff\n", "a.yaml:2: byte 0xff is not UTF-8: save the file as UTF-8"),
        ("a: 你".encode("gbk"), "a.yaml:1: byte 0xc4 is not UTF-8: save the file as UTF-8"),
        (
            b"a: 1\nb: \x07\n",
            "a.yaml:2: control character '\\x07': remove it, or write it as an escape",
        ),
    ],
)
def test_files_that_are_no_text(tmp_path, data, message):
    assert refused(tmp_path / "a.yaml", data) == message


@pytest.mark.parametrize(
    ("data", "line", "what", "remedy"),
    [
        (b"a:\n\tb: 1\n", 2, "found character that cannot start any token", "not tabs"),
        (b"a: b: c\n", 1, "mapping values are not allowed in this context", "that holds ': '"),
        (
            b"a: 1\nb: [1,\n  2\nc: 3\n",
            4,
            "did not find expected ',' or ']' "
            "(while parsing a flow sequence that starts on line 2)",
            "a bracket or brace is not closed",
        ),
        (
            b"a: 'x\nb: 1\n",
            3,
            "found unexpected end of stream (while scanning a quoted scalar that starts on line 1)",
            "a quote is not closed",
        ),
        (b"a: *nothing\n", 1, "found undefined alias", "text that starts with *"),
        (b"a: 1\n---\nb: 2\n", 2, "but found another document", "remove the line ---"),
        (b'a: "\\q"', 1, "found unknown escape character", "use single quotes"),
        (b"[" * 2000, 1, "exceeded maximum nesting depth", "nested too deeply"),
        (b"- " * 9000, 1, "exceeded maximum nesting depth", "nested too deeply"),
        (
            b"- a\nb: 1",
            2,
            "did not find expected '-' indicator "
            "(while parsing a block collection that starts on line 1)",
            "line up with the list",
        ),
        (b"a: 1\n b: 1", 2, "mapping values are not allowed in this context", "line it up"),
        (b"a:1\nb: 1", 2, "mapping values are not allowed in this context", "that key's colon"),
        (b"a: x\n  y z: 1", 2, "mapping values are not allowed in this context", "write | before"),
        (
            b"a: |\nb c\nd\n",
            3,
            "could not find expected ':' (while scanning a simple key that starts on line 2)",
            "| and more indentation",
        ),
        (b"a: &x 1\nb: &x 2", 2, "second occurrence", "may be set once"),
    ],
)
def test_broken_yaml_names_line_cause_and_remedy(tmp_path, data, line, what, remedy):
    message = refused(tmp_path / "a.yaml", data)
    assert message.startswith(f"a.yaml:{line}: not valid YAML: {what}; ")
    assert remedy in message.rpartition(f"{what}; ")[2]


def test_a_file_that_is_not_there_and_a_folder(tmp_path):
    with pytest.raises(SuiteError, match=r"^a\.yaml:1: can't be read: No such file or directory$"):
        read_source(tmp_path / "nope.yaml", "a.yaml")
    with pytest.raises(SuiteError, match=r"^a\.yaml:1: can't be read: Is a directory$"):
        read_source(tmp_path, "a.yaml")
