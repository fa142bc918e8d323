"""Differences between two runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.runs.baseline import Baseline
from pytest_dialeval.runs.comparing import AgentComparison, Difference, compare
from pytest_dialeval.statistics.mcnemar import Pairs

from .results import agent, case, results, run_of, task, trials


def only(before: Baseline, after: Baseline) -> AgentComparison:
    [found] = compare(before, after, draws=2000).agents
    return found


def figures(found: AgentComparison) -> dict[str, Difference]:
    return {each.name: each for each in (*found.overall, *found.rubrics)}


def many(passed: int, failed: int, cases: int = 20) -> Baseline:
    return run_of(*(case(f"p{each}", trials(passed, failed)) for each in range(cases)))


def test_a_run_is_not_separated_from_itself() -> None:
    run = many(3, 1)
    found = only(run, run)
    for each in figures(found).values():
        assert (each.value, each.standing) == (0, "not separated")
    assert found.pairs == Pairs(both=60, neither=20)


def test_better_and_worse_with_interval_and_p() -> None:
    found = figures(only(many(4, 0), many(1, 3)))
    rate = found["pass rate"]
    assert (rate.before, rate.after, rate.value) == (1, 0.25, -0.75)
    assert (rate.trials, rate.cases, rate.basis) == ((80, 80), 20, "cases like these")
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low < -0.75 < rate.high < 0
    assert {each.standing for each in found.values()} == {"worse"}
    back = figures(only(many(1, 3), many(4, 0)))
    assert {each.standing for each in back.values()} == {"better"}


def test_pass_k_of_the_fewest_trials() -> None:
    before = run_of(case("p", trials(4)), case("q", trials(3)))
    after = run_of(case("p", trials(2, 2)), case("q", trials(3)))
    found = figures(only(before, after))["Pass^3"]
    # C(2,3)/C(4,3) = 0 and 1: half of what it was
    assert (found.before, found.after) == (1, 0.5)
    assert (found.p, found.standing) == (None, "not separated")


def test_few_cases_have_no_interval_and_a_p_of_their_own() -> None:
    found = figures(only(run_of(case("p", trials(6))), run_of(case("p", trials(0, 6)))))
    rate = found["pass rate"]
    assert (rate.low, rate.high, rate.basis) == (None, None, "these cases")
    assert rate.p == pytest.approx(2 / 924)  # C(12, 6)
    assert rate.standing == "worse"


def test_a_case_that_broke_is_seen_here_though_not_in_cases_like_these() -> None:
    steady = [case(f"p{each}", trials(4)) for each in range(18)]
    before = run_of(*steady, case("x", trials(4)), case("y", trials(4)))
    after = run_of(*steady, case("x", trials(0, 4)), case("y", trials(0, 4)))
    rate = figures(only(before, after))["pass rate"]
    assert rate.standing == "not separated"
    assert rate.p_here == pytest.approx(2 / 2**8)  # eight pairs changed, all of them one way
    unpaired = before.model_copy(
        update={"tasks": [before.tasks[0].model_copy(update={"seed": "other"})]}
    )
    rate = figures(only(unpaired, after))["pass rate"]
    assert rate.p_here == pytest.approx(2 / 70**2)  # C(8, 4) ways in each of two cases


def test_pairs_of_equal_users_show_what_unpaired_trials_hide() -> None:
    passes = [*trials(14), *trials(0, 10)]
    fewer = [*trials(7), *trials(0, 17)]  # 7 lost, none gained
    before, after = run_of(case("p", passes)), run_of(case("p", fewer))
    found = only(before, after)
    assert found.pairs is not None
    assert figures(found)["pass rate"].p == pytest.approx(found.pairs.p()) == 2 / 2**7
    unpaired = figures(only(before, run_of(case("p", fewer), seed="other")))["pass rate"]
    assert unpaired.standing == "not separated"


def test_unmeasured_trials_are_read_in_both_ways() -> None:
    before = run_of(case("p", trials(4)))
    after = run_of(case("p", trials(2, 1, unmeasured=1)))
    found = only(before, after)
    rate = figures(found)["pass rate"]
    assert (rate.after, rate.trials) == (pytest.approx(2 / 3), (4, 3))
    assert rate.pessimistic == pytest.approx(-0.5)
    assert "1 trial unmeasured after" in found.notes
    assert figures(found)["greet"].pessimistic is None


def test_a_trial_without_a_score_is_not_a_score_of_0() -> None:
    before = run_of(case("p", trials(3), [None, None, None]))
    found = figures(only(before, run_of(case("p", trials(2, 0, 1), [None, None, None]))))
    assert found["task score"].value is None
    assert found["pass rate"].pessimistic == pytest.approx(-1 / 3)


def test_rubrics_are_corrected_for_their_number() -> None:
    flat = {f"r{each}": [1.0] * 4 for each in range(9)}
    before = run_of(case("p", trials(4), x=[1.0] * 4, **flat))
    after = run_of(case("p", trials(4), x=[0.0] * 4, **flat))
    found = figures(only(before, after))["x"]
    assert found.p == pytest.approx(2 / 70)
    assert found.adjusted == pytest.approx(20 / 70)
    assert found.standing == "not separated"


@pytest.mark.parametrize("size", [2, 20])
@pytest.mark.parametrize("paired", [True, False])
def test_a_rubric_that_a_case_scores_in_one_run_alone(size: int, paired: bool) -> None:
    """Its trigger fires only there, or the judge could not tell in the other."""
    both = [case(f"p{each}", trials(2), late=[1, 0], greet=[1, 1]) for each in range(size)]
    before = run_of(*both, case("q", trials(2), greet=[1, 1]))
    seed = "shop" if paired else "other"
    after = run_of(*both, case("q", trials(2), late=[0, 0], greet=[1, 1]), seed=seed)
    for first, second in ((before, after), (after, before)):
        found = figures(only(first, second))["late"]
        assert (found.value, found.cases) == (0, size)


def test_personas_by_their_own_trials() -> None:
    before = run_of(case("p", trials(8)), case("q", trials(8)))
    found = only(before, run_of(case("p", trials(8)), case("q", trials(0, 8))))
    same, lost = found.personas
    assert (same.name, same.standing) == ("p", "not separated")
    assert (lost.name, lost.value, lost.standing) == ("q", -1, "worse")
    assert lost.high is not None
    assert lost.high < 0
    assert lost.adjusted == pytest.approx(2 * 2 / 12870)  # C(16, 8), two personas


def test_other_seeds_leave_no_pairs() -> None:
    found = only(run_of(case("p", trials(4))), run_of(case("p", trials(4)), seed="other"))
    assert found.pairs is None
    assert "seeds or users differ: cases are paired, their trials are not" in found.notes


def test_pairs_go_by_trial_number() -> None:
    before = case("p", [True, False, None, True])
    after = case("p", [False, False, True]).model_copy(update={"trials": [1, 2, 4]})
    assert only(run_of(before), run_of(after)).pairs == Pairs(both=1, lost=1, neither=1)


def test_cases_of_one_run_alone_are_left_out() -> None:
    both = case("p", trials(4))
    found = only(run_of(both, case("q", trials(0, 4))), run_of(both, case("r", trials(4))))
    assert figures(found)["pass rate"].before == 1
    assert set(found.notes) == {"1 case only before, left out", "1 case only after, left out"}


def test_what_must_not_be_compared_is_not() -> None:
    run = run_of(case("p", trials(4)))
    found = compare(run, run_of(case("p", trials(4)), version="2"))
    assert found.incomparable
    assert found.agents[0].overall == ()
    assert compare(run, run_of(case("p", trials(4)), id="bank")).incomparable
    assert not compare(run, run).incomparable


def test_no_trial_was_measured() -> None:
    nothing = run_of(case("p", trials(0, 0, 4)))
    found = only(nothing, nothing)
    assert {each.value for each in found.overall} == {None}
    assert found.detectable is None


def test_one_trial_each() -> None:
    rate = figures(only(run_of(case("p", trials(1))), run_of(case("p", trials(0, 1)))))["pass rate"]
    assert (rate.p, rate.standing) == (1.0, "not separated")


CASES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=14
)


@given(CASES, CASES)
def test_the_runs_may_trade_places(
    first: list[tuple[int, ...]], second: list[tuple[int, ...]]
) -> None:
    runs = [
        run_of(*(case(f"p{at}", trials(*each)) for at, each in enumerate(counts)))
        for counts in (first, second)
    ]
    there, back = only(*runs), only(*reversed(runs))
    opposite = {"better": "worse", "worse": "better", "not separated": "not separated"}
    for name in ("pass rate", "task score"):
        one, other = figures(there)[name], figures(back)[name]
        assert (one.before, one.after) == (other.after, other.before)
        if one.value is not None and other.value is not None:
            assert one.value == pytest.approx(-other.value)
            assert one.p == pytest.approx(other.p, abs=1e-3)
            assert one.standing == opposite[other.standing] or abs((one.p or 1) - 0.05) < 0.01


def test_two_agents_of_one_run() -> None:
    good, poor = case("p", trials(8)), case("p", trials(0, 8))
    run = results(task(agent(poor, name="poor"), agent(good, name="good")))
    [found] = compare(run, run, against="poor", agent="good").agents
    assert found.overall[0].standing == "better"
    assert found.pairs == Pairs(gained=8)


@pytest.mark.parametrize("empty", [run_of(case("p", [])), run_of(), results()])
def test_runs_without_trials_cases_or_tasks(empty: Baseline) -> None:
    for before, after in ((empty, empty), (empty, many(2, 2)), (many(2, 2), empty)):
        for found in compare(before, after, draws=100).agents:
            assert {each.value for each in found.overall} <= {None}
