"""Log records of conversations, filed with the conversation and not under a stranger's item."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_dialeval.conversation.current import current_conversation
from pytest_dialeval.records.text import visible

KEPT = 50  # lines of one conversation
LONGEST = 4_000  # characters of a record, with its traceback
# pytest files what these two catch under whatever item runs at the moment.
PYTEST_HANDLERS = ("caplog_handler", "report_handler")


def _of_no_conversation(record: logging.LogRecord) -> bool:
    return current_conversation.get() is None


class ConversationLogs(logging.Handler):
    """Listens on the root logger while a run is on; a context variable says whose a record is."""

    def __init__(self, config: pytest.Config) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(levelname)-8s %(name)s: %(message)s"))
        self._plugin = config.pluginmanager.get_plugin("logging-plugin")
        self._lines: dict[str, list[str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """File one record; called on whatever thread the agent runs."""
        trial = current_conversation.get()
        if trial is None:
            return
        lines = self._lines.setdefault(trial, [])
        if len(lines) < KEPT:
            lines.append(visible(self._said(record))[:LONGEST])

    def _said(self, record: logging.LogRecord) -> str:
        try:
            return self.format(record)
        except Exception:  # `log.warning("%d", "x")` is no reason for the agent to fail
            return f"{record.levelname} {record.name}: {record.msg!r} with {record.args!r}"

    def of(self, trial: str) -> str:
        """What was logged in a trial's conversation."""
        return "\n".join(self._lines.get(trial, ()))

    def open(self) -> None:
        """Begin to listen, and keep pytest's handlers from filing these records too."""
        logging.getLogger().addHandler(self)
        for handler in self._handlers():
            handler.addFilter(_of_no_conversation)

    def close(self) -> None:
        """Leave logging as it was."""
        logging.getLogger().removeHandler(self)
        for handler in self._handlers():
            handler.removeFilter(_of_no_conversation)
        super().close()

    def _handlers(self) -> Iterator[Any]:
        for name in PYTEST_HANDLERS:
            handler = getattr(self._plugin, name, None)
            if isinstance(handler, logging.Handler):
                yield handler
