"""Where a phrase stands in a text, compared by meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from pytest_dialeval.matching.normal import Normal, normal
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import Evidence

# Written without spaces between words, or with endings glued on: no boundary can be asked for.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3001-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_WORDY = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place in a normalised text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Phrase:
    """What a user wrote to be found."""

    written: str
    text: str

    def occurrences(self, place: Normal) -> Iterator[Occurrence]:
        """Every place where it stands, from left to right, without overlaps."""
        text, start = place.text, 0
        while (start := text.find(self.text, start)) >= 0:
            end = start + len(self.text)
            if _is_whole(text, start, end):
                yield Occurrence(start, end)
                start = end
            else:
                start += 1


@lru_cache(maxsize=4096)
def phrase(written: str) -> Phrase:
    """The phrase, ready to be looked for."""
    return Phrase(written, normal(written).text.strip())


def evidence(turn: Turn, place: Normal, occurrence: Occurrence) -> Evidence:
    """The verbatim words at that place of that turn."""
    quote, start = place.quote(occurrence.start, occurrence.end)
    return Evidence(turn.id, quote, start)


def first_said(words: Iterable[str], turns: Iterable[Turn]) -> Evidence | None:
    """The earliest place where one of the words is said."""
    phrases = [phrase(each) for each in words]
    for turn in turns:
        place = normal(turn.text)
        firsts = [next(each.occurrences(place), None) for each in phrases]
        found = min((each for each in firsts if each), key=lambda each: each.start, default=None)
        if found is not None:
            return evidence(turn, place, found)
    return None


def _is_whole(text: str, start: int, end: int) -> bool:
    return True
