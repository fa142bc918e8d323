"""A user's regular expression that can hang no run."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from pytest_dialeval.matching.ambiguity import TooAmbiguous, loops_of, steps
from pytest_dialeval.matching.automaton import Automaton

# A text is searched in overlapping windows, as large as keep the worst case to seconds.
_WINDOWS = (50_000, 5_000, 1_000)
_STEPS_AT_MOST = math.log(2e8)
SEARCHED_AT_MOST = 50_000
_PATTERN_AT_MOST = 5_000


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern with the length of text that it may be let loose on at once."""

    regex: re.Pattern[str]
    window: int

    @property
    def slow(self) -> bool:
        """Whether a text of a few thousand characters may take it seconds."""
        return self.window == _WINDOWS[-1]

    def first(self, text: str) -> tuple[int, int] | None:
        """Where it matches first within the first SEARCHED_AT_MOST characters."""
        return next(self.matches(text), None)

    def matches(self, text: str) -> Iterator[tuple[int, int]]:
        """Every place where it matches there, from left to right, without overlaps."""
        length = min(len(text), SEARCHED_AT_MOST)
        at = 0
        while at <= length:
            found = self._from(text, at, length)
            if found is None:
                return
            yield found
            at = max(found[1], found[0] + 1)

    def _from(self, text: str, at: int, length: int) -> tuple[int, int] | None:
        while True:
            until = min(at + self.window, length)
            match = self.regex.search(text, at, until)
            if match and self._holds(text, match, until, length):
                return match.span()
            if match:
                at = match.start() + 1
            elif until == length:
                return None
            else:
                at = until - self.window // 2

    def _holds(self, text: str, match: re.Match[str], until: int, length: int) -> bool:
        # `$` and \b also match where a window ends.
        if match.end() < until or until == len(text):
            return True
        longer = min(match.start() + 2 * self.window, length)
        if longer == until:
            return True
        return self.regex.match(text, match.start(), longer) is not None


@lru_cache(maxsize=512)
def pattern(written: str, flags: int = 0) -> Pattern:
    """The pattern; ValueError says what is wrong with it."""
    if len(written) > _PATTERN_AT_MOST:
        raise TooAmbiguous(f"the pattern is longer than {_PATTERN_AT_MOST} characters")
    try:
        with warnings.catch_warnings():
            # `[[` and the like warn of a future meaning; a suite's text is not our code.
            warnings.simplefilter("ignore")
            regex = re.compile(written, flags)
            automaton = Automaton(written, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"this is no regular expression: {error}") from None
    loops = loops_of(automaton)
    for window in _WINDOWS:
        if steps(automaton, loops, window) <= _STEPS_AT_MOST:
            return Pattern(regex, window)
    raise TooAmbiguous(
        "too many repeats in a row can match the same text, so that a long text might take for"
        " ever; write bounds, as in .{0,80}, or use ordered_keyword"
    )
