"""Text as it is compared, with the way back to where it stands in the original.

Width, case, kinds of quotation marks, dashes and spaces make no difference; invisible characters
are left out; spaces between Chinese or Japanese characters are too. Accents and Traditional
characters do make a difference.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_QUOTES = (
    "\u201c\u201d\u201e\u201f\u00ab\u00bb\u300c\u300d\u300e\u300f\u301d\u301e\u301f"
    "\uff02\uff62\uff63"
)
_APOSTROPHES = "\u2018\u2019\u201a\u201b\u2032\u02bc\u02b9\u00b4\uff07"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\ufe58\ufe63\uff0d\u2e3a\u2e3b"
_SAME: dict[str, str] = {
    **dict.fromkeys(_QUOTES, '"'),
    **dict.fromkeys(_APOSTROPHES, "'"),
    **dict.fromkeys(_DASHES, "-"),
    "\u301c": "~",
    "\u0130": "i",  # its own case folding leaves a dot above, which nobody types
}
# An exponent, a footnote or a numbered circle is no digit of the number before it.
_KEPT_DECOMPOSITIONS = ("<super>", "<sub>", "<circle>")
# Longer runs of combining marks are no writing, and normalising them takes quadratic time.
_MARKS_AT_MOST = 30
# Scripts written without spaces; a space next to one of their characters means nothing.
_CJK = (
    "\u2e80-\u2fdf\u3001-\u303f\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_SPACE_BY_CJK = re.compile(f"(?<=[{_CJK}]) | (?=[{_CJK}])")
_LOOSE_SPACE = re.compile(f"  |(?<=[{_CJK}]) | (?=[{_CJK}])")
_CACHED_LENGTH = 20_000


@dataclass(frozen=True, slots=True)
class Normal:
    """Normalised text; character i of it comes from original[starts[i]:ends[i]]."""

    text: str
    original: str
    starts: array[int] | None = None  # None: every character kept its place
    ends: array[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The place in the original of text[start:end], which is not empty."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]

    def quote(self, start: int, end: int) -> tuple[str, int]:
        """What stands there, verbatim, and where."""
        start, end = self.span(start, end)
        return self.original[start:end], start


def normal(text: str) -> Normal:
    """The text as it is compared."""
    return _short(text) if len(text) <= _CACHED_LENGTH else _long(text)


def _fold(cluster: str) -> str:
    if len(cluster) == 1:
        if cluster in _SAME:
            return _SAME[cluster]
        if cluster.isspace():
            return " "
        if unicodedata.category(cluster) == "Cf" or _is_variation_selector(cluster):
            return ""
        if unicodedata.decomposition(cluster).startswith(_KEPT_DECOMPOSITIONS):
            return cluster
    else:
        marks = "".join(each for each in cluster[1:] if not _is_variation_selector(each))
        cluster = _SAME.get(cluster[0], cluster[0]) + marks
    folded = unicodedata.normalize("NFKC", cluster).casefold()
    folded = unicodedata.normalize("NFKC", folded)
    return "".join(_SAME.get(each, each) for each in folded)


def _is_variation_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


@lru_cache(maxsize=16_384)
def _fold_char(char: str) -> str:
    # A combining mark asks for the way by clusters, by taking two places here.
    return "  " if _joins(char) else _fold(char)


def _joins(char: str) -> bool:
    is_jamo = "\u1100" <= char <= "\u11ff"
    return char > "\u02ff" and (is_jamo or unicodedata.category(char)[0] == "M")


def _normalise(text: str) -> Normal:
    folded = list(map(_fold_char, text))
    joined = "".join(folded)
    if len(joined) == len(text) and "" not in folded and not _LOOSE_SPACE.search(joined):
        return Normal(joined, text)
    return _normalise_by_cluster(text)


def _normalise_by_cluster(text: str) -> Normal:
    chars: list[str] = []
    starts, ends = array("I"), array("I")
    for start, end in _clusters(text):
        cluster = text[start:end]
        folded = _fold(cluster) if _joins(cluster[-1]) else _fold_char(cluster)
        for char in folded:
            if char == " " and chars and chars[-1] == " ":
                ends[-1] = end
                continue
            chars.append(char)
            starts.append(start)
            ends.append(end)
    return _tightened("".join(chars), text, starts, ends)


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Each character with the marks that follow it."""
    start = 0
    for place in range(1, len(text) + 1):
        if place < len(text) and place - start <= _MARKS_AT_MOST and _joins(text[place]):
            continue
        yield start, place
        start = place


def _tightened(joined: str, text: str, starts: array[int], ends: array[int]) -> Normal:
    """Without the spaces beside Chinese and Japanese characters; a line break there stays."""
    loose = {
        each.start()
        for each in _SPACE_BY_CJK.finditer(joined)
        if "\n" not in text[starts[each.start()] : ends[each.start()]]
    }
    if not loose:
        return Normal(joined, text, starts, ends)
    kept = [place for place in range(len(joined)) if place not in loose]
    return Normal(
        "".join(joined[place] for place in kept),
        text,
        array("I", (starts[place] for place in kept)),
        array("I", (ends[place] for place in kept)),
    )


# Two sizes of cache, so that a few megabyte replies do not hold the memory of a whole run.
_short = lru_cache(maxsize=1024)(_normalise)
_long = lru_cache(maxsize=4)(_normalise)
