"""Command lines as suites write them: split into words, and run without a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from pytest_dialeval.suites.form import shown

_OPERATORS = frozenset({"&&", "||", "|", "&", ";", ">", ">>", "<", "2>", "2>>", "2>&1", "&>"})
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
