"""Ratings of a run: figures by hand, votes of real people, verdicts of a real judge."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.records.match import Comparison, Match, Winner
from pytest_dialeval.records.run import Source, TrialFacts
from pytest_dialeval.records.suite import Scoring
from pytest_dialeval.records.ux import RUBRICS as UX_RUBRICS
from pytest_dialeval.records.ux import SUBSCORES
from pytest_dialeval.runs.figures import ScoredTrial, score_source
from pytest_dialeval.runs.ratings import rate
from pytest_dialeval.runs.summary import RankedFigure, RatingFigures, Ratings

from .samples import conversation, failed, passed, planned, rubric, source

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "elo"
real = pytest.mark.skipif(not DATA.is_dir(), reason="../shared is not here")


def scored(
    name: str = "s", agents: str = "ab", cases: str = "p", **compare: object
) -> tuple[Source, list[ScoredTrial]]:
    """Every agent's one trial of every case: a passes, all others fail."""
    trials = [planned(case, agent=agent, task=name) for agent in agents for case in cases]
    made = replace(
        source([rubric("r")], trials),
        name=name,
        task=name,
        compare=Comparison(**compare),  # type: ignore[arg-type]
    )
    facts = {
        each.id: TrialFacts(
            conversation(each.id), {"r": passed("r") if each.agent == "a" else failed("r")}
        )
        for each in trials
    }
    return made, score_source(made, facts)


def match(winner: Winner | None, case: str = "p", name: str = "s", **more: object) -> Match:
    made = Match(name, name, case, 1, None, "a", "b", "score", winner, True)
    return replace(made, **more)  # type: ignore[arg-type]


def rated(*matches: Match, **more: object) -> RatingFigures:
    found = rate([scored(**more)], matches)  # type: ignore[arg-type]
    assert found is not None
    return found.ratings[0]


def whole(ratings: Ratings | None) -> Ratings:
    assert ratings is not None
    return ratings


def test_a_win_a_loss_and_a_tie() -> None:
    found = rated(match("A", round=1), match("B", round=2), match("tie", round=3))

    a, b = found.agents
    assert (a.wins, a.ties, a.losses) == (b.losses, b.ties, b.wins) == (1, 1, 1)
    assert a.elo is not None
    assert round(a.elo, 2) == 998.67
    assert a.elo_mean is not None
    assert abs(a.elo_mean - 1000) < abs(a.elo - 1000)
    assert a.bradley_terry == pytest.approx(1000)


def test_fewer_than_two_agents() -> None:
    assert rate([scored(agents="a")], []) is None
    assert rate([], []) is None


def test_no_match_at_all() -> None:
    found = rated()

    assert [(each.elo, each.bradley_terry, each.apart) for each in found.agents] == [
        (None, None, "")
    ] * 2
    assert found.pairs[0].separated is None
    assert found.inconsistent_share is None


def test_an_agent_that_never_plays_has_no_rating() -> None:
    found = rated(match("A"), match("B", case="q"), agents="abc", cases="pq")

    assert [each.matches for each in found.agents] == [2, 2, 0]
    assert found.agents[2].elo is None
    assert [(p.left + p.right, p.matches) for p in found.pairs] == [("ab", 2), ("ac", 0), ("bc", 0)]


def test_undecided_matches_count_nowhere_and_are_named() -> None:
    found = rated(match("A"), match(None, why="down"), match(None, why="down"))

    assert (found.matches, found.undecided, found.why_undecided) == (1, 2, ["down"])


def test_the_mean_is_over_the_tasks_that_were_played() -> None:
    one, other = scored("one"), scored("other", agents="abc")
    found = whole(rate([one, other], [match("A", name="one"), match("B", name="other")]))

    [a, b, c] = found.ratings[0].agents
    assert (a.elo, b.elo, c.elo) == (1000, 1000, None)
    assert {row.agent: (row.tasks, row.of_tasks) for row in found.leaderboard} == {
        "a": (2, 2),
        "b": (2, 2),
        "c": (1, 2),
    }


def test_from_ten_tasks_on_they_are_what_was_sampled() -> None:
    names = [f"t{number}" for number in range(10)]
    matches = [match("A", name=each) for each in names] + [match("B", name=names[0], case="q")]

    ten = whole(rate([scored(each, cases="pq") for each in names], matches)).ratings[0]
    nine = whole(rate([scored(each, cases="pq") for each in names[1:]], matches)).ratings[0]

    assert (ten.clustered_by, ten.clusters) == ("task", 10)
    assert (nine.clustered_by, nine.clusters) == ("case", 9)


def test_the_leaderboard_has_the_unscored_last_and_equals_in_their_order() -> None:
    made, trials = scored(agents="bac")
    unknown = [replace(each, score=replace(each.score, task_score=None)) for each in trials[:1]]

    found = whole(rate([(made, [*unknown, *trials[1:]])], []))

    assert [each.agent for each in found.leaderboard] == ["a", "c", "b"]
    assert [each.task_score for each in found.leaderboard] == [1.0, 0.0, None]


def test_votes_are_a_rating_of_their_own_in_the_order_given() -> None:
    votes = [match("B", by="human"), match("A", by="human", case="p")]

    found = whole(rate([scored()], [match("A")], votes))

    by_score, _, human, _ = found.ratings
    assert (by_score.by, human.by) == ("score", "human")
    assert by_score.agents[0].elo == 1016
    assert human.agents[0].elo is not None
    assert human.agents[0].elo > 1000  # the loss came first
    assert found.leaderboard[0].elo.keys() == {"score", "human"}


@given(st.permutations([match(w, case=c) for w, c in zip("ABA", "pqr", strict=True)]))
def test_the_order_of_completion_changes_nothing(matches: list[Match]) -> None:
    right = rated(*[match(w, case=c) for w, c in zip("ABA", "pqr", strict=True)], cases="pqr")

    assert rated(*matches, cases="pqr") == right


@given(st.lists(st.sampled_from(["A", "B", "tie", None]), max_size=20))
def test_figures_add_up(winners: list[Winner | None]) -> None:
    found = rated(*(match(each, round=number) for number, each in enumerate(winners, 1)))

    a, b = found.agents
    assert a.matches == b.matches == found.matches == a.wins + a.ties + a.losses
    assert found.matches + found.undecided == len(winners)
    if found.matches:
        assert a.elo is not None
        assert b.elo is not None
        assert math.isclose(a.elo + b.elo, 2000)


@real
def test_a_real_judge_that_was_asked_in_both_orders() -> None:
    """75 pairs judged by GPT-4: 46 of the 73 without an error are consistent."""
    sides: dict[str, Winner] = {"model_1": "A", "model_2": "B", "tie": "tie"}
    path = DATA / "mtbench_pair_swap" / "gpt4_pair_swap.csv"
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    matches = []
    for number, row in enumerate(rows, 1):
        orders = tuple(sides[row[key]] for key in ("g1_winner", "g2_winner") if row[key] in sides)
        winner = None if len(orders) < 2 else orders[0] if orders[0] == orders[1] else "tie"
        matches.append(match(winner, by="judge", round=number, orders=orders))  # type: ignore[arg-type]

    found = rated(*matches, by="judge")

    assert (found.judged_twice, found.undecided) == (73, 2)
    assert found.inconsistent_share is not None
    assert round(100 * (1 - found.inconsistent_share), 1) == 63.0


# ---- ranked by reward


def judged(
    name: str, rewards: dict[str, float], checks: dict[str, float] | None = None, cases: str = "p"
) -> tuple[Source, list[ScoredTrial]]:
    """Every agent's subscores are all alike; `checks`: its verifier's last word."""
    trials = [
        planned(case, agent=agent, task=name, rubrics=UX_RUBRICS)
        for agent in rewards
        for case in cases
    ]
    scoring = Scoring(ux=dict.fromkeys(SUBSCORES, 1.0))
    six = [rubric(each) for each in UX_RUBRICS]
    made = replace(source(six, trials, scoring=scoring), name=name, task=name)
    facts = {
        each.id: TrialFacts(
            conversation(
                each.id, rounds=3, checks={"3": checks[each.agent]} if checks is not None else {}
            ),
            {one: passed(one, rewards[each.agent]) for one in UX_RUBRICS},
        )
        for each in trials
    }
    return made, score_source(made, facts)


def board(*tasks: tuple[Source, list[ScoredTrial]]) -> dict[str, RankedFigure | None]:
    return {each.agent: each.ranked for each in whole(rate(tasks, [])).leaderboard}


def test_suites_with_subscores_sort_agents_by_their_ranked_reward() -> None:
    found = whole(rate([judged("s", {"a": 0.9, "b": 0.5}, {"a": 0.0, "b": 1.0})], []))

    first, second = found.leaderboard
    assert (first.agent, first.ranked, first.task_score) == (
        "b",
        RankedFigure(value=0.5, low=None, high=None, tasks=1),
        0.5,
    )
    assert (second.agent, second.task_score) == ("a", 0.9)  # as judged, and kept
    assert second.ranked is not None
    assert second.ranked.value == 0


def test_other_suites_bring_their_score_to_the_ranking() -> None:
    mixed = board(judged("s", {"a": 0.4, "b": 0.6}), scored("t"))  # a passes in t, b fails

    assert {name: each and each.value for name, each in mixed.items()} == {
        "a": pytest.approx(0.7),
        "b": pytest.approx(0.3),
    }
    assert [*mixed] == ["a", "b"]


def test_without_subscores_nothing_is_ranked() -> None:
    assert board(scored()) == {"a": None, "b": None}


def test_the_ranked_reward_has_an_interval_from_ten_cases_on() -> None:
    found = board(judged("s", {"a": 0.9, "b": 0.5}, cases="pqrstuvwxyz"))["a"]

    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 0.9 <= found.high
