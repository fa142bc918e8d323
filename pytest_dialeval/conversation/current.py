"""Which conversation the running code belongs to, so that log records can be filed by it."""

from __future__ import annotations

from contextvars import ContextVar

current_conversation: ContextVar[str | None] = ContextVar("dialeval_conversation", default=None)
