"""Which follow-up comes in which round: drawn by seed, and the same for every agent."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.follow_up import Anchor, Behaviour, Rounds


def schedule(
    seed: str, task: str, rounds: Rounds, max_rounds: int
) -> Mapping[int, Behaviour | Anchor]:
    """Round -> what comes, for rounds 2 to `max_rounds`.

    Nothing about persona, trial or agent is in it. Each behaviour has a number of its own in each
    round: one that is added takes rounds for itself, and moves no draw of another.
    """
    # A draw that knows neither persona nor trial: the profile stands in the persona's place.
    draw = Draw(seed, task, rounds.profile.id, 0)
    found: dict[int, Behaviour | Anchor] = {}
    for number in range(2, max_rounds + 1):
        anchor = rounds.anchors.get(number)
        found[number] = anchor or _drawn(
            draw, rounds, number, found.get(number - 1), last=number == max_rounds
        )
    return found


def _drawn(
    draw: Draw, rounds: Rounds, number: int, before: Behaviour | Anchor | None, *, last: bool
) -> Behaviour:
    """The behaviour whose time comes first, where each waits the longer the less it weighs.

    So shares are as the weights are (an exponential race).
    """
    open_now = [each for each in rounds.behaviours.values() if last or not each.only_last]
    new = [each for each in open_now if rounds.profile.repeats or each != before]

    def waits(each: Behaviour) -> tuple[float, str]:
        unit = draw.unit(f"follow-up:{each.id}", number)
        return -math.log1p(-unit) / rounds.profile.weights[each.id], each.id

    # Lint refuses a suite that has nothing new to draw from.
    return min(new or open_now or [*rounds.behaviours.values()], key=waits)
