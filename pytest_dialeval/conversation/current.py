"""Which conversation the running code belongs to; logs and calls of models are filed by it."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Line:
    """Whose code runs: a trial's, and in it the agent's or all else."""

    trial: str
    agent: bool = False

    def __str__(self) -> str:
        return f"the agent of {self.trial}" if self.agent else self.trial


class CurrentCase(NamedTuple):
    """The case that is being held, and the trial's number: what calls of models are filed by."""

    case: str = ""
    trial: int = 1


NO_CASE = CurrentCase()
current_conversation: ContextVar[str | None] = ContextVar("dialeval_conversation", default=None)
current_case: ContextVar[CurrentCase] = ContextVar("dialeval_case", default=NO_CASE)
current_line: ContextVar[Line | None] = ContextVar("dialeval_line", default=None)
