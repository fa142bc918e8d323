"""How a folder to work in is written, and the command that verifies the work."""

from __future__ import annotations

import re
import shlex
from typing import Annotated, Any, ClassVar, get_args

from pydantic import BeforeValidator, Field

from pytest_dialeval.records.work import Verifier, When, Workspace
from pytest_dialeval.suites.form import Form, Line, Positive, must, one_of

_WORKSPACE = Workspace("")
_VERIFIER = Verifier("")


def _splits(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(shlex.split(value))
    except ValueError:
        return False


def _is_later(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch("[2-9]|[1-9][0-9]{1,3}", value))


Command = Annotated[
    Line, must(_splits, "a command whose quotes are closed, such as python -m pytest -q")
]


LaterRound = Annotated[
    str, must(_is_later, "a round, from 2: what round 1 asks for is verified by `command`")
]


class WorkspaceForm(Form):
    """The folder that each trial gets a copy of."""

    noun: ClassVar[str] = "a workspace"

    folder: Line = Field(description="the folder, from the suite's; it stays as it is")
    max_mb: Positive = Field(
        _WORKSPACE.max_mb, description="megabytes that it may have, as every trial copies it"
    )


class VerifierForm(Form):
    """The command that says whether the work is right, apart from the agent's folder."""

    noun: ClassVar[str] = "a verifier"

    command: Command = Field(
        description="run without a shell in a fresh copy with the agent's patch; exit status 0 "
        "is right"
    )
    when: Annotated[When, one_of(*get_args(When))] = Field(
        _VERIFIER.when, description="after which rounds it runs"
    )
    deadline: Positive = Field(_VERIFIER.deadline, description="seconds for one command")
    hidden: Line | None = Field(
        None, description="a folder whose files are laid over the copy for the run alone"
    )
    result: Line | None = Field(
        None, description="a JSON or JUnit file that the command writes, from the copy's top"
    )
    rounds: dict[LaterRound, Command] = Field(
        {}, description="commands of later requests, by the round from which on they run"
    )
    restore: list[Line] | None = Field(
        None,
        description="patterns of files that are taken from the start, whatever the agent did; "
        "instead of those that steer tests",
    )


def _bare(key: str) -> Any:
    """A bare text stands for one key."""
    return lambda value: {key: value} if isinstance(value, str) else value


AnyWorkspace = Annotated[
    WorkspaceForm,
    BeforeValidator(_bare("folder"), json_schema_input_type=str | WorkspaceForm),
]
AnyVerifier = Annotated[
    VerifierForm,
    BeforeValidator(_bare("command"), json_schema_input_type=str | VerifierForm),
]
