"""Whether evidence stands in the transcript: checked by code, whoever gives it."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_dialeval.matching.normal import normal
from pytest_dialeval.models.steady import as_in_any_run
from pytest_dialeval.records.transcript import PARTS, Part, Transcript, Turn
from pytest_dialeval.records.verdict import Evidence

_AROUND = "\"' .。,;!?"


def find_quote(turn: Turn, quote: str) -> Evidence | None:
    """The words of the turn that the quote means, verbatim; None where they are not there.

    Compared as matchers compare: width, case, kinds of quotation marks, dashes and spaces make no
    difference. Nor does the time that a test run took, for a recorded judge read that of its own
    run. Words come first, then tool calls, their results, and artifacts.
    """
    wanted = normal(quote).text.strip()
    # A full stop or a quotation mark stands nearly everywhere and shows nothing.
    if not any(map(str.isalnum, wanted)):
        return None
    for part in PARTS:
        # Judges put quotation marks of their own round a quote, and end it as they end a sentence.
        for needle in dict.fromkeys((wanted, wanted.strip("\"' "), wanted.strip(_AROUND))):
            there = normal(turn.part(part))
            at = there.text.find(needle)
            if at >= 0:
                return _evidence(turn, part, at, at + len(needle))
    return _of_another_run(turn, wanted.strip(_AROUND))


def _of_another_run(turn: Turn, wanted: str) -> Evidence | None:
    pattern = as_in_any_run(wanted)
    for part in PARTS if pattern else ():
        if found := pattern and pattern.search(normal(turn.part(part)).text):
            return _evidence(turn, part, *found.span())
    return None


def _evidence(turn: Turn, part: Part, start: int, end: int) -> Evidence:
    words, place = normal(turn.part(part)).quote(start, end)
    return Evidence(turn.id, words, place, part)


def misquoted(evidence: Iterable[Evidence], transcript: Transcript) -> Evidence | None:
    """The first of them that does not stand in its turn; None where all do."""
    for each in evidence:
        turn = transcript.turn(each.turn)
        if turn is None or not each.stands_in(turn):
            return each
    return None
