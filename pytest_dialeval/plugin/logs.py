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
LIVE = "log_cli_handler"
# pytest files what the first two catch under whatever item runs at the moment. The third takes that
# item's capture off while it writes, on whatever thread.
PYTEST_HANDLERS = ("caplog_handler", "report_handler", LIVE)


def _of_no_conversation(record: logging.LogRecord) -> bool:
    return current_conversation.get() is None


def _told(record: logging.LogRecord) -> logging.LogRecord:
    """A copy that holds nothing of the agent's but words; a traceback was made one by format()."""
    try:
        message = record.getMessage()
    except Exception:  # said likewise where it is filed
        message = f"{record.msg!r} with {record.args!r}"
    text = {"msg": visible(message)[:LONGEST], "args": None, "exc_info": None}
    return logging.makeLogRecord({**vars(record), **text})


class ConversationLogs(logging.Handler):
    """Listens on the root logger while a run is on; a context variable says whose a record is."""

    def __init__(self, config: pytest.Config) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(levelname)-8s %(name)s: %(message)s"))
        self._plugin = config.pluginmanager.get_plugin("logging-plugin")
        self._lines: dict[str, list[str]] = {}
        self._live: Any = getattr(self._plugin, LIVE, None)
        self._unshown: dict[str, list[logging.LogRecord]] = {}  # where logs are shown as they come

    def emit(self, record: logging.LogRecord) -> None:
        """File one record; called on whatever thread the agent runs."""
        trial = current_conversation.get()
        if trial is None:
            return
        lines = self._lines.setdefault(trial, [])
        if len(lines) < KEPT:
            lines.append(visible(self._said(record))[:LONGEST])
            if isinstance(self._live, logging.StreamHandler) and record.levelno >= self._live.level:
                self._unshown.setdefault(trial, []).append(_told(record))

    def _said(self, record: logging.LogRecord) -> str:
        try:
            return self.format(record)
        except Exception:  # `log.warning("%d", "x")` is no reason for the agent to fail
            return f"{record.levelname} {record.name}: {record.msg!r} with {record.args!r}"

    def of(self, trial: str) -> str:
        """What was logged in a trial's conversation."""
        return "\n".join(self._lines.get(trial, ()))

    def show(self, trial: str) -> None:
        """Have pytest show under the running item what log_cli asks for; on the main thread."""
        for record in self._unshown.pop(trial, ()):
            self._live.handle(record)

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
