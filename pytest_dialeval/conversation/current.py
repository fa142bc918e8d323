"""Which conversation the running code belongs to; logs and calls of models are filed by it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple


class CurrentCase(NamedTuple):
    """The case that is being held, and the trial's number: what calls of models are filed by."""

    case: str = ""
    trial: int = 1


NO_CASE = CurrentCase()
current_conversation: ContextVar[str | None] = ContextVar("dialeval_conversation", default=None)
current_case: ContextVar[CurrentCase] = ContextVar("dialeval_case", default=NO_CASE)
