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
from functools import lru_cache
from typing import TypeAlias

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
_RUN = re.compile("[ \n]{2,}")
_ASCII_RUN = re.compile(r"\s{2,}")
_ASCII_SPACES = re.compile(r"[^\S\n]")
_CACHED_LENGTH = 20_000
_Offsets: TypeAlias = "tuple[array[int], array[int]]"


class Normal:
    """A text as it is compared, and as it was written.

    `lined` is the same with a line break where one was written, place for place.
    """

    __slots__ = ("_offsets", "lined", "original", "text")

    def __init__(self, original: str, lined: str, offsets: _Offsets | None = None) -> None:
        self.original = original
        self.lined = lined
        self.text = lined.replace("\n", " ")
        self._offsets = offsets

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The place in the original of text[start:end], which is not empty."""
        if len(self.text) == len(self.original) and self.original.isascii():
            return start, end
        if self._offsets is None:
            # Most texts are searched in vain: the way back is only built when it is needed.
            is_ascii = self.original.isascii()
            self._offsets = (
                _ascii_offsets(self.original) if is_ascii else _by_cluster(self.original)[1]
            )
        starts, ends = self._offsets
        return starts[start], ends[end - 1]

    def quote(self, start: int, end: int) -> tuple[str, int]:
        """What stands there, verbatim, and where."""
        start, end = self.span(start, end)
        return self.original[start:end], start


def normal(text: str) -> Normal:
    """The text as it is compared."""
    return _short(text) if len(text) <= _CACHED_LENGTH else _long(text)


def typed(text: str) -> str:
    """The text with quotes, dashes, spaces and widths as a keyboard types them, place for place."""
    return text if text.isascii() else "".join(map(_type, text))


@lru_cache(maxsize=16_384)
def _type(char: str) -> str:
    if char in _SAME and char != "\u0130":
        return _SAME[char]
    if "\uff01" <= char <= "\uff5e":
        return unicodedata.normalize("NFKC", char)
    return " " if unicodedata.category(char) == "Zs" else char


def _fold(cluster: str) -> str:
    if len(cluster) == 1:
        if cluster in _SAME:
            return _SAME[cluster]
        if cluster.isspace():
            return cluster if cluster == "\n" else " "
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
    return _CLUSTERED if _joins(char) else _fold(char)


_CLUSTERED = "\0"  # no character can be folded without the mark that follows it


def _joins(char: str) -> bool:
    is_jamo = "\u1100" <= char <= "\u11ff"
    return char > "\u02ff" and (is_jamo or unicodedata.category(char)[0] == "M")


def _normalise(text: str) -> Normal:
    if text.isascii():
        return Normal(text, _ascii(text.lower()))
    folded = "".join(map(_fold_char, text))
    if _CLUSTERED in folded:
        lined, offsets = _by_cluster(text)
        return Normal(text, lined, offsets)
    return Normal(text, _SPACE_BY_CJK.sub("", _RUN.sub(_one_space, folded)))


def _ascii(folded: str) -> str:
    """The same of ASCII: mostly there is nothing to replace, which is seen without a pattern."""
    if not folded.isprintable():
        folded = _ASCII_SPACES.sub(" ", folded)
    is_single = "  " not in folded and "\n" not in folded
    return folded if is_single else _RUN.sub(_one_space, folded)


def _one_space(run: re.Match[str]) -> str:
    return "\n" if "\n" in run[0] else " "


def _ascii_offsets(text: str) -> _Offsets:
    """Where each character of an ASCII text comes from: only runs of spaces were shortened."""
    starts, ends = array("I"), array("I")
    done = 0
    for run in _ASCII_RUN.finditer(text):
        starts.extend(range(done, run.start() + 1))
        ends.extend(range(done + 1, run.start() + 1))
        ends.append(run.end())
        done = run.end()
    starts.extend(range(done, len(text)))
    ends.extend(range(done + 1, len(text) + 1))
    return starts, ends


def _by_cluster(text: str) -> tuple[str, _Offsets]:
    """The same the long way: character by character, keeping where each comes from."""
    chars: list[str] = []
    starts, ends = array("I"), array("I")
    for start, end in _clusters(text):
        for char in _fold(text[start:end]):
            if char in " \n" and chars and chars[-1] in " \n":
                chars[-1] = "\n" if "\n" in (char, chars[-1]) else " "
                ends[-1] = end
                continue
            chars.append(char)
            starts.append(start)
            ends.append(end)
    joined = "".join(chars)
    loose = {each.start() for each in _SPACE_BY_CJK.finditer(joined)}
    kept = [place for place in range(len(joined)) if place not in loose]
    offsets = array("I", (starts[each] for each in kept)), array("I", (ends[each] for each in kept))
    return "".join(joined[each] for each in kept), offsets


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Each character with the marks that follow it."""
    start = 0
    for place in range(1, len(text) + 1):
        if place < len(text) and place - start <= _MARKS_AT_MOST and _joins(text[place]):
            continue
        yield start, place
        start = place


# Two sizes of cache, so that a few megabyte replies do not hold the memory of a whole run.
_short = lru_cache(maxsize=1024)(_normalise)
_long = lru_cache(maxsize=4)(_normalise)
