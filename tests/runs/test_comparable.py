"""What belongs together, what differs, what forbids."""

from __future__ import annotations

import pytest

from pytest_dialeval.errors import RunError
from pytest_dialeval.runs.baseline import Baseline
from pytest_dialeval.runs.comparable import changes, match_up, obstacles

from .results import agent, case, contract, results, run_of, task, trials

ONE = case("p", trials(4))


def only(before: Baseline, after: Baseline) -> list[str]:
    """What forbids to compare the only agent of two runs."""
    [match] = match_up(before, after).matches
    return obstacles(match, before, after)


def changed(before: Baseline, after: Baseline) -> list[str]:
    [match] = match_up(before, after).matches
    return [str(each) for each in changes(match, before, after)]


def test_equal_runs_have_nothing_between_them() -> None:
    run = run_of(ONE)
    assert (only(run, run), changed(run, run)) == ([], [])


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (task(agent(ONE)), task(agent(ONE), version="2"), "the task's version differs: 1 -> 2"),
        (
            task(agent(ONE)),
            task(agent(ONE), rubrics={"greet": contract("cd")}),
            "rubrics were rewritten: greet",
        ),
        (
            task(agent(ONE), rubrics={"greet": contract(judge="m, prompt 1")}),
            task(agent(ONE), rubrics={"greet": contract(judge="n, prompt 1")}),
            "the judge of greet differs: m, prompt 1 -> n, prompt 1",
        ),
        (task(agent(ONE)), task(agent(case("q", trials(4)))), "no case is in both runs"),
    ],
)
def test_what_forbids_to_compare_is_named(before: object, after: object, says: str) -> None:
    assert only(results(before), results(after)) == [says]  # type: ignore[arg-type]


def test_a_judge_that_never_answered_is_no_other_judge() -> None:
    judged = {"greet": contract(judge="m, prompt 1")}
    assert only(run_of(ONE, rubrics=judged), run_of(ONE)) == []


def test_judged_rubrics_left_out_of_one_run() -> None:
    left_out = results(task(agent(ONE)), settings={"no-judge": True})
    assert only(left_out, run_of(ONE)) == ["judged rubrics were left out only before"]


def test_what_differs_is_told_from_agent_to_version() -> None:
    before = results(
        task(agent(ONE, version="v1", models={"agent": "m"})), settings={"timeout": 60.0}
    )
    after = results(
        task(
            agent(case("p", trials(2)), version="v2", models={"agent": "n", "judge": "j"}),
            seed="other",
            files={"shop.dialeval.yaml": "bb"},
        ),
        settings={"label": "new", "concurrency": 3, "min-score": 0.5},
        plugin_version="2",
    )
    assert changed(before, after) == [
        "agent version: v1 -> v2",
        "model of the agent: m -> n",
        "model of the judge: none -> j",
        "changed files of the suite: shop.dialeval.yaml",
        "seed: shop -> other",
        "trials a case: 4 -> 2",
        "setting timeout: 60.0 -> the default",
        "plugin version: 1 -> 2",
    ]


def test_trials_of_other_seeds_or_users_are_no_pairs() -> None:
    run = run_of(ONE)
    users = [results(task(agent(ONE, models={"user": each}))) for each in "mn"]
    [same] = match_up(run, run).matches
    [seeds] = match_up(run, run_of(ONE, seed="other")).matches
    [people] = match_up(*users).matches
    assert (same.paired, seeds.paired, people.paired) == (True, False, False)


def test_tasks_of_one_id_are_told_apart_by_their_files() -> None:
    here, there = (task(agent(ONE), source=each) for each in ("a.yaml", "b.yaml"))
    found = match_up(results(here, there), results(there, here)).matches
    assert [(a.source, b.source) for a, b in (each.tasks for each in found)] == [
        ("b.yaml", "b.yaml"),
        ("a.yaml", "a.yaml"),
    ]


def test_a_suite_that_moved_is_found_by_its_id() -> None:
    before, after = run_of(ONE), run_of(ONE, source="moved.yaml")
    assert changed(before, after) == ["suite: shop.dialeval.yaml -> moved.yaml"]


def test_runs_of_different_suites() -> None:
    found = match_up(run_of(ONE, run_id="old"), run_of(ONE, run_id="new", id="bank"))
    assert found.matches == ()
    assert found.problem == "these are runs of different suites: old has shop and new has bank"


def test_what_one_run_alone_has_is_told() -> None:
    more = results(task(agent(ONE)), task(agent(ONE), id="bank", source="b"), run_id="new")
    assert match_up(run_of(ONE), more).alone == ("only in new: task bank",)


def test_an_agent_of_one_run_alone_is_told_of_unless_others_were_asked_for() -> None:
    both = results(task(agent(ONE, name="old"), agent(ONE, name="new")), run_id="before")
    one = results(task(agent(ONE, name="new")))
    assert match_up(both, one).alone == ("only in before: agent old of shop",)
    assert match_up(one, both).alone == ("only in before: agent old of shop",)
    assert match_up(both, one, against="old", agent="new").alone == ()
    assert match_up(run_of(ONE), one).alone == ()


def test_agents_go_by_name_and_an_only_one_by_itself() -> None:
    old, new = (results(task(agent(ONE, name=each))) for each in ("old", "new"))
    [match] = match_up(old, new).matches
    assert match.name == "shop / old -> new"
    two = results(task(agent(ONE, name="a"), agent(ONE, name="b")))
    assert "choose with --against NAME and --agent NAME" in match_up(old, two).problem
    assert [each.name for each in match_up(two, two).matches] == ["shop / a", "shop / b"]


def test_two_agents_of_one_run() -> None:
    two = results(task(agent(ONE, name="good"), agent(ONE, name="poor")))
    [match] = match_up(two, two, against="poor", agent="good").matches
    assert match.name == "shop / poor -> good"
    with pytest.raises(
        RunError, match=r"no agent 'god' \(it has good, poor\); did you mean 'good'"
    ):
        match_up(two, two, against="poor", agent="god")
