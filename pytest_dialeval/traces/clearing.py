"""Turns without secrets, for whatever is shown; what is graded stays as it was said."""

from __future__ import annotations

from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.traces.codec import decode_turn, encode_turn
from pytest_dialeval.traces.redaction import Redaction


def cleared(turn: Turn, redaction: Redaction) -> Turn:
    """The turn itself where it holds no secret."""
    plain = not (turn.tool_calls or turn.artifacts)
    if plain and redaction.text(turn.text) == turn.text:
        return turn
    said = encode_turn(turn)
    clear = redaction.value(said)
    if clear == said or not isinstance(clear, dict):
        return turn
    return decode_turn(clear)
