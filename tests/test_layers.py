"""Rooms import only rooms above them (design: how a dialogue walks through the house)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "pytest_dialeval"
LEVELS = {
    "records": 0,
    "errors": 0,
    "statistics": 1,
    "programs": 1,
    "traces": 1,
    "matching": 1,
    "suites": 2,
    "planning": 3,
    "models": 4,
    "workspaces": 4,
    "conversation": 5,
    "grading": 6,
    "runs": 7,
    "pool": 8,
    "improve": 9,
    "report": 10,
    "plugin": 11,
    "cli": 12,
}
# Type checkers alone read it, and records must name the Problem that errors carry.
TYPES_ONLY = {("errors", "records")}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that this test can read them"
            yield node.module or ""
            if node.module == "pytest_dialeval":
                yield from (f"pytest_dialeval.{each.name}" for each in node.names)


def sources() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE] + [
        PACKAGE / "errors.py",
        PACKAGE / "pool.py",
        PACKAGE / "cli.py",
    ]


def test_every_room_has_a_level() -> None:
    rooms = {room_of(path) for path in sources()}
    assert rooms <= LEVELS.keys()


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path: Path) -> None:
    own = room_of(path)
    for name in imported_names(ast.parse(path.read_text(encoding="utf-8"))):
        parts = name.split(".")
        if parts[0] in ("pytest", "_pytest"):
            assert own == "plugin", f"{own} imports {name}"
        if parts[0] != "pytest_dialeval" or len(parts) == 1 or parts[1] in (own, "__version__"):
            continue
        if (own, parts[1]) not in TYPES_ONLY:
            assert LEVELS[parts[1]] < LEVELS[own], f"{own} imports {name}"


def test_the_guard_sees_a_wrong_import() -> None:
    tree = ast.parse("def f():\n    from pytest_dialeval.plugin import engine")
    assert "pytest_dialeval.plugin" in list(imported_names(tree))
