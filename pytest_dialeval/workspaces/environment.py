"""The environment of verifiers and of scripted commands: no secrets, no settings of ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_dialeval.traces.redaction import names_a_secret

# They steer git, a pytest within this one, or what measures this run; none is meant for a command.
_OURS = ("GIT_", "PYTEST_", "DIALEVAL_", "COV_", "COVERAGE_")
_ALSO = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK", "PYTHONBREAKPOINT"})


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
