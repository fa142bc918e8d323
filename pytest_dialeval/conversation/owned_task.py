"""Tasks that know whose they are, so that no agent can cancel another's conversation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Generator
from contextvars import Context
from typing import Any

from pytest_dialeval.conversation.current import Line, current_line

logger = logging.getLogger(__name__)


class OwnedTask(asyncio.Task[Any]):
    """Belongs to whoever made it, an agent's own tasks to that agent."""

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
        *,
        context: Context | None = None,
        **more: Any,
    ) -> None:
        # Noted first: an eager task runs before super() returns.
        self.line: Line | None = (
            current_line.get() if context is None else context.get(current_line)
        )
        super().__init__(coroutine, context=context, **more)

    def set_name(self, value: object) -> None:
        """Python 3.13.0 calls a task from a factory `None` where no name was given."""
        if value is not None:
            super().set_name(value)

    def cancel(self, msg: Any | None = None) -> bool:
        """Refused to an agent that means another's, as one does that cancels all tasks it finds."""
        by = current_line.get()
        if by is not None and by.agent and by != self.line:
            logger.warning("%s tried to cancel %r, which is not its own", by, self.get_name())
            return False
        return super().cancel(msg)


def owned_task(
    loop: asyncio.AbstractEventLoop,
    coroutine: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
    /,
    **more: Any,
) -> OwnedTask:
    """The factory for a loop's tasks."""
    return OwnedTask(coroutine, loop=loop, **more)
