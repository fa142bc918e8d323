"""When a rubric begins to count."""

from __future__ import annotations

from collections.abc import Callable

from pytest_dialeval.matching.compiling import Check
from pytest_dialeval.matching.phrase import first_said
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.rubric import Trigger
from pytest_dialeval.records.transcript import Turn


def fired(trigger: Trigger, view: View, when: Check | None) -> int | None:
    """The id of the turn that fired the trigger first, None if it never did."""
    if trigger.probe is not None:
        return _first(view, lambda turn: turn.probe == trigger.probe)
    if trigger.state is not None:
        return _first(view, lambda turn: turn.speaker == "user" and turn.state == trigger.state)
    if trigger.user_keyword:
        said = first_said(trigger.user_keyword, view.searched("user"))
        return said.turn if said else None
    return None if when is None else _first_holding(when, view)


def _first(view: View, holds: Callable[[Turn], bool]) -> int | None:
    return next((turn.id for turn in view.turns if holds(turn)), None)


def _first_holding(when: Check, view: View) -> int | None:
    """The turn after which the matcher holds for the conversation so far."""
    for count, turn in enumerate(view.turns, start=1):
        if when(view.upto(count)).matched:
            return turn.id
    return None
