"""One YAML file read: its plain value, and the line of everything in it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import yaml

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.records.suite import Problem
from pytest_dialeval.records.text import clean
from pytest_dialeval.suites.plain import PlainValues

if TYPE_CHECKING:
    from collections.abc import Sequence

Level = Literal["error", "note"]
_GOES_ON = (
    "the line goes on with the text above it: line it up with the key above, put a space behind "
    "that key's colon, or write | before text over several lines"
)
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HINTS = {
    "mapping values are not allowed": "put quotes round text that holds ': '",
    "cannot start any token": "indent with spaces, not tabs; put quotes round text that starts "
    "with one of % @ ` or a tab",
    "did not find expected key": "the line does not line up with the keys above it, or a quoted "
    "text goes on after its closing quote",
    "did not find expected '-'": "the line does not line up with the list above it",
    "could not find expected ':'": "a key needs ': ' behind it, and text over several lines needs "
    "quotes, or | and more indentation",
    "unexpected end of stream": "a quote is not closed",
    "expected ',' or": "a bracket or brace is not closed, a comma is missing, or text that holds "
    "any of [ ] { } , needs quotes",
    "unknown escape character": "write \\\\ for a backslash, or use single quotes",
    "undefined alias": "put quotes round text that starts with *",
    "second occurrence": "an anchor (&name) may be set once",
    "another document": "a file holds one suite: remove the line ---",
    "nesting depth": "brackets or lists are nested too deeply",
}


class _Composer(yaml.CSafeLoader):
    """Composes nodes with their marks; what a plain word means is decided in `plain`."""

    def resolve(self, kind: object, value: object, implicit: object) -> str:
        return ""

    def descend_resolver(self, current_node: object, current_index: object) -> None: ...

    def ascend_resolver(self) -> None: ...


@dataclass(slots=True)
class Source:
    """A YAML file with its value and all problems found in it so far."""

    path: Path
    file: str  # as problems name it: relative to rootdir
    sha256: str
    root: yaml.Node | None = None
    value: object = None
    problems: list[Problem] = field(default_factory=list)

    def line(self, path: Sequence[object] = ()) -> int:
        """The line of a place, or of the nearest thing above it that the file holds."""
        node, line = self.root, 1
        for part in path:
            found = _child(node, part)
            if found is None:
                break
            node, line = found
        return line

    def node(self, path: Sequence[object]) -> yaml.Node | None:
        """The node at a place."""
        node = self.root
        for part in path:
            found = _child(node, part)
            node = found[0] if found else None
        return node

    def line_inside(self, path: Sequence[object], position: int) -> int:
        """The line of one character of a text; exact in literal blocks (|)."""
        node = self.node(path)
        if isinstance(node, yaml.ScalarNode) and node.style == "|":
            breaks: int = node.value.count("\n", 0, position)
            return node.start_mark.line + 2 + breaks
        return self.line(path)

    def add(self, line: int, text: str, level: Level = "error") -> None:
        """Note a problem."""
        self.problems.append(Problem(self.file, line, text, level))

    @property
    def errors(self) -> list[Problem]:
        """The problems that are no mere notes, by line."""
        found = (each for each in self.problems if each.level == "error")
        return sorted(found, key=lambda each: each.line)


def read_source(path: Path, file: str) -> Source:
    """Read a YAML file; SuiteError where it can't be read at all, other problems are kept in it."""
    data = _bytes(path, file)
    source = Source(path, file, sha256(data).hexdigest())
    source.root = _compose(_text(data, file), file)
    if source.root is None:
        raise SuiteError([Problem(file, 1, "the file is empty")])
    source.value = PlainValues(source.add).of(source.root)
    return source


def _bytes(path: Path, file: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise SuiteError([Problem(file, 1, f"can't be read: {reason}")]) from None


def _text(data: bytes, file: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        message = f"byte 0x{data[exc.start]:02x} is not UTF-8: save the file as UTF-8"
        raise SuiteError([Problem(file, line, message)]) from None
    if found := _FORBIDDEN.search(text):
        line = text.count("\n", 0, found.start()) + 1
        message = f"control character {found.group()!r}: remove it, or write it as an escape"
        raise SuiteError([Problem(file, line, message)])
    return text


def _compose(text: str, file: str) -> yaml.Node | None:
    composer = _Composer(text)
    try:
        node: yaml.Node | None = composer.get_single_node()
        return node
    except yaml.MarkedYAMLError as exc:
        raise SuiteError([_syntax_problem(exc, file, text)]) from None
    except yaml.YAMLError as exc:
        raise SuiteError([Problem(file, 1, f"not valid YAML: {exc}")]) from None
    finally:
        composer.dispose()


def _syntax_problem(exc: yaml.MarkedYAMLError, file: str, source: str) -> Problem:
    mark = exc.problem_mark or exc.context_mark
    line = mark.line + 1 if mark else 1
    what = exc.problem or exc.context or "unknown"
    text = f"not valid YAML: {what}"
    began = exc.context_mark.line + 1 if exc.context_mark else line
    if began < line and (exc.context or "").startswith("while"):
        text += f" ({exc.context} that starts on line {began})"
    hint = next((hint for key, hint in _HINTS.items() if key in what), None)
    if what.startswith("mapping values") and mark and _goes_on(source, mark):
        hint = _GOES_ON
    return Problem(file, line, f"{text}; {hint}" if hint else text)


def _goes_on(source: str, mark: yaml.Mark) -> bool:
    """Whether the colon that can't stand there is the first of its line, so likely a key's."""
    before = source.splitlines()[mark.line][: mark.column]
    return mark.line > 0 and ":" not in before


def _child(node: yaml.Node | None, part: object) -> tuple[yaml.Node, int] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key.value, str) and clean(key.value) == part:
                return value, key.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        item = node.value[part]
        return item, item.start_mark.line + 1
    return None
