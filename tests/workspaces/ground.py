"""A small folder, a site over it, and what an agent might do there."""

from __future__ import annotations

import asyncio
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.records.work import Done, Verifier, Workspace
from pytest_dialeval.workspaces.folder_site import FolderSite, Plan

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
PYTHON = sys.executable
CODE = {"calc.py": "def add(a, b):\n    return a - b\n", "README": "A calculator.\n"}
CHECK = "import calc, sys\nsys.exit(calc.add(2, 3) != 5)\n"
FIXED = "def add(a, b):\n    return a + b\n"
Act = Callable[[Path], object]


def folder(at: Path, files: Mapping[str, str | bytes] = CODE) -> Path:
    """The files, in a folder called repo."""
    repo = at / "project" / "repo"
    repo.mkdir(parents=True, exist_ok=True)
    lay(repo, files)
    return repo


def lay(at: Path, files: Mapping[str, str | bytes]) -> None:
    for name, text in files.items():
        path = at / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = textwrap.dedent(text).encode() if isinstance(text, str) else text
        path.write_bytes(data)


def script(at: Path, text: str, name: str = "verify.py") -> str:
    """A command that runs this Python, from outside the folder."""
    beginning = "import sys; sys.path.insert(0, '')\n"
    (at / name).write_text(beginning + textwrap.dedent(text))
    return f"{PYTHON} {at / name}"


def site(repo: Path, verifier: Verifier | None = None, **keys: Any) -> FolderSite:
    runs = repo.parent.parent / "runs"
    given = {"clear": lambda text: text, "max_mb": 10.0, **keys}
    workspace = Workspace(str(repo), given["max_mb"])
    where = runs / "t-1.work"
    return FolderSite(
        Plan(workspace, verifier, repo.parent, where, "traces/t-1.work", given["clear"])
    )


def worked(made: FolderSite, *acts: Act, again: bool = False) -> list[Done]:
    """What is known after each act, each a round; the last is the last."""

    async def work() -> list[Done]:
        try:
            await made.open()
            done = []
            for number, act in enumerate(acts, 1):
                act(made.folder)
                last = number == len(acts)
                if last and again:
                    await made.after(number, last=False)
                done.append(await made.after(number, last=last))
            return done
        finally:
            await made.close()

    return asyncio.run(work())


def nothing(_: Path) -> None:
    """What an idle agent does."""


def writes(name: str, text: str | bytes) -> Act:
    return lambda at: lay(at, {name: text})
