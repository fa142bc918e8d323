"""tau's simulated user ends a conversation by a marker in its text: a signal, nothing said."""

from __future__ import annotations

import re

STOP = "###STOP###"
_TOKEN = re.compile(r"###(STOP|TRANSFER|OUT-OF-SCOPE)###")
_AT_END = re.compile(rf"(?:\s*{_TOKEN.pattern})+\s*\Z")


def split_stop_token(text: str) -> tuple[str, str | None]:
    """The text without markers at its end (elsewhere they stay), and the last marker in it."""
    tokens = _TOKEN.findall(text) if "###" in text else []
    if not tokens:
        return text, None
    return _AT_END.sub("", text), tokens[-1]
