"""`repetition`: the agent does not say the same again."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import pydantic

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.normal import normal
from pytest_dialeval.matching.params import Count, Where, always, scope
from pytest_dialeval.matching.sentences import count_chars
from pytest_dialeval.matching.view import View
from pytest_dialeval.matching.wording import QUOTED_AT_MOST, beginnings, ids
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import Evidence, MatcherResult
from pytest_dialeval.records.wording import plural

_COMPARED_TURNS = 50  # each turn with so many before it, so that long conversations stay cheap
_COMPARED_CHARS = 2_000
_LETTERS = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")
_HAN = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


class RepetitionParams(Where):
    """`near` is the likeness that counts as the same, 1 asks for the very words.

    Turns of fewer than `min_chars` characters (好的, "You're welcome!") may recur, a Chinese one
    counting twice; so may `max` others.
    """

    near: float = pydantic.Field(
        0.9, gt=0, le=1, description="the likeness that counts as the same; 1: the very words"
    )
    min_chars: Count = pydantic.Field(
        15, description="shorter turns may recur; a Chinese character counts twice"
    )
    max: Count = pydantic.Field(0, description="how many turns may repeat an earlier one")


@dataclass(frozen=True, slots=True)
class _Said:
    words: str
    digits: tuple[str, ...]
    runs: frozenset[str]  # of three characters


def repetition() -> Matcher:
    """0 where more than `max` turns repeat an earlier one; not applicable below two turns."""
    return Matcher("repetition", RepetitionParams, _match, always, scope)


def _match(view: View, params: RepetitionParams) -> MatcherResult:
    least = max(params.min_chars, 1)
    turns = [turn for turn in params.searched(view) if _size(turn.text) >= least]
    expected = "no turn that repeats an earlier one"
    if params.max:
        expected = f"at most {plural(params.max, 'repeated turn')}"
    if len(turns) < 2:
        reason = "fewer than two turns are long enough to be compared"
        return MatcherResult(None, reason, expected, searched=ids(turns))
    repeats = _repeats(turns, params.near)
    if len(repeats) <= params.max:
        reason = f"{plural(len(repeats), 'turn')} of {len(turns)} repeat an earlier one"
        return MatcherResult(1.0, reason, expected, _quotes(repeats), ids(turns))
    again, before = repeats[0]
    more = f", and {plural(len(repeats) - 1, 'more turn')} do so" if len(repeats) > 1 else ""
    reason = f"turn {again.id} repeats turn {before.id}{more}"
    return MatcherResult(0.0, reason, expected, _quotes(repeats), ids(turns))


def _size(text: str) -> int:
    return count_chars(text) + len(_HAN.findall(text))


def _repeats(turns: Sequence[Turn], near: float) -> list[tuple[Turn, Turn]]:
    """Each turn that repeats an earlier one, with the earliest that it repeats."""
    exact: dict[str, Turn] = {}
    recent: deque[tuple[_Said, Turn]] = deque(maxlen=_COMPARED_TURNS)
    found: list[tuple[Turn, Turn]] = []
    for turn in turns:
        said = _said(turn.text)
        before = exact.setdefault(said.words, turn)
        if before is turn and near < 1:
            alike = (other for earlier, other in recent if _alike(said, earlier, near))
            before = next(alike, turn)
        if before is not turn:
            found.append((turn, before))
        recent.append((said, turn))
    return found


@lru_cache(maxsize=512)
def _said(text: str) -> _Said:
    folded = normal(text).text
    words = " ".join(_LETTERS.findall(folded)) or folded
    part = words[:_COMPARED_CHARS]
    runs = frozenset(map("".join, zip(part, part[1:], part[2:], strict=False)))
    if len(words) > len(part):
        # Its digest tells equality as well, and keeps no megabytes.
        words = blake2b(words.encode(errors="replace")).hexdigest()
    return _Said(words, tuple(_DIGITS.findall(part)), runs)


def _alike(one: _Said, other: _Said, near: float) -> bool:
    """Whether they share enough runs of three characters, and every number.

    Two answers made from one pattern for two flights differ in their numbers: that is no repeat.
    """
    sizes = len(one.runs), len(other.runs)
    if not all(sizes) or one.digits != other.digits or min(sizes) < near * max(sizes):
        return False
    return 2 * len(one.runs & other.runs) >= near * sum(sizes)


def _quotes(repeats: Sequence[tuple[Turn, Turn]]) -> tuple[Evidence, ...]:
    shown = {turn.id: turn for pair in repeats[:QUOTED_AT_MOST] for turn in pair}
    return beginnings(list(shown.values()), at_most=len(shown))
