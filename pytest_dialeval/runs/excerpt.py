"""The turns that show a verdict, kept with it when the transcript is dropped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pytest_dialeval.records.run import WorkExcerpt
from pytest_dialeval.records.transcript import ToolCall, Transcript, Turn
from pytest_dialeval.records.verdict import Verdict

DECIDING = 3  # evidence turns shown
SEARCHED = 2  # searched turns shown for a verdict about absence
LONGEST = 2_000  # characters kept of a turn
PRINTED = 10  # lines shown of what a verifier printed: its last ones sum it up
WIDEST = 200  # characters of such a line


def excerpt(
    transcript: Transcript, verdict: Verdict, clear: Callable[[Turn], Turn] = lambda turn: turn
) -> tuple[Turn, ...]:
    """The deciding turns, each with the one before it; or the first turns searched in vain.

    `clear` takes out what may not be shown, before a turn is cut: half of it would not be known.
    """
    deciding = list(dict.fromkeys(each.turn for each in verdict.evidence))[:DECIDING]
    wanted = {near for each in deciding for near in (each - 1, each)}
    if not deciding:
        wanted = set(verdict.searched[:SEARCHED])
    if not deciding and verdict.status == "failed" and not wanted:
        wanted = {each.id for each in transcript.turns[-SEARCHED:]}
    spans = {each.turn: each.start for each in reversed(verdict.evidence) if each.part == "text"}
    return tuple(
        _shortened(clear(each), spans.get(each.id, 0))
        for each in transcript.turns
        if each.id in wanted
    )


def work_excerpt(
    transcript: Transcript, verdict: Verdict, clear: Callable[[str], str] = str
) -> WorkExcerpt | None:
    """Of the round whose turns decide; None where no verifier said there that the work is wrong."""
    turns = [*(each.turn for each in verdict.evidence), *verdict.searched]
    turn = transcript.turn(turns[0]) if turns else None
    if turn is None or turn.speaker != "agent" or verdict.status != "failed":
        return (
            None  # where the agent broke down, that decides: what stands for it is the user's turn
        )
    checks = {each.round: each for each in transcript.checks}  # the last of a round counts
    check = checks.get(turn.round)
    if check is None or check.passed is not False:
        return None
    lines = clear(check.output).rstrip().splitlines()[-PRINTED:]
    patches = [each.patch for each in transcript.work if each.round == turn.round]
    patch = next(iter(patches), None)
    untouched = patches[:1] == [None]
    return WorkExcerpt(tuple(each[:WIDEST] for each in lines), patch, untouched)


def _shortened(turn: Turn, around: int) -> Turn:
    """The turn with a window of its text round the quote, so that 1 MB stays out of memory.

    Quotes from other parts stand in the evidence itself.
    """
    if _size(turn) <= LONGEST:
        return turn  # the transcript's own: no copy
    return replace(
        turn,
        text=_window(turn.text, around),
        tool_calls=tuple(map(_shortened_call, turn.tool_calls)),
        artifacts=tuple(replace(each, text=_window(each.text)) for each in turn.artifacts),
    )


def _size(turn: Turn) -> int:
    if not (turn.tool_calls or turn.artifacts):  # as nearly all are
        return len(turn.text)
    calls = sum(len(repr(each.arguments)) + len(each.result or "") for each in turn.tool_calls)
    return len(turn.text) + calls + sum(len(each.text) for each in turn.artifacts)


def _shortened_call(call: ToolCall) -> ToolCall:
    arguments = call.arguments
    if len(repr(arguments)) > LONGEST:
        arguments = _window(arguments if isinstance(arguments, str) else repr(arguments))
    result = None if call.result is None else _window(call.result)
    return replace(call, arguments=arguments, result=result)


def _window(text: str, around: int = 0) -> str:
    if len(text) <= LONGEST:
        return text
    start = max(0, min(around - LONGEST // 4, len(text) - LONGEST))
    head = f"[{start} characters left out] " if start else ""
    left = len(text) - start - LONGEST
    tail = f" [{left} characters left out]" if left > 0 else ""
    return f"{head}{text[start : start + LONGEST]}{tail}"
