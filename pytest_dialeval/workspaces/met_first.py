"""Modules of the agent's that Python would meet before its own library's, or before pytest's."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import all_suffixes
from importlib.metadata import entry_points
from pathlib import Path

# pytest's own, beside what its plugins are called.
_PYTEST = frozenset(
    {"pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup"}
    | {"tomli", "coverage", "execnet"}
)
_SOURCES = ("", "src", "lib")


def met_first(tree: Path, new: Iterable[str], laid: Iterable[str]) -> list[str]:
    """Of the paths that the start does not have, those that would replace such a module.

    They count in folders where Python begins to look: the top, and where programs of `laid` lie.
    """
    roots = {*_SOURCES, *(each.rpartition("/")[0] for each in laid if each.endswith(".py"))}
    found = [(name, each) for each in new for name in _modules(tree, each, roots)]
    known = sys.stdlib_module_names | _PYTEST | _plugins() if found else frozenset()
    return [each for name, each in found if name in known]


def _modules(tree: Path, path: str, roots: set[str]) -> Iterator[str]:
    """The name by which a path would be imported; a folder without code replaces nothing."""
    above, _, last = path.rpartition("/")
    name, _, _ = last.partition(".")
    is_code = last[len(name) :] in all_suffixes()
    if above in roots and (is_code or (tree / path).is_symlink()):
        yield name
    root, _, package = above.rpartition("/")
    if is_code and name == "__init__" and root in roots and package:
        yield package


def _plugins() -> frozenset[str]:
    return frozenset(each.module.partition(".")[0] for each in entry_points(group="pytest11"))
