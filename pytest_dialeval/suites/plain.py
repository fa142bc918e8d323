"""YAML nodes as plain values; only true, false, null and numbers are anything but text."""

from __future__ import annotations

import re
from collections.abc import Callable

import yaml

from pytest_dialeval.records.text import clean

_DEPTH = 64
_SPARE = 100_000  # values that aliases may add by being repeated
_TEXT = "tag:yaml.org,2002:str"
_WORDS = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
# 007 and +1 stay text, so that a number always reads back as it was written.
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(
    r"-?(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
    r"|-?(?:0|[1-9][0-9]*)[eE][-+]?[0-9]+"
)
_LIMITLESS = re.compile(r"-?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_NUMBER_STARTS = frozenset("-.0123456789")


class PlainValues:
    """Builds the value of a node; what can't be read is reported and left out."""

    def __init__(self, report: Callable[[int, str], None]) -> None:
        self._report = report
        self._known: dict[int, tuple[object, int]] = {}  # of shared nodes: value and size
        self._open: set[int] = set()
        self._added = 0

    def of(self, node: yaml.Node, depth: int = 0) -> object:
        """The value of a node and everything below it."""
        return self._sized(node, depth)[0]

    def _sized(self, node: yaml.Node, depth: int) -> tuple[object, int]:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node), 1
        identity = id(node)
        if identity in self._known:
            return self._repeated(node, self._known[identity])
        if identity in self._open:
            return self._refused(node, "an alias (*name) stands inside its own anchor (&name)")
        if depth > _DEPTH:
            return self._refused(node, f"nested more than {_DEPTH} levels deep")
        self._open.add(identity)
        build = self._mapping if isinstance(node, yaml.MappingNode) else self._sequence
        self._known[identity] = built = build(node, depth + 1)
        self._open.discard(identity)
        return built

    def _repeated(self, node: yaml.Node, known: tuple[object, int]) -> tuple[object, int]:
        self._added += known[1]
        if self._added > _SPARE:
            return self._refused(node, f"aliases (*name) repeat more than {_SPARE} values")
        return known

    def _refused(self, node: yaml.Node, text: str) -> tuple[object, int]:
        self._report(node.start_mark.line + 1, text)
        return None, 1

    def _sequence(self, node: yaml.Node, depth: int) -> tuple[object, int]:
        self._check_tag(node)
        values = [self._sized(each, depth) for each in node.value]
        return [value for value, _ in values], 1 + sum(size for _, size in values)

    def _mapping(self, node: yaml.Node, depth: int) -> tuple[object, int]:
        self._check_tag(node)
        values: dict[str, object] = {}
        lines: dict[str, int] = {}
        total = 1
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = self._key(key_node, line)
            if key is None:
                continue
            if key in values:
                self._report(line, f"duplicate key {key!r}: it stands on line {lines[key]} too")
                continue
            lines[key] = line
            values[key], size = self._sized(value_node, depth)
            total += size
        return values, total

    def _key(self, node: yaml.Node, line: int) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self._report(line, "a key must be text, not a list or a mapping")
            return None
        if node.value == "<<" and not node.style:
            self._report(line, "merge keys (<<) are not read: write the keys out")
            return None
        return clean(node.value)

    def _scalar(self, node: yaml.ScalarNode) -> object:
        text: str = node.value
        self._check_tag(node)
        if node.style or node.tag == _TEXT:
            return clean(text)
        if text in _WORDS:
            return _WORDS[text]
        if text[0] in _NUMBER_STARTS:
            return self._number(node, text)
        return clean(text)

    def _number(self, node: yaml.Node, text: str) -> object:
        if _INTEGER.fullmatch(text):
            # JSON, and so every file of a run, holds integers of 64 bits.
            if len(text) <= 20 and -(2**63) <= int(text) < 2**63:
                return int(text)
            self._report(node.start_mark.line + 1, f"{text[:40]} is too large a number: quote it")
            return 0
        if _LIMITLESS.fullmatch(text):
            return float(text.lower().replace(".", "", 1))
        return float(text) if _FLOAT.fullmatch(text) else clean(text)

    def _check_tag(self, node: yaml.Node) -> None:
        if node.tag and node.tag not in (_TEXT, "!"):
            self._report(node.start_mark.line + 1, f"tag {node.tag!r} is not read: remove it")
