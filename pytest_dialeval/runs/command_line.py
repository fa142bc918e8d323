"""Secrets on a command line, before they reach a file of the run."""

from __future__ import annotations

import re

_HIDDEN = "***"
# Whole words, or the usual ones written together: --monkey and --max-tokens are none.
_WORD = "(?:(?<![a-z])(?:key|token|secret|password|passwd)|apikey|accesskey|authtoken)(?![a-z])"
_NAME = rf"[\w-]*{_WORD}[\w-]*"
_VALUE = r"""(?:"[^"]*"|'[^']*'|[^\s&"']+)"""
_NAMED = re.compile(rf"(?i)((?<![\w-])--?{_NAME}[=\s]\s*|(?<![\w-]){_NAME}=){_VALUE}")
_BEARER = re.compile(rf"(?i)(\bbearer\s+){_VALUE}")
_IN_URL = re.compile(r"(://)[^/\s@]+(?=@)")
_KNOWN = re.compile(r"\b(?:sk|pk|ghp|gho|xox[a-z])[-_][\w-]{12,}")


def without_secrets(text: str) -> str:
    """The text with `***` for what follows `--api-key`, `TOKEN=`, `Bearer`, or looks like a key."""
    text = _NAMED.sub(rf"\1{_HIDDEN}", text)
    text = _BEARER.sub(rf"\1{_HIDDEN}", text)
    text = _IN_URL.sub(rf"\1{_HIDDEN}", text)
    return _KNOWN.sub(_HIDDEN, text)


def redacted(value: object) -> object:
    """The same for a setting: text, a list of texts, or what can hold no secret."""
    if isinstance(value, list):
        return [redacted(each) for each in value]
    return without_secrets(value) if isinstance(value, str) else value
