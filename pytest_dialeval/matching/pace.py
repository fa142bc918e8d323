"""`pace`: steps are taken one a turn, not all in one breath."""

from __future__ import annotations

from collections.abc import Sequence

import pydantic

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.params import Params, Steps, always
from pytest_dialeval.matching.phrase import first_said
from pytest_dialeval.matching.view import View
from pytest_dialeval.matching.wording import alternatives, ids
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.verdict import Evidence, MatcherResult
from pytest_dialeval.records.wording import plural


class PaceParams(Params):
    """Each step is a word, or a list of words of which one is enough."""

    steps: Steps = pydantic.Field(
        description="words by which the steps are known; where a step is a list, any of its words"
    )
    per_turn: int = pydantic.Field(
        1, ge=1, description="how many steps may be new before the user speaks again"
    )


def pace() -> Matcher:
    """0 where the agent first names more than `per_turn` steps before the user speaks again.

    Not applicable until more than `per_turn` steps were named: before, nothing could be too fast.
    """
    return Matcher("pace", PaceParams, _match, always, lambda _: "all", shorthand="steps")


def _match(view: View, params: PaceParams) -> MatcherResult:
    turns = view.searched(said=True)
    firsts = [found for step in params.steps if (found := first_said(step, turns))]
    firsts.sort(key=lambda each: (each.turn, each.start))
    expected = f"at most {plural(params.per_turn, 'step')} a turn: {alternatives(params.steps)}"
    named = f"{len(firsts)} of {plural(len(params.steps), 'step')} named"
    if len(firsts) <= params.per_turn:
        reason = f"{named}: too few to be too fast"
        return MatcherResult(None, reason, expected, tuple(firsts), ids(turns))
    breaths = _by_breath(view.turns, firsts)
    fullest = max(breaths, key=len)
    if len(fullest) > params.per_turn:
        reason = f"turn {fullest[0].turn} names {len(fullest)} steps at once"
        return MatcherResult(0.0, reason, expected, tuple(fullest), ids(turns))
    return MatcherResult(1.0, f"{named}, each in its turn", expected, tuple(firsts), ids(turns))


def _by_breath(turns: Sequence[Turn], firsts: Sequence[Evidence]) -> list[list[Evidence]]:
    """Together what the agent says without the user between: splitting a message is no pause."""
    breath: dict[int, int] = {}
    number = 0
    for turn in turns:
        number += turn.speaker == "user"
        breath[turn.id] = number
    grouped: dict[int, list[Evidence]] = {}
    for each in firsts:
        grouped.setdefault(breath[each.turn], []).append(each)
    return list(grouped.values())
