"""The tree of exceptions is drawn as it is, and what crosses a room's border stands in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pytest_dialeval import errors

from .test_layers import PACKAGE, room_of, sources


def tree(root: type, depth: int = 0) -> Iterator[tuple[int, str]]:
    """Depth and name of each class of errors.py, a class before those below it."""
    yield depth, root.__name__
    for each in root.__subclasses__():
        if each.__module__ == errors.__name__:
            yield from tree(each, depth + 1)


def drawn() -> Iterator[tuple[int, str]]:
    for line in str(errors.__doc__).splitlines():
        if found := re.match(r"([│├└─ ]*)([A-Z]\w+)(  |$)", line):
            yield len(found[1]) // 4, found[2]


def test_the_tree_is_drawn_as_it_is() -> None:
    assert list(drawn()) == list(tree(errors.DialevalError))


def test_errors_of_one_room_stay_in_it() -> None:
    everywhere = [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in sources()]
    homes = {
        node.name: room_of(path)
        for path, module in everywhere
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef) and {ast.unparse(each) for each in node.bases} & NAMES
    }
    for path, module in everywhere:
        for node in ast.walk(module):
            for each in node.names if isinstance(node, ast.ImportFrom) else ():
                home = homes.get(each.name, "errors")
                where = path.relative_to(PACKAGE)
                assert home in ("errors", room_of(path)), f"{where}: {each.name} is of {home}"


NAMES = {name for _, name in tree(errors.DialevalError)}
