"""The folder that an agent works in during one conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from pytest_dialeval.records.work import Done


class Site(Protocol):
    """A fresh copy of the task's folder; HarnessFault where it can't be had or read."""

    @property
    def folder(self) -> Path:
        """Where the agent works; absolute."""

    async def open(self) -> None:
        """Make the copy; before the agent starts."""

    async def after(self, round_: int, *, last: bool) -> Done:
        """Store the patch after a round, and run the verifier where it is due.

        `last`: no round follows. May be called again for the same round with `last`, once a
        conversation turns out to be over; what is known then is not done again.
        """

    async def close(self) -> None:
        """Remove the copy; called once, also after an error."""
