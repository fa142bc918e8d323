"""Where a phrase stands in a text, compared by meaning."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from heapq import merge

from pytest_dialeval.matching.figure_patterns import IN_WORDS
from pytest_dialeval.matching.figures import Figure, numbers
from pytest_dialeval.matching.normal import Normal, normal
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import Evidence

# Written without spaces between words, or with endings glued on: no word boundary can be asked.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3001-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_NON = re.compile(r"(?<!\w)non-$")


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a normalised text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Phrase:
    """What a user wrote to be found: words, a number, or words with numbers in them."""

    written: str
    text: str
    numbers: tuple[Figure, ...]

    def places(self, text: Normal) -> Iterator[Place]:
        """Every place where it stands, from left to right, without overlaps."""
        if not self.numbers:
            return self._literal(text, ())
        if not self._may_stand_in(text.text):
            return iter(())
        found = numbers(text.original)
        if self._is_number:
            return self._by_number(text, found)
        return _apart(merge(self._literal(text, found), self._by_number(text, found), key=_order))

    def _may_stand_in(self, text: str) -> bool:
        # Reading the numbers of a text takes long, and most texts lack the one that is asked for.
        value = self.numbers[0].value
        assert isinstance(value, Decimal)
        digits = str(int(abs(value)))
        return digits == "0" or digits in text.replace(",", "") or bool(IN_WORDS.search(text))

    @property
    def _is_number(self) -> bool:
        [first, *others] = self.numbers
        return not others and (first.start, first.end) == (0, len(self.text))

    def _literal(self, text: Normal, found: Sequence[Figure]) -> Iterator[Place]:
        start = text.text.find(self.text)
        while start >= 0:
            end = start + len(self.text)
            whole = is_whole(text.text, start, end) and not _cuts_number(found, start, end)
            if whole:
                yield Place(start, end)
            start = text.text.find(self.text, end if whole else start + 1)

    def _by_number(self, text: Normal, found: Sequence[Figure]) -> Iterator[Place]:
        """Where the same words stand round numbers of the same value."""
        first = self.numbers[0]
        before = self.text[: first.start].rstrip()
        for index, number in enumerate(found):
            start = _stands_before(text.text, before, number.start)
            if start is None or not _is_same(first, number):
                continue
            end = self._end(text.text, found[index : index + len(self.numbers)])
            if end is not None and self._is_whole(text.text, start, end):
                yield Place(start, end)

    def _is_whole(self, text: str, start: int, end: int) -> bool:
        # Where a number is the edge, reading it has already told that it ends there.
        begins = self.numbers[0].start == 0 or not _is_inside(text, start, start)
        ends = self.numbers[-1].end == len(self.text) or not _is_inside(text, end, end - 1)
        return begins and ends

    def _end(self, text: str, found: Sequence[Figure]) -> int | None:
        """Where the phrase ends in the text, if the rest of it stands there too."""
        if len(found) < len(self.numbers):
            return None
        end = 0
        for index, (mine, its) in enumerate(zip(self.numbers, found, strict=True)):
            if (index and end != its.start) or not _is_same(mine, its):
                return None
            is_last = index + 1 == len(self.numbers)
            until = len(self.text) if is_last else self.numbers[index + 1].start
            after = self.text[mine.end : until]
            end = its.end + (text.startswith(" ", its.end) and not after.startswith(" "))
            end = its.end if not after else end
            if not text.startswith(after, end):
                return None
            end += len(after)
        return end


@lru_cache(maxsize=4096)
def phrase(written: str) -> Phrase:
    """The phrase, ready to be looked for."""
    trimmed = normal(written).lined.strip()
    return Phrase(written, normal(trimmed).text, numbers(trimmed))


def evidence(turn: Turn, text: Normal, place: Place) -> Evidence:
    """The verbatim words at that place of that turn."""
    quote, start = text.quote(place.start, place.end)
    return Evidence(turn.id, quote, start)


def first_said(words: Iterable[str], turns: Iterable[Turn]) -> Evidence | None:
    """The earliest place where one of the words is said."""
    phrases = [phrase(each) for each in words]
    for turn in turns:
        text = normal(turn.text)
        firsts = [place for each in phrases if (place := next(each.places(text), None))]
        if firsts:
            return evidence(turn, text, min(firsts, key=_order))
    return None


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] begins and ends where words and numbers do."""
    return not (_is_inside(text, start, start) or _is_inside(text, end, end - 1))


def _is_inside(text: str, at: int, edge: int) -> bool:
    """Whether a word or number goes on over the place `at`; `edge` is the phrase's last char."""
    if not 0 < at < len(text) or not _is_wordy(text[edge]):
        return False
    left, right = text[at - 1], text[at]
    if _is_wordy(left) and _is_wordy(right):
        return True
    beyond = text[at + 1 : at + 2] if edge < at else text[at - 2 : at - 1]
    outer = right if edge < at else left
    if outer in ".,":
        return text[edge].isdecimal() and beyond.isdecimal()
    if outer == "_":
        return bool(beyond) and _is_wordy(beyond)
    if outer == "'":  # can't does not hold `can`; the refund's holds `refund`
        return edge < at and beyond == "t" and not _is_wordy(text[at + 2 : at + 3] or " ")
    return outer == "-" and edge == at and bool(_NON.search(text, max(0, at - 5), at))


def _is_wordy(char: str) -> bool:
    is_word = char.isalnum() or unicodedata.category(char)[0] == "M"
    return is_word and not _UNSPACED.match(char)


def _cuts_number(found: Sequence[Figure], start: int, end: int) -> bool:
    """三天 in 十三天 is another number."""
    for edge in (start, end):
        at = bisect_left(found, edge, key=lambda each: each.end)
        if at < len(found) and found[at].start < edge < found[at].end:
            return True
    return False


def _is_same(mine: Figure, its: Figure) -> bool:
    return mine.value == its.value and mine.unit in ("", its.unit)


def _stands_before(text: str, before: str, at: int) -> int | None:
    """Where `before` begins if it stands right before that place, a space between or not."""
    for end in (at, at - 1):
        if end >= len(before) and (end == at or text[end] == " "):
            if text.startswith(before, end - len(before)):
                return end - len(before) if before else at
    return None


def _order(place: Place) -> tuple[int, int]:
    return place.start, -place.end


def _apart(places: Iterable[Place]) -> Iterator[Place]:
    end = -1
    for each in places:
        if each.start >= end:
            yield each
            end = each.end
