"""Characters, words and sentences of a text, counted as a reader would."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = frozenset(("Mn", "Me", "Cf"))
_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTER = rf"(?:(?![{_HAN}])\w)"
# A number, a contraction or a compound is one word; a Chinese or Japanese character is one each.
_WORD = re.compile(rf"[{_HAN}]|{_LETTER}++(?:['’.,:\-\u2010\u2011]{_LETTER}++)*+")
_END = re.compile(r"[。！？｡]+|[.!?]+(?=[\s\"'”’)\]*]|$)|\n+")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:mr|mrs|ms|dr|prof|sr|jr|st|vs|no|inc|ltd|co|e\.g|i\.e|approx|dept|[a-z])$", re.I
)
_DAYTIME = re.compile(r"\b[ap]\.m$", re.I)
_CAPITAL = re.compile(r"\s+[A-Z]")
_MARKER = re.compile(r"(?:^|\n)[\s*#>-]*\d{1,2}$")


def count_chars(text: str) -> int:
    """Characters without the space round the text and without what takes no place of its own."""
    text = text.strip()
    if text.isascii():
        return len(text)
    return sum(unicodedata.category(char) not in _INVISIBLE for char in text)


def count_words(text: str) -> int:
    """Words; every Chinese or Japanese character counts as one."""
    return sum(1 for _ in _WORD.finditer(text))


def count_sentences(text: str) -> int:
    """Sentences: ends of lines end them too, abbreviations, decimals and list markers do not."""
    count = start = 0
    for each in _END.finditer(text):
        before = text[max(start, each.start() - 20) : each.start()]
        if each.group() == "." and _goes_on(text, before, each.end()):
            continue
        count += bool(_WORD.search(text, start, each.start()))
        start = each.end()
    return count + bool(_WORD.search(text, start))


def _goes_on(text: str, before: str, after: int) -> bool:
    """Whether the full stop there belongs to an abbreviation or a list marker."""
    if _DAYTIME.search(before):
        return not _CAPITAL.match(text, after)
    return bool(_ABBREVIATED.search(before) or _MARKER.search(before))
