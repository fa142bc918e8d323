"""Who keeps a loop from going on, as seen from another thread."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass

from pytest_dialeval.conversation.current import Line
from pytest_dialeval.conversation.fault import place_in


@dataclass(frozen=True, slots=True)
class Blocker:
    """Whose code runs on the loop, and ` (file.py:12)`, its line; empty where it is no user's."""

    line: Line | None
    place: str

    def __str__(self) -> str:
        who = "something" if self.line is None else str(self.line)
        return f"{who} blocks the event loop{self.place}"


def blocker_of(loop: asyncio.AbstractEventLoop, thread: int | None) -> Blocker:
    """Called while the loop stands still; `thread` is the ident of the one that it runs in."""
    line = getattr(asyncio.current_task(loop), "line", None)
    frame = sys._current_frames().get(thread or 0)
    places = []
    while frame is not None:
        places.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return Blocker(line, place_in(reversed(places)))
