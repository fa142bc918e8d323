"""tau's simulated user ends a conversation by a marker in its text: a signal, nothing said."""

from __future__ import annotations

STOP = "###STOP###"
_TOKENS = {STOP: "STOP", "###TRANSFER###": "TRANSFER", "###OUT-OF-SCOPE###": "OUT-OF-SCOPE"}


def split_stop_token(text: str) -> tuple[str, str | None]:
    """The text without markers at its end (elsewhere they stay), and the last marker in it."""
    last = max(_TOKENS, key=text.rfind)
    if last not in text:
        return text, None
    end = len(text)
    while (kept := _before_token(text, end)) is not None:
        end = kept
    return text[:end].rstrip() if end < len(text) else text, _TOKENS[last]


def _before_token(text: str, end: int) -> int | None:
    while end and text[end - 1].isspace():
        end -= 1
    for token in _TOKENS:
        if text.endswith(token, 0, end):
            return end - len(token)
    return None
