"""`no_regression`: what was right after a round stays right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_dialeval.errors import NotMeasured
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.params import Params, always
from pytest_dialeval.matching.verified import last_checks, words_of
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.verdict import MatcherResult
from pytest_dialeval.records.wording import listed
from pytest_dialeval.records.work import Check

_EXPECTED = "no check that held after a round fails after a later one"
_LISTED = 5
_WHOLE = "the verifier"  # what stands for single checks where none are told


class NoRegressionParams(Params):
    """It takes none."""


def no_regression() -> Matcher:
    """0 where a check of the verifier held after one round and fails after a later one."""
    return Matcher("no_regression", NoRegressionParams, _match, always, lambda _: "all")


@dataclass(frozen=True, slots=True)
class _Fall:
    """A check that held, and the first round after which it did not."""

    name: str
    held: int
    fell: int


def _match(view: View, params: NoRegressionParams) -> MatcherResult:
    rounds = last_checks(view.checks)
    if not rounds:
        raise NotMeasured("no verifier has looked at this conversation's work (task.verifier)")
    known = {number: each for number, each in rounds.items() if each.passed is not None}
    if falls := _falls(known):
        return _fallen(view, falls)
    for number, each in rounds.items():
        if each.passed is None:
            raise NotMeasured(f"after round {number}: {each.why}")
    if len(known) < 2:
        reason = f"the verifier spoke after round {min(known)} alone, so nothing can be compared"
        return MatcherResult(None, reason, _EXPECTED)
    told = ", ".join(map(str, known))
    reason = f"nothing that held was broken later (verified after rounds {told})"
    return MatcherResult(1.0, reason, _EXPECTED, *words_of(view, max(known)))


def _falls(rounds: Mapping[int, Check]) -> list[_Fall]:
    held: dict[str, int] = {}  # by name: after which round it held last
    falls: dict[str, _Fall] = {}
    for number, check in rounds.items():
        for name, since in held.items():
            if name not in falls and not _holds(check, name):
                falls[name] = _Fall(name, since, number)
        checks = check.checks or {_WHOLE: bool(check.passed)}
        held.update({name: number for name, holds in checks.items() if holds})
    return sorted(falls.values(), key=lambda each: (each.fell, each.name))


def _holds(check: Check, name: str) -> bool:
    """Where the verifier failed, a test that is gone was broken too: it was not even found."""
    return check.checks.get(name, bool(check.passed))


def _fallen(view: View, falls: list[_Fall]) -> MatcherResult:
    told = []
    for number in dict.fromkeys(each.fell for each in falls):
        here = [each for each in falls if each.fell == number]
        since = ", ".join(map(str, sorted({each.held for each in here})))
        names = listed([each.name for each in here], _LISTED)
        told.append(f"regressed in round {number}: {names} (held after round {since})")
    return MatcherResult(0.0, "; ".join(told), _EXPECTED, *words_of(view, falls[0].fell))
