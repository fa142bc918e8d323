"""What carries one try of a call to an endpoint, and how a try fails."""

from __future__ import annotations

from typing import Protocol

from pytest_dialeval.models.endpoints import Features
from pytest_dialeval.records.model import ChatAnswer, ChatCall


class Failed(Exception):
    """One try failed; the text says what happened, without endpoint and model."""

    def __init__(
        self,
        text: str,
        *,
        status: int | None = None,
        code: str = "",
        retry_after: float | None = None,
        transient: bool = True,
        stale: bool = False,
        ours: bool = False,
        refused: bool = False,
    ) -> None:
        super().__init__(text)
        self.status = status  # HTTP's, None where there was none
        self.code = code  # the endpoint's own word for it
        self.retry_after = retry_after
        self.transient = transient
        self.stale = stale  # the endpoint had closed an idle connection: not its failure
        self.refused = refused  # nobody listens there
        self.ours = ours  # this machine failed, e.g. no file descriptor is left


class Transport(Protocol):
    """One try; raises Failed or Unreadable."""

    async def send(self, call: ChatCall, features: Features) -> ChatAnswer:
        """The answer, with its times."""
        ...

    async def close(self) -> None:
        """Let go of what it holds."""
        ...
