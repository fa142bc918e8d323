"""A trial's result -> its outcome: whether anything can be said about the agent, and the reason."""

from __future__ import annotations

from pytest_dialeval.records.transcript import Outcome
from pytest_dialeval.traces.codec import EndedBy
from pytest_dialeval.traces.importers.harbor_policy import whose
from pytest_dialeval.traces.importers.harbor_result import Failure, TrialResult

Ending = tuple[Outcome, EndedBy, str]
_UNFINISHED = "the trial was not finished"


def unfinished(why: str = "") -> Ending:
    """A trial without a result that can be read."""
    return "harness_error", "", f"{_UNFINISHED}: {why}" if why else _UNFINISHED


def ending(result: TrialResult) -> Ending:
    """An invalid reward never counts, not even as 0: that trial is unmeasured."""
    return _graded(result) if result.valid else _invalid(result)


def _graded(result: TrialResult) -> Ending:
    """The reward is valid; an agent that broke down has not passed all the same."""
    for failure in result.failures:
        if whose(failure.type) == "agent":
            return "agent_error", "", str(failure)
    for failure in result.failures:
        if whose(failure.type) == "limit":
            return "limit_reached", "limit", str(failure)
    return "completed", "", "; ".join(map(str, result.failures))


def _invalid(result: TrialResult) -> Ending:
    if not result.failures:
        return _without_reward(result)
    failure = _decisive(result)
    match whose(failure.type):
        case "provider":
            return "provider_error", "", str(failure)
        case "agent" | "limit" if failure.valid:  # nothing but the agent kept it from a reward
            return "agent_error", "", str(failure)
    return ("cancelled" if failure.type == "CancelledError" else "harness_error"), "", str(failure)


def _decisive(result: TrialResult) -> Failure:
    """What makes the reward invalid; where nothing does there is none, and the first is said."""
    return next((each for each in result.failures if not each.valid), result.failures[0])


def _without_reward(result: TrialResult) -> Ending:
    if not result.verified:
        return "completed", "", "the job ran no verifier"
    if result.rewards:
        return "harness_error", "", "Harbor calls its reward invalid and does not say why"
    return "harness_error", "", "it has no reward, and no exception that would say why"
