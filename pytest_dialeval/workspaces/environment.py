"""The environment of verifiers, of scripted commands, and of agents that are programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_dialeval.programs.environ import RUNNING
from pytest_dialeval.traces.redaction import names_a_secret

# They steer git, a pytest within this one, or what measures this run; none is meant for a command.
_OURS = ("GIT_", "PYTEST_", "DIALEVAL_", "COV_", "COVERAGE_")
_ALSO = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK", "PYTHONBREAKPOINT"})


def agents_environment(environment: Mapping[str, str], workspace: str | None) -> dict[str, str]:
    """What a program gets that is the agent: its keys, but not what is asked of it.

    pytest names the running test, and so persona and rubric, in a variable. In a folder of its own
    an agent's git and its own pytest must not meet what is meant for those of this run.
    """
    if workspace is None:
        return {name: each for name, each in environment.items() if name != RUNNING}
    kept = {
        name: value
        for name, value in environment.items()
        if not (name.startswith(_OURS) or name in ("PWD", "OLDPWD"))
    }
    return {**kept, "PWD": workspace, "DIALEVAL_WORKSPACE": workspace}


def plain_environment(
    environment: Mapping[str, str], home: Path, clear: Callable[[str], str] = str
) -> dict[str, str]:
    """What commands get of ours; `python` is the interpreter that runs pytest, HOME is `home`.

    `clear` takes secrets out of a text: a variable that holds one is left out, whatever its name.
    """
    kept = {
        name: value
        for name, value in environment.items()
        if not (name.startswith(_OURS) or name in _ALSO or names_a_secret(name))
        and clear(value) == value
    }
    path = kept.get("PATH", os.defpath)
    here = str(Path(sys.executable).parent)
    return {**kept, "PATH": f"{here}{os.pathsep}{path}", "HOME": str(home), "TMPDIR": str(home)}
