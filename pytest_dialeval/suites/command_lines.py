"""Command lines as suites write them: split into words, and run without a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from os.path import exists
from pathlib import Path

from pytest_dialeval.suites.form import shown
from pytest_dialeval.traces.disk import nearest

_OPERATORS = frozenset({"&&", "||", "|", "&", ";", ">", ">>", "<", "2>", "2>>", "2>&1", "&>"})
_SCRIPTS = (".py", ".sh", ".js", ".mjs", ".ts", ".rb", ".pl")
_REMEDY = "write sh -c '...', which is one"


def shell_problem(command: str) -> str:
    """Why it would not do what it says: only a shell reads `&&` and its like. Empty: it does."""
    found = next(_operators(command), None)
    if found is None:
        return ""
    return (
        f"{shown(command)} is run without a shell, to which alone {found!r} means more: {_REMEDY}"
    )


def _operators(command: str) -> Iterator[str]:
    """Words that stand there without quotes: in quotes they are meant as they are."""
    try:
        words = set(shlex.split(command))
    except ValueError:  # which is said elsewhere
        return
    for written in command.split():
        if written in words and (written in _OPERATORS or written.endswith(";")):
            yield ";" if written.endswith(";") else written


def lost_script(command: str, folders: Sequence[str]) -> str:
    """`'a.py' is not there; did you mean 'b.py'?` of `python a.py`; empty where it is, or none is.

    `folders`: where the command will find files, those that a user would look into first.
    """
    script = _script(command)
    paths = [Path(each, script) for each in folders]
    if not script or any(map(exists, paths)):
        return ""
    guess = next(filter(None, map(nearest, paths)), "")
    return f"{shown(script)} is not there{guess}"


def _script(command: str) -> str:
    """The file that an interpreter is given to run; empty where that can't be told."""
    for word in shlex.split(command)[1:]:
        if word in ("-m", "-c"):
            return ""
        if not word.startswith("-"):
            return word if word.endswith(_SCRIPTS) else ""
    return ""
