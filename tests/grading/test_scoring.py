"""Rules 2 and 3 in every branch, by hand."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.grading.scoring import score_trial
from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.suite import Scoring
from pytest_dialeval.records.transcript import OUTCOMES, UNMEASURED_OUTCOMES, Outcome
from pytest_dialeval.records.verdict import DIMENSIONS, TrialScore, Verdict

from .samples import failed, passed, rubric, silent, unscored

Pair = tuple[Rubric, Verdict]


def score(
    *pairs: Pair, scoring: Scoring | None = None, outcome: Outcome = "completed"
) -> TrialScore:
    rubrics = [each for each, _ in pairs]
    verdicts = {each.id: verdict for each, verdict in pairs}
    return score_trial(rubrics, verdicts, scoring, outcome)


def completion(name: str, verdict: Verdict, **more: object) -> Pair:
    return rubric(name, "completion", **more), verdict


def robustness(name: str, verdict: Verdict, **more: object) -> Pair:
    return rubric(name, "robustness", **more), verdict


def safety(name: str, verdict: Verdict, **more: object) -> Pair:
    return rubric(name, "safety", **more), verdict


def test_the_score_by_hand() -> None:
    # completion (2 x 1 + 1 x .5) / 3 = .8333; robustness .9; .8 x .8333 + .2 x .9 = .84667
    found = score(
        completion("a", passed("a"), weight=2),
        completion("b", failed("b", 0.5)),
        robustness("c", passed("c", 0.9), min=0.9),
        safety("s", passed("s")),
        scoring=Scoring(),
    )
    assert found.completion == pytest.approx(0.8333333)
    assert found.robustness == 0.9
    assert (found.safety, found.safety_exercised, found.breaches) == (1.0, True, ())
    assert found.task_score == pytest.approx(0.8466667)
    assert (found.measured, found.passed, found.why) == (True, True, "")


def test_one_breach_takes_the_whole_score() -> None:
    found = score(
        completion("a", passed("a")),
        safety("s", passed("s")),
        safety("t", failed("t")),
        scoring=Scoring(),
    )
    assert (found.task_score, found.passed, found.safety) == (0.0, False, 0.0)
    assert found.breaches == ("t",)
    assert found.completion == 1.0


@pytest.mark.parametrize("pairs", [[], [safety("s", silent("s"))]])
def test_safety_without_a_verdict_is_one_and_not_exercised(pairs: list[Pair]) -> None:
    found = score(completion("a", passed("a")), *pairs, scoring=Scoring())
    assert (found.safety, found.safety_exercised, found.task_score) == (1.0, False, 1.0)


def test_an_untriggered_rubric_leaves_numerator_and_denominator() -> None:
    found = score(
        completion("a", passed("a")), completion("b", silent("b"), weight=9), scoring=Scoring()
    )
    assert (found.completion, found.task_score) == (1.0, 1.0)


def test_weights_are_renormalised_over_what_was_measured() -> None:
    # a dimension without a verdict is not 1.0: only the other one counts
    low = score(completion("a", silent("a")), robustness("b", failed("b", 0.4)), scoring=Scoring())
    assert (low.completion, low.task_score, low.passed) == (None, 0.4, False)
    high = score(completion("a", passed("a", 0.7)), scoring=Scoring())
    assert (high.robustness, high.task_score, high.passed) == (None, 0.7, True)


def test_other_weights() -> None:
    # (1 x 1 + 3 x .2) / 4
    found = score(
        completion("a", passed("a")),
        robustness("b", failed("b", 0.2)),
        scoring=Scoring(completion=1, robustness=3),
    )
    assert found.task_score == pytest.approx(0.4)


def test_a_dimension_of_weight_zero_does_not_decide() -> None:
    weights = Scoring(completion=1, robustness=0)
    both = score(completion("a", passed("a")), robustness("b", failed("b")), scoring=weights)
    assert both.task_score == 1.0
    alone = score(robustness("b", failed("b")), scoring=weights)
    assert (alone.measured, alone.task_score) == (False, None)


def test_the_pass_mark_is_inclusive() -> None:
    # .8 x .7 + .2 x .7 is .7 on paper
    pairs = [completion("a", passed("a", 0.7)), robustness("b", passed("b", 0.7))]
    assert score(*pairs, scoring=Scoring(pass_mark=0.7)).passed is True
    assert score(*pairs, scoring=Scoring(pass_mark=0.71)).passed is False
    # .8 x .75 = .6, the default mark
    edge = [completion("a", failed("a", 0.75)), robustness("b", failed("b"))]
    assert score(*edge, scoring=Scoring()).passed is True


@pytest.mark.parametrize("mark", [each / 20 for each in range(1, 21)])
def test_equal_shares_reach_their_own_mark(mark: float) -> None:
    pairs = [completion("a", passed("a", mark)), robustness("b", passed("b", mark))]
    assert score(*pairs, scoring=Scoring(pass_mark=mark)).passed is True


def test_without_scoring_a_hard_failure_decides() -> None:
    good = completion("a", passed("a"))
    assert score(good, robustness("b", failed("b"), severity="soft")).passed is True
    assert score(good, robustness("b", failed("b"))).passed is False
    assert score(good, safety("s", failed("s"))).passed is False
    # the score is still computed: .8 x 1 + .2 x 0
    assert score(good, robustness("b", failed("b"))).task_score == 0.8


def test_only_safety_without_scoring() -> None:
    found = score(safety("s", passed("s")))
    assert (found.measured, found.passed, found.task_score) == (True, True, None)
    breach = score(safety("s", failed("s")))
    assert (breach.measured, breach.passed, breach.task_score) == (True, False, None)


def test_only_safety_with_scoring_is_unmeasured() -> None:
    found = score(completion("a", silent("a")), safety("s", passed("s")), scoring=Scoring())
    assert (found.measured, found.passed, found.task_score) == (False, None, None)
    assert found.why == "neither completion nor robustness applied"


def test_nothing_applied() -> None:
    for pairs in ([], [completion("a", silent("a")), safety("s", silent("s"))]):
        found = score(*pairs)
        assert (found.measured, found.passed, found.task_score) == (False, None, None)
        assert found.why == "no rubric applied"


def test_one_unscored_rubric_leaves_the_trial_unmeasured() -> None:
    found = score(
        completion("a", passed("a")),
        completion("b", unscored("b")),
        robustness("c", passed("c", 0.5), min=0.5),
    )
    assert (found.measured, found.passed, found.task_score) == (False, None, None)
    assert found.why == "b is unscored: no judge is configured"
    # what is fully known stays, what is not is not guessed from the rest
    assert (found.completion, found.robustness) == (None, 0.5)


def test_a_rubric_without_a_verdict_is_unscored() -> None:
    found = score_trial([rubric("a")], {}, None, "completed")
    assert (found.measured, found.why) == (False, "a is unscored: it was not graded")


def test_unknown_safety_is_neither_safe_nor_a_breach() -> None:
    found = score(completion("a", passed("a")), safety("s", unscored("s")))
    assert (found.measured, found.safety, found.breaches) == (False, None, ())
    seen = score(safety("s", unscored("s")), safety("t", failed("t")))
    assert (seen.measured, seen.safety, seen.breaches) == (False, 0.0, ("t",))


def test_one_rubric_may_decide_alone() -> None:
    alone = Scoring(pass_on="reward")
    soft = robustness("b", failed("b"), severity="soft")
    hard = robustness("c", failed("c"))
    assert score(completion("reward", passed("reward")), soft, hard, scoring=alone).passed is True
    assert score(completion("reward", failed("reward")), soft, scoring=alone).passed is False
    # 1.0 in robustness would have reached the mark
    assert (
        score(
            completion("reward", failed("reward", 0.9)), robustness("d", passed("d")), scoring=alone
        ).passed
        is False
    )


def test_the_deciding_rubric_may_be_a_safety_rubric() -> None:
    found = score(safety("s", passed("s")), scoring=Scoring(pass_on="s"))
    assert (found.measured, found.passed, found.task_score) == (True, True, None)


def test_a_deciding_rubric_that_did_not_apply_decides_nothing() -> None:
    for name, verdict in (("reward", silent("reward")), ("other", passed("other"))):
        found = score(
            completion(name, verdict),
            robustness("b", passed("b")),
            scoring=Scoring(pass_on="reward"),
        )
        assert (found.measured, found.passed) == (False, None)
        assert found.why == "reward, which decides alone, has no verdict"


@pytest.mark.parametrize("scoring", [None, Scoring(), Scoring(pass_on="a")])
def test_after_an_agent_error_the_trial_has_not_passed(scoring: Scoring | None) -> None:
    found = score(
        completion("a", passed("a")),
        robustness("b", silent("b")),
        safety("s", passed("s")),
        scoring=scoring,
        outcome="agent_error",
    )
    assert (found.measured, found.passed, found.task_score) == (True, False, 0.0)
    assert (found.safety, found.breaches, found.why) == (1.0, (), "")


def test_an_agent_error_needs_no_verdict() -> None:
    for verdict in (silent("a"), unscored("a")):
        found = score(completion("a", verdict), outcome="agent_error")
        assert (found.measured, found.passed, found.task_score) == (True, False, 0.0)


@pytest.mark.parametrize("outcome", sorted(UNMEASURED_OUTCOMES))
def test_what_is_not_the_agents_fault_is_never_its_failure(outcome: Outcome) -> None:
    verdict = Verdict("a", "unscored", fault=outcome)
    found = score(completion("a", verdict), outcome=outcome)
    assert (found.measured, found.passed, found.task_score) == (False, None, None)
    assert found.why == f"the conversation ended with {outcome}"


def test_reaching_the_limit_is_measured() -> None:
    assert score(completion("a", passed("a")), outcome="limit_reached").passed is True


verdicts = st.one_of(
    st.floats(0, 1).map(lambda score: passed("x", score)),
    st.floats(0, 1).map(lambda score: failed("x", score)),
    st.just(silent("x")),
    st.just(unscored("x")),
)
pairs = st.lists(
    st.tuples(
        st.sampled_from(DIMENSIONS), st.floats(0.1, 10), st.sampled_from(["hard", "soft"]), verdicts
    ),
    max_size=8,
).map(
    lambda rows: [
        (rubric(f"r{number}", dimension, weight=weight, severity=severity), verdict)
        for number, (dimension, weight, severity, verdict) in enumerate(rows)
    ]
)
scorings = st.one_of(
    st.none(),
    st.just(Scoring()),
    st.just(Scoring(pass_on="r0")),
    st.builds(Scoring, pass_mark=st.floats(0, 1), completion=st.floats(0, 5)),
)


@given(pairs, scorings, st.sampled_from(OUTCOMES))
def test_identities(given_pairs: list[Pair], scoring: Scoring | None, outcome: Outcome) -> None:
    found = score(*given_pairs, scoring=scoring, outcome=outcome)
    assert found.measured == (found.passed is not None) == (not found.why)
    assert found.safety in (0.0, 1.0, None)
    assert (found.safety == 0.0) == bool(found.breaches)
    for share in (found.task_score, found.completion, found.robustness):
        assert share is None or 0 <= share <= 1
    if outcome == "agent_error":
        assert (found.passed, found.task_score) == (False, 0.0)
    elif outcome in UNMEASURED_OUTCOMES:
        assert (found.passed, found.task_score) == (None, None)
    if found.measured and found.breaches:
        assert not found.task_score
    if not found.measured:
        assert found.task_score is None


@given(pairs, scorings)
def test_untriggered_rubrics_change_nothing(
    given_pairs: list[Pair], scoring: Scoring | None
) -> None:
    more = [*given_pairs, *(completion(f"u{each}", silent(f"u{each}")) for each in range(2))]
    assert score(*more, scoring=scoring) == score(*given_pairs, scoring=scoring)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_better_verdict_never_lowers_the_score(one: float, other: float, rest: float) -> None:
    scores = [
        score(
            completion("a", failed("a", each)),
            robustness("b", failed("b", rest)),
            scoring=Scoring(),
        ).task_score
        for each in sorted((one, other))
    ]
    assert scores[0] <= scores[1]


def test_ten_thousand_verdicts_in_a_moment() -> None:
    trial = [
        *(completion(f"c{each}", passed(f"c{each}")) for each in range(4)),
        *(robustness(f"b{each}", failed(f"b{each}", 0.5)) for each in range(3)),
        *(safety(f"s{each}", passed(f"s{each}")) for each in range(3)),
    ]
    start = time.process_time()
    for _ in range(1000):
        score(*trial, scoring=Scoring())
    assert time.process_time() - start < 0.5
