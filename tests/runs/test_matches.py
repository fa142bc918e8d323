from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.errors import RunError
from pytest_dialeval.records.match import Match
from pytest_dialeval.records.run import Source, TrialFacts
from pytest_dialeval.records.suite import Scoring
from pytest_dialeval.records.ux import RUBRICS as UX_RUBRICS
from pytest_dialeval.records.ux import SUBSCORES
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.matches import (
    append_matches,
    in_order,
    pairs_of,
    read_matches,
    score_matches,
)

from .samples import conversation, failed, passed, planned, rubric, silent, source, unscored

RUBRICS = [rubric("r", weight=1), rubric("s", weight=3)]


def played(*agents: str, personas: str = "p", trials: int = 1, **more: object) -> Source:
    planned_ = [
        planned(persona, number, agent=agent, rubrics=["r", "s"])
        for agent in agents
        for persona in personas
        for number in range(1, trials + 1)
    ]
    return replace(source(RUBRICS, planned_), **more)  # type: ignore[arg-type]


def known(made: Source, **verdicts: tuple[object, object]) -> dict[str, TrialFacts]:
    """By agent: its verdicts on r and s."""
    return {
        each.id: TrialFacts(
            conversation(each.id, said="same"),
            {one.rubric: one for one in verdicts[each.agent]},  # type: ignore[attr-defined]
        )
        for each in made.trials
    }


def test_the_pairs_in_the_order_of_rating() -> None:
    made = played("a", "b", "c", personas="qp", trials=2)

    found = [(p.left.number, p.left.persona, p.left.agent + p.right.agent) for p in pairs_of(made)]

    pairs = ["ab", "ac", "bc"]
    assert found == [(n, case, pair) for n in (1, 2) for case in "qp" for pair in pairs]


def test_only_what_is_selected_meets() -> None:
    made = played("a", "b", trials=2)
    made = replace(made, selected={each.id: ("r",) for each in made.trials[:3]})

    assert [each.left.number for each in pairs_of(made)] == [1]


@pytest.mark.parametrize(
    ("left", "right", "winner"),
    [
        ((passed("r"), passed("s")), (passed("r"), failed("s")), "A"),
        ((failed("r"), passed("s")), (passed("r"), failed("s")), "A"),  # 0.75 and 0.25
        ((failed("r"), passed("s")), (passed("r"), passed("s")), "B"),
        ((failed("r"), passed("s")), (failed("r"), passed("s")), "tie"),
        ((failed("r"), unscored("s")), (failed("r"), passed("s")), None),
    ],
)
def test_the_better_score_wins(left: object, right: object, winner: str | None) -> None:
    made = played("a", "b")

    [match] = score_matches(made, known(made, a=left, b=right))  # type: ignore[arg-type]

    assert match.winner == winner
    assert match.same_instruction
    assert bool(match.why) == (winner is None)


def test_where_one_rubric_decides_it_decides_the_match_too() -> None:
    made = played("a", "b", scoring=Scoring(pass_on="r"))
    left, right = (passed("r"), failed("s")), (failed("r"), passed("s"))

    [match] = score_matches(made, known(made, a=left, b=right))

    assert match.winner == "A"


def test_what_the_users_said_is_the_same_only_where_it_is_known() -> None:
    made = played("a", "b")
    both = known(made, a=(passed("r"), passed("s")), b=(passed("r"), passed("s")))
    first = next(iter(both))
    for said in ("other", ""):
        both[first] = replace(both[first], conversation=conversation(first, said=said))
        [match] = score_matches(made, both)
        assert not match.same_instruction


matches = st.builds(
    Match,
    source=st.just("s.dialeval.yaml"),
    task=st.text(),
    case=st.sampled_from("pq"),
    trial=st.integers(1, 3),
    round=st.none() | st.integers(1, 3),
    left=st.just("a"),
    right=st.just("b"),
    by=st.sampled_from(["judge", "score"]),
    winner=st.sampled_from(["A", "B", "tie", None]),
    same_instruction=st.booleans(),
    orders=st.sampled_from([(), ("A", "A"), ("A", "B")]),
    why=st.text(),
)


@given(st.lists(matches, max_size=5))
def test_matches_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, found: list[Match]
) -> None:
    directory = RunDirectory(tmp_path_factory.mktemp("run"))
    for each in found:
        append_matches(directory, [each])

    back = read_matches(directory)

    assert [replace(each, task="", why="") for each in back] == [
        replace(each, task="", why="") for each in found
    ]
    assert len({each.consistent for each in back} - {None, True, False}) == 0


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    made = played("a", "b")
    both = (passed("r"), passed("s"))
    append_matches(directory, score_matches(made, known(made, a=both, b=both)))
    path = tmp_path / "matches.jsonl"
    path.write_bytes(path.read_bytes() * 2 + b'{"schema":"dial')

    assert len(read_matches(directory)) == 2


@pytest.mark.parametrize("line", ["{}", "[]", "nonsense", '{"schema": "dialeval.match/2"}'])
def test_lines_that_are_no_matches(tmp_path: Path, line: str) -> None:
    (tmp_path / "matches.jsonl").write_text(f"{line}\n", encoding="utf-8")

    with pytest.raises(RunError, match=r"matches\.jsonl:1: is no match"):
        read_matches(RunDirectory(tmp_path))


@given(st.permutations(range(8)))
def test_the_order_of_rating_is_not_that_of_completion(order: list[int]) -> None:
    made = played("a", "b", personas="qp", trials=2)
    right = [
        Match("s.dialeval.yaml", "t", case, trial, number, "a", "b", "judge", "A", True)
        for trial in (1, 2)
        for case in "qp"
        for number in (1, 2)
    ]

    assert in_order([right[each] for each in order], made) == right


# ---- ranked by reward

SIX = [rubric(each) for each in UX_RUBRICS]


def ranked(
    left: float | None, right: float | None, checks: str = "", more: tuple[object, object] = ()
) -> Match:
    """Two trials whose subscores are all alike; checks: their verifiers' last words, as `1?`."""
    ids = [*UX_RUBRICS, *(["r"] if more else [])]
    trials = [planned(agent=each, rubrics=ids) for each in "ab"]
    scoring = Scoring(ux=dict.fromkeys(SUBSCORES, 1.0))
    made = source([*SIX, *([rubric("r")] if more else [])], trials, scoring=scoring)
    words = {"1": 1.0, "0": 0.0, "?": None}
    facts = {}
    for number, (each, score) in enumerate(zip(trials, (left, right), strict=True)):
        said = [silent(one) if score is None else passed(one, score) for one in UX_RUBRICS]
        told = {"3": words[checks[number]]} if checks else {}
        facts[each.id] = TrialFacts(
            conversation(each.id, rounds=3, checks=told),
            {one.rubric: one for one in [*said, *(more[number : number + 1])]},
        )
    [match] = score_matches(made, facts)
    return match


@pytest.mark.parametrize(
    ("left", "right", "checks", "winner"),
    [
        (0.7, 0.3, "", "A"),
        (0.9, 0.3, "01", "B"),  # the better judged one does not pass at the end
        (0.9, 0.3, "11", "A"),
        (0.3, 0.9, "00", "B"),  # both are worth 0: the scores say it
        (0.7, 0.7, "11", "tie"),
    ],
)
def test_the_higher_ranked_reward_wins(left: float, right: float, checks: str, winner: str) -> None:
    assert ranked(left, right, checks).winner == winner


def test_the_ranked_reward_goes_before_the_score() -> None:
    """The left one has the better score by a rubric of the suite's own."""
    found = ranked(0.6, 0.7, more=(passed("r"), failed("r")))

    assert found.winner == "B"


def test_a_verifier_that_could_not_tell_leaves_the_match_undecided() -> None:
    found = ranked(0.9, 0.3, "1?")

    assert found.winner is None
    assert found.why == "b, p-1: the verifier could not tell after round 3"


def test_where_no_judge_was_asked_scores_decide() -> None:
    assert ranked(None, None, "10", more=(passed("r"), failed("r"))).winner == "A"


def test_an_unmeasured_trial_is_in_no_match() -> None:
    found = ranked(0.9, 0.3, more=(passed("r"), unscored("r")))

    assert found.winner is None
    assert found.why == "b, p-1 is unmeasured: r is unscored: cannot tell"
