"""Which conversation the running code belongs to, so that log records can be filed by it."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """Whose code runs: a trial's, and in it the agent's or all else."""

    trial: str
    agent: bool = False

    def __str__(self) -> str:
        return f"the agent of {self.trial}" if self.agent else self.trial


current_conversation: ContextVar[str | None] = ContextVar("dialeval_conversation", default=None)
current_line: ContextVar[Line | None] = ContextVar("dialeval_line", default=None)
