from __future__ import annotations

import pytest

from pytest_dialeval.errors import NotMeasured
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.records.work import Check
from tests.matching.asking import ask, quotes


def dialogue(*checks: Check, rounds: int = 3) -> View:
    turns = []
    for number in range(1, rounds + 1):
        turns.append(Turn(len(turns) + 1, "user", "go", number))
        turns.append(Turn(len(turns) + 1, "agent", f"done {number}", number))
    return View(tuple(turns), checks=checks)


def check(number: int, passed: bool | None, **checks: bool) -> Check:
    reward = None if passed is None else float(passed)
    why = "it hung" if passed is None else ""
    return Check(number, passed, reward, checks, exit_status=int(not passed), why=why)


PASSED, FAILED = check(1, True, a=True), check(3, False, a=False, b=True)


@pytest.mark.parametrize(
    ("params", "score"),
    [(None, 0), ("last", 0), ("first", 1), ({"after": 3}, 0), (1, 1), (4, None)],
)
def test_verifier(params: object, score: float | None) -> None:
    assert ask("verifier", params, dialogue(PASSED, FAILED)).score == score


def test_what_it_says() -> None:
    result = ask("verifier", "last", dialogue(PASSED, FAILED))
    assert result.reason == ("after round 3 the verifier failed: 1 of 2 checks: a (exit status 1)")
    assert result.expected == "the verifier passes after the last round"
    assert quotes(result) == ["done 3"]
    ended = ask("verifier", 4, dialogue(PASSED, FAILED))
    assert ended.reason == "the conversation ended in round 3"


def test_rewards_and_last_words() -> None:
    some = Check(1, False, 0.25, {}, exit_status=1, output="x\nAssertionError: 3\n\n")
    result = ask("verifier", 1, dialogue(some))
    assert result.score == 0.25
    assert result.reason == (
        "after round 1 the verifier failed (reward 0.25) (exit status 1); "
        "the last line that it printed: 'AssertionError: 3'"
    )


def test_turns_without_words_were_searched() -> None:
    silent = View((Turn(1, "user", "go", 1), Turn(2, "agent", "", 1)), checks=(PASSED,))
    result = ask("verifier", 1, silent)
    assert (quotes(result), result.searched) == ([], (2,))


def test_of_a_round_the_last_check_counts() -> None:
    assert ask("verifier", 1, dialogue(check(1, False), check(1, True))).score == 1


@pytest.mark.parametrize(
    ("method", "params", "checks", "why"),
    [
        ("verifier", None, (), "no verifier has looked"),
        ("verifier", None, (PASSED, check(3, None)), "after round 3: it hung"),
        ("verifier", 2, (PASSED, FAILED), "did not run after round 2, only after 1, 3"),
        ("verifier", 3, (PASSED,), "did not run after round 3, only after 1"),
        ("verifier", "last", (PASSED,), "did not run after round 3, only after 1"),
        ("no_regression", None, (), "no verifier has looked"),
        ("no_regression", None, (PASSED, check(3, None)), "after round 3: it hung"),
    ],
)
def test_what_cannot_be_decided(
    method: str, params: object, checks: tuple[Check, ...], why: str
) -> None:
    with pytest.raises(NotMeasured, match=why):
        ask(method, params, dialogue(*checks))


def test_nothing_was_broken() -> None:
    result = ask("no_regression", {}, dialogue(check(1, False, a=False), check(2, True, a=True)))
    assert (result.score, quotes(result)) == (1, ["done 2"])
    assert result.reason == "nothing that held was broken later (verified after rounds 1, 2)"


def test_regressions_name_round_and_checks() -> None:
    checks = (
        check(1, True, a=True, b=True, c=False),
        check(2, False, a=False, b=True, c=True),
        check(3, False, a=True, b=False, c=False),
    )
    result = ask("no_regression", {}, dialogue(*checks))
    assert result.score == 0
    assert result.reason == (
        "regressed in round 2: a (held after round 1); "
        "regressed in round 3: b, c (held after round 2)"
    )
    assert quotes(result) == ["done 2"]


def test_what_is_gone_was_broken_where_the_verifier_failed() -> None:
    broken = dialogue(check(1, True, a=True), check(2, False, collection=False))
    assert ask("no_regression", {}, broken).reason == (
        "regressed in round 2: a (held after round 1)"
    )
    renamed = dialogue(check(1, True, a=True), check(2, True, b=True))
    assert ask("no_regression", {}, renamed).score == 1


def test_a_verifier_that_tells_no_single_checks() -> None:
    found = ask("no_regression", {}, dialogue(check(1, True), check(2, True), check(3, False)))
    assert found.reason == "regressed in round 3: the verifier (held after round 2)"
    again = dialogue(check(1, False), check(2, True), check(3, True, a=True))
    assert ask("no_regression", {}, again).score == 1


def test_a_check_that_could_not_be_told_is_passed_over() -> None:
    checks = (check(1, True, a=True), check(2, None), check(3, False, a=False))
    assert ask("no_regression", {}, dialogue(*checks)).score == 0


def test_one_round_alone() -> None:
    result = ask("no_regression", {}, dialogue(check(1, True, a=True)))
    assert result.score is None
    assert result.reason == ("the verifier spoke after round 1 alone, so nothing can be compared")
