"""Text of agents and users, cleaned once where it enters."""

from __future__ import annotations

import re

# Lone surrogates break UTF-8 files and xdist; control characters reach terminals and split words.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Whole terminal commands: what is left of half a colour code would join the next word.
# No part may run into the next command's beginning, or a text of nothing else takes quadratic time.
_TERMINAL = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,64}+[ -/]{0,16}+[@-~]"
    "|(?:\x1b\\]|\x9d)[^\x07\x1b\x9c\x9d]{0,4096}+(?:\x07|\x1b\\\\|\x9c)"
)
_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# They turn the rest of a line round, so that it reads as something else than what was said.
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Text without terminal commands, control characters or lone surrogates (U+FFFD).

    Every line break becomes LF.
    """
    if not _UNCLEAN.search(text):
        return text
    text = _TERMINAL.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", _SURROGATE.sub("\ufffd", text))


def visible(text: str) -> str:
    r"""Cleaned text for a terminal: what changes the direction of reading stands as `\u202e`.

    Only there: traces keep it, so that quotes are found. Joiners and marks of letters stay.
    """
    return _BIDI.sub(lambda found: f"\\u{ord(found[0]):04x}", clean(text))


def clean_value(value: object) -> object:
    """The same for every string inside JSON-like data."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): clean_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clean_value(each) for each in value]
    return value
