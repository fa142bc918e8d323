"""What a trial of several rounds is worth: to a verifier, to the judge, and to rank agents by.

Computed from plan and ledger alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_dialeval.records.run import Conversation
from pytest_dialeval.records.suite import Scoring
from pytest_dialeval.records.transcript import UNMEASURED_OUTCOMES
from pytest_dialeval.records.ux import rubric_of
from pytest_dialeval.records.verdict import Verdict

_EQUAL = 1e-9  # a reward that was added up from shares may miss 1 by rounding


@dataclass(frozen=True, slots=True)
class Rewards:
    """Each 0..1; None where it was not asked for, or could not be told."""

    verifier_first: float | None = None  # after round 1
    verifier_last: float | None = None  # at the end
    ux: float | None = None  # as judged, whatever a verifier says
    ranked: float | None = None
    why: str = ""  # why `ranked` is None though the suite asks for it


def rewards_of(
    scoring: Scoring | None,
    verdicts: Mapping[str, Verdict],
    conversation: Conversation | None,
) -> Rewards | None:
    """None where a suite has neither `scoring.ux` nor a verifier that has said anything."""
    weights = scoring.ux if scoring else None
    checks = _checks(conversation)
    if weights is None and not (conversation and conversation.checks):
        return None
    ux, why = (None, "") if weights is None else ux_reward(weights, verdicts)
    last = final_round(checks, conversation.rounds if conversation else 0)
    end = checks[last] if last is not None else None
    ranked = None
    if ux is not None:
        ranked = ranked_reward(ux, end, checked=last is not None)
        why = f"the verifier could not tell after round {last}" if ranked is None else ""
    return Rewards(checks.get(1), end, ux, ranked, why)


def ux_reward(
    weights: Mapping[str, float], verdicts: Mapping[str, Verdict]
) -> tuple[float | None, str]:
    """The weighted mean of the subscores that were graded; None, and why, where one is unknown.

    Those whose question did not arise leave the mean, and the weights of the rest fill it.
    """
    total = weight = 0.0
    for name, each in weights.items():
        verdict = verdicts.get(rubric_of(name))
        if verdict is None:
            return None, f"{rubric_of(name)} was not selected"
        if verdict.status == "unscored":
            return None, f"{verdict.rubric} is unscored: {verdict.reason}"
        if verdict.score is not None:
            total += each * verdict.score
            weight += each
    if not weight:
        return None, "none of the six was graded"
    return min(1.0, max(0.0, round(total / weight, 12))), ""


def ranked_reward(ux: float, end: float | None, *, checked: bool) -> float | None:
    """The judged reward, 0 where the work does not pass at the end.

    A reward below 1 says that something the verifier looks at is not right: it has not passed.
    """
    if not checked:
        return ux
    if end is None:
        return None
    return ux if end >= 1 - _EQUAL else 0.0


def final_round(checks: Mapping[int, float | None], rounds: int) -> int | None:
    """The round of the verifier's last word; None where it looked at round 1 alone of several."""
    last = max(checks, default=None)
    return None if last == 1 and rounds > 1 else last


def mean_of(values: Iterable[float | None]) -> tuple[float | None, int]:
    """The mean over those that have one, and how many they are."""
    known = [each for each in values if each is not None]
    return (math.fsum(known) / len(known) if known else None), len(known)


def ranks(scoring: Scoring | None) -> bool:
    """Whether trials are ranked by their reward, before any score."""
    return scoring is not None and scoring.ux is not None


def _checks(conversation: Conversation | None) -> Mapping[int, float | None]:
    """By round; nothing of a trial that is void."""
    if conversation is None or conversation.outcome in UNMEASURED_OUTCOMES:
        return {}
    return {int(number): each for number, each in conversation.checks.items()}
