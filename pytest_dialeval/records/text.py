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
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# They take no room: a word with one in it looks like the word, and tags hide whole sentences.
_UNSEEN = "\u00ad\u180e\u200b\u2060-\u2064\ufeff\U000e0000-\U000e007f"
_SHOWN_AS_CODE = re.compile(f"[{_BIDI}{_UNSEEN}]")


def clean(text: str) -> str:
    """Text without terminal commands, control characters or lone surrogates (U+FFFD).

    Every line break becomes LF.
    """
    if (text.isascii() and text.isprintable()) or not _UNCLEAN.search(text):
        return text
    text = _TERMINAL.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", _SURROGATE.sub("\ufffd", text))


def visible(text: str) -> str:
    r"""Cleaned text for a terminal: what turns reading round or is unseen stands as `\u202e`.

    Only there: traces keep it, so that quotes are found. Joiners and marks of letters stay.
    """
    return _SHOWN_AS_CODE.sub(_code, clean(text))


def _code(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def clean_value(value: object) -> object:
    """The same for every string inside JSON-like data."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): clean_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clean_value(each) for each in value]
    return value
