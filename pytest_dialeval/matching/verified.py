"""`verifier`: what the task's verifier said of the work after a round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import pydantic
from pydantic_core import PydanticCustomError

from pytest_dialeval.errors import NotMeasured
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.params import Params
from pytest_dialeval.matching.view import View
from pytest_dialeval.matching.wording import beginnings, ids
from pytest_dialeval.records.verdict import Evidence, MatcherResult
from pytest_dialeval.records.wording import did_you_mean, listed
from pytest_dialeval.records.work import Check

_PLACES = ("first", "last")
_LISTED = 5
_SHOWN = 200  # characters of the last line of what a verifier printed


def _round(value: object) -> object:
    if value in _PLACES or (type(value) is int and value > 0):
        return value
    guess = did_you_mean(str(value), _PLACES)
    text = f"it must be first, last or a round's number, from 1{guess}"
    raise PydanticCustomError("round", "{text}", {"text": text})


class VerifierParams(Params):
    """After which round."""

    after: Annotated[
        Literal["first", "last"] | pydantic.PositiveInt, pydantic.BeforeValidator(_round)
    ] = pydantic.Field(
        "last", description="the round whose work was verified: first, last, or its number"
    )

    @property
    def expected(self) -> str:
        """What it asks for, in words."""
        where = f"the {self.after} round" if isinstance(self.after, str) else f"round {self.after}"
        return f"the verifier passes after {where}"


def verifier() -> Matcher:
    """The verifier's reward; what it could not tell can't be decided here either."""
    return Matcher(
        "verifier", VerifierParams, _match, lambda _: False, lambda _: "all", shorthand="after"
    )


def _match(view: View, params: VerifierParams) -> MatcherResult:
    rounds = last_checks(view.checks)
    if not rounds:
        raise NotMeasured("no verifier has looked at this conversation's work (task.verifier)")
    held = max([*rounds, *(each.round for each in view.turns)])
    wanted = {"first": 1, "last": held}.get(str(params.after), params.after)
    check = rounds.get(int(wanted))
    if check is None:
        return _without(int(wanted), held, rounds, params)
    if check.passed is None:
        raise NotMeasured(f"after round {check.round}: {check.why}")
    quoted, searched = words_of(view, check.round)
    return MatcherResult(check.reward, _told(check), params.expected, quoted, searched)


def _without(
    wanted: int, held: int, rounds: Mapping[int, Check], params: VerifierParams
) -> MatcherResult:
    """A round that never came asks nothing; one that came and was not verified is not known."""
    if wanted > held:
        return MatcherResult(None, f"the conversation ended in round {held}", params.expected)
    there = ", ".join(map(str, sorted(rounds)))
    raise NotMeasured(f"the verifier did not run after round {wanted}, only after {there}")


def last_checks(checks: Sequence[Check]) -> dict[int, Check]:
    """By round; of one round the last counts."""
    return {each.round: each for each in sorted(checks, key=lambda each: each.round)}


def words_of(view: View, number: int) -> tuple[tuple[Evidence, ...], tuple[int, ...]]:
    """What the agent said in a round, as evidence of its work; its turns without words."""
    turns = [each for each in view.turns if each.round == number and each.speaker == "agent"]
    spoken = [each for each in turns if each.text]
    return beginnings(spoken), ids(each for each in turns if not each.text)


def _told(check: Check) -> str:
    failed = [name for name, held in check.checks.items() if not held]
    reward = "" if check.reward in (0, 1, None) else f" (reward {check.reward:.4g})"
    if check.passed:
        return f"after round {check.round} the verifier passed{reward}"
    told = f"after round {check.round} the verifier failed{reward}"
    if len(check.checks) > 1:
        told += f": {len(failed)} of {len(check.checks)} checks: {listed(failed, _LISTED)}"
        return f"{told} (exit status {check.exit_status})"
    lines = check.output.strip().splitlines()
    said = f"; the last line that it printed: {lines[-1].strip()[:_SHOWN]!r}" if lines else ""
    return f"{told} (exit status {check.exit_status}){said}"
