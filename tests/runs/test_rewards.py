"""What a trial of several rounds is worth: arithmetic, and what is not known."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_dialeval.records.run import Conversation
from pytest_dialeval.records.suite import Scoring
from pytest_dialeval.records.transcript import UNMEASURED_OUTCOMES, Outcome
from pytest_dialeval.records.ux import RUBRICS, SUBSCORES, rubric_of
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.runs.rewards import (
    Rewards,
    final_round,
    mean_of,
    ranked_reward,
    rewards_of,
    ux_reward,
)

from .samples import passed, silent, unscored

EQUAL = dict.fromkeys(SUBSCORES, 1.0)
shares = st.floats(0, 1)
weights = st.fixed_dictionaries(dict.fromkeys(SUBSCORES, st.floats(0.01, 100)))
graded = st.fixed_dictionaries(dict.fromkeys(SUBSCORES, st.none() | shares))
rewards = st.none() | shares
checked = st.dictionaries(st.integers(1, 5), rewards)


def verdicts(scores: Mapping[str, float | None]) -> dict[str, Verdict]:
    """None: the question did not arise."""
    names = {rubric_of(name): each for name, each in scores.items()}
    return {
        name: silent(name) if each is None else passed(name, each) for name, each in names.items()
    }


def held(
    checks: Mapping[int, float | None] | None = None,
    outcome: Outcome = "completed",
    rounds: int = 3,
) -> Conversation:
    named = {str(number): each for number, each in (checks or {}).items()}
    return Conversation("t", outcome, rounds=rounds, checks=named)


def found(
    scores: Mapping[str, float | None], conversation: Conversation, ux: bool = True
) -> Rewards | None:
    scoring = Scoring(ux=EQUAL if ux else None)
    return rewards_of(scoring, verdicts(scores), conversation)


def test_by_hand() -> None:
    scores = dict(zip(SUBSCORES, (1.0, 0.7, None, 0.3, 0.7, 0.3), strict=True))

    assert ux_reward({**EQUAL, "task_success": 3.0}, verdicts(scores)) == (
        pytest.approx((3 + 0.7 + 0.3 + 0.7 + 0.3) / 7),
        "",
    )
    assert found(scores, held({1: 1.0, 3: 1.0})) == Rewards(1.0, 1.0, 0.6, 0.6)


@given(weights, graded)
def test_the_mean_lies_between_what_was_graded(
    given_weights: dict[str, float], scores: dict[str, float | None]
) -> None:
    ux, why = ux_reward(given_weights, verdicts(scores))

    known = [each for each in scores.values() if each is not None]
    if not known:
        assert (ux, why) == (None, "none of the six was graded")
    else:
        assert ux is not None
        assert 0 <= ux <= 1
        assert min(known) - 1e-9 <= ux <= max(known) + 1e-9


@given(weights, graded)
def test_what_did_not_arise_leaves_the_weights_to_the_rest(
    given_weights: dict[str, float], scores: dict[str, float | None]
) -> None:
    arose = {name: each for name, each in scores.items() if each is not None}
    assume(arose)
    only = {name: given_weights[name] for name in arose}

    assert ux_reward(given_weights, verdicts(scores)) == ux_reward(only, verdicts(arose))


@given(weights, graded, st.floats(0.1, 10))
def test_only_proportions_of_weights_count(
    given_weights: dict[str, float], scores: dict[str, float | None], by: float
) -> None:
    more = {name: each * by for name, each in given_weights.items()}

    one, other = (ux_reward(each, verdicts(scores))[0] for each in (given_weights, more))

    assert one == (None if other is None else pytest.approx(other, abs=1e-9))


@given(weights, graded, st.permutations(SUBSCORES))
def test_the_order_says_nothing(
    given_weights: dict[str, float], scores: dict[str, float | None], order: list[str]
) -> None:
    turned = {name: given_weights[name] for name in order}

    one, other = (ux_reward(each, verdicts(scores))[0] for each in (given_weights, turned))

    assert one == (None if other is None else pytest.approx(other, abs=1e-9))


@given(graded, checked, st.integers(1, 5))
def test_ranked_is_the_judged_reward_or_0_or_unknown(
    scores: dict[str, float | None], checks: dict[int, float | None], rounds: int
) -> None:
    made = found(scores, held(checks, rounds=rounds))

    assert made is not None
    assert made.ranked in (None, 0.0, made.ux)
    assert made.ux is not None or made.ranked is None
    assert (made.ranked is None) == bool(made.why)
    if made.verifier_last is not None and made.ux is not None:
        passed = made.verifier_last >= 1 - 1e-9  # shares that are added up may miss 1 by rounding
        assert made.ranked == (made.ux if passed else 0.0)


@pytest.mark.parametrize(
    ("end", "ranked"),
    [(1.0, 0.8), (1 - 1e-12, 0.8), (0.99, 0.0), (0.5, 0.0), (0.0, 0.0), (None, None)],
)
def test_a_part_of_a_reward_has_not_passed(end: float | None, ranked: float | None) -> None:
    assert ranked_reward(0.8, end, checked=True) == ranked


def test_without_a_verifier_the_judge_ranks_alone() -> None:
    assert found(dict.fromkeys(SUBSCORES, 0.7), held()) == Rewards(None, None, 0.7, 0.7)


def test_a_verifier_that_cannot_tell_at_the_end_leaves_the_rank_unknown() -> None:
    made = found(dict.fromkeys(SUBSCORES, 0.7), held({1: 1.0, 3: None}))

    assert made == Rewards(1.0, None, 0.7, None, "the verifier could not tell after round 3")


@pytest.mark.parametrize(
    ("checks", "rounds", "last"),
    [
        ({}, 3, None),
        ({1: 1.0}, 3, None),  # it looks at round 1 alone: nothing is known of the end
        ({1: 1.0}, 1, 1),
        ({1: 1.0, 3: 0.0}, 3, 3),
        ({3: None}, 3, 3),
        ({1: 1.0, 2: 0.0}, 3, 2),  # the agent failed in round 3
    ],
)
def test_the_last_word_of_a_verifier(
    checks: dict[int, float | None], rounds: int, last: int | None
) -> None:
    assert final_round(checks, rounds) == last


def test_a_verifier_alone_has_no_rank() -> None:
    assert found({}, held({1: 1.0, 3: 0.0}), ux=False) == Rewards(1.0, 0.0)


def test_neither_verifier_nor_subscores() -> None:
    assert found({}, held(), ux=False) is None
    assert rewards_of(None, {}, None) is None


@pytest.mark.parametrize("outcome", sorted(UNMEASURED_OUTCOMES))
def test_of_a_void_trial_no_reward_counts(outcome: Outcome) -> None:
    void = {name: unscored(name) for name in RUBRICS}

    made = rewards_of(Scoring(ux=EQUAL), void, held({1: 1.0}, outcome))

    assert made == Rewards(why="ux.task_success is unscored: cannot tell")


def test_one_that_is_not_known_leaves_the_mean_unknown() -> None:
    some = verdicts(dict.fromkeys(SUBSCORES, 1.0))
    some["ux.testing"] = unscored("ux.testing")

    assert ux_reward(EQUAL, some) == (None, "ux.testing is unscored: cannot tell")
    del some["ux.testing"]
    assert ux_reward(EQUAL, some) == (None, "ux.testing was not selected")


@given(st.lists(rewards))
def test_means_are_over_those_that_have_one(values: list[float | None]) -> None:
    known = [each for each in values if each is not None]

    mean, n = mean_of(values)

    assert n == len(known)
    assert mean == (pytest.approx(sum(known) / n) if known else None)
