"""Which votes count, and in which order, whatever order their lines have."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.errors import DialevalError
from pytest_dialeval.records.match import Comparison
from pytest_dialeval.records.vote import Vote
from pytest_dialeval.runs.evaluation import Ballot, Evaluation
from pytest_dialeval.runs.matches import pairs_of
from pytest_dialeval.runs.votes import Placed, counted, read_votes, vote_line

from .samples import planned, rubric, source

BEGAN = datetime(2026, 11, 30, tzinfo=UTC)
TRIALS = [planned("p", agent=each) for each in "ab"]
SOURCE = replace(source([rubric("r")], TRIALS), compare=Comparison(both_bad=True))
BALLOT = Ballot(SOURCE, next(pairs_of(SOURCE)), ("da", "db"), {1: True, 2: False}, same=False)
EVALUATION = Evaluation("e", [BALLOT], [SOURCE], {})
VOTE = Vote("v1", "e", "t", "p", 1, 1, "a", "b", "A", "ann", BEGAN, ("da", "db"))


def vote(name: str, seconds: int = 0, **more: object) -> Vote:
    return replace(VOTE, id=name, time=BEGAN + timedelta(seconds=seconds), **more)  # type: ignore[arg-type]


def placed(*votes: Vote) -> list[Placed]:
    return [Placed(each, f"votes.jsonl:{number}") for number, each in enumerate(votes, 1)]


def counting(*votes: Vote) -> list[str]:
    return [each.id for each, _ in counted(placed(*votes), EVALUATION).votes]


def why(*votes: Vote) -> list[str]:
    return [each.why for each in counted(placed(*votes), EVALUATION).left_out]


def test_replayed_by_time_and_then_by_id() -> None:
    found = [vote("c", 1, voter="x"), vote("b", 1, voter="y"), vote("a", 2, voter="z")]

    assert counting(*found) == ["b", "c", "a"]


def test_the_last_word_stands_where_it_was_said() -> None:
    first, later = vote("1", 0), vote("2", 1, voter="bob")
    last = vote("3", 2, choice="B", supersedes="1")

    assert counting(first, later, last) == ["2", "3"]
    assert counting(last, later, first) == ["2", "3"]


def test_votes_of_one_voter_without_a_word_are_duplicates() -> None:
    assert counting(vote("1"), vote("2", 1)) == ["1"]
    assert why(vote("1"), vote("2", 1)) == [
        "'ann' has voted on this by '1'; name it in `supersedes`"
    ]


def test_whichever_side_stood_left_it_is_the_same_match() -> None:
    turned = vote("2", 1, left="b", right="a", digests=("db", "da"), choice="B")

    assert counting(vote("1"), turned) == ["1"]
    assert counting(turned) == ["2"]
    [match] = counted(placed(turned), EVALUATION).matches()
    assert (match.left, match.winner) == ("b", "B")


@pytest.mark.parametrize(
    ("late", "reason"),
    [
        ({"supersedes": "gone"}, "'gone', which is no earlier vote of 'ann' that counts"),
        ({"supersedes": "1", "voter": "bob"}, "'1', which is no earlier vote of 'bob' that"),
        ({"supersedes": "1", "round": 2}, "it supersedes '1', which is another match's"),
        ({"evaluation": "f"}, "it is of evaluation 'f', and this run is 'e'"),
        ({"digests": ("db", "da")}, "its digests are stale"),
        ({"left": "x"}, "'x' is no agent of task 't' (there are: a, b)"),
        ({"left": "b", "right": "b"}, "'b' and 'b' did not meet"),
    ],
)
def test_votes_that_are_left_out(late: dict[str, object], reason: str) -> None:
    [found] = why(vote("1"), vote("2", 1, **late))

    assert reason in found


def test_a_vote_can_be_superseded_once() -> None:
    chain = [vote("1"), vote("2", 1, supersedes="1"), vote("3", 2, supersedes="1")]

    assert counting(*chain) == ["2"]
    assert "which was superseded before" in why(*chain)[0]
    assert counting(*chain[:2], vote("3", 2, supersedes="2")) == ["3"]


def test_one_id_of_one_voter_is_one_vote() -> None:
    again = vote("1", 5, choice="B")
    assert counting(vote("1"), again) == ["1"]
    assert why(vote("1"), vote("1")) == ["its id stands at votes.jsonl:1 already"]
    assert why(vote("1"), again) == [
        "its id stands at votes.jsonl:1 already; a vote that replaces it has an id of its own and "
        "names it in `supersedes`"
    ]


def test_people_fill_in_copies_of_one_file() -> None:
    both = [vote("1", 5, voter="bob"), vote("1", 5)]
    changed = vote("2", 6, voter="bob", choice="B", supersedes="1")

    assert [each.voter for each, _ in counted(placed(*both), EVALUATION).votes] == ["ann", "bob"]
    assert counting(*both, changed) == ["1", "2"]
    assert why(*both, changed) == []


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-12-01", "noon"]
)
def test_a_time_that_is_none_spoils_no_other_line(tmp_path: Path, time: str) -> None:
    path = tmp_path / "votes.jsonl"
    late = vote_line(vote("1")).replace(vote("1").time.isoformat().encode(), time.encode())
    path.write_bytes(late + vote_line(vote("2")))

    found = read_votes(path)

    assert [each.vote.id for each in found.votes] == ["2"]
    assert found.wrong == [
        f"{path}:1: time must be a time with its zone, e.g. 2026-11-30T16:21:55+00:00, not {time!r}"
    ]


def test_both_bad_is_a_tie() -> None:
    [match] = counted(placed(vote("1", choice="both_bad")), EVALUATION).matches()
    assert (match.winner, match.both_bad, match.by) == ("tie", True, "human")

    strict = replace(EVALUATION, sources=[replace(SOURCE, compare=Comparison())])
    ballots = [replace(BALLOT, source=strict.sources[0])]
    found = counted(placed(vote("1", choice="both_bad")), replace(strict, ballots=ballots))
    assert (
        "a suite with `votes: {both_bad: true}` allows it in its next run" in found.left_out[0].why
    )


def test_whether_the_agents_heard_the_same_is_of_the_round() -> None:
    votes = placed(vote("1"), vote("2", round=2), vote("3", round=None))

    same = [each.same_instruction for each in counted(votes, EVALUATION).matches()]

    assert same == [True, False, False]


words = st.text(min_size=1).filter(lambda each: each.strip() and each.isprintable())
votes = st.builds(
    Vote,
    id=words,
    evaluation=words,
    task=words,
    case=words,
    trial=st.integers(1, 9),
    round=st.none() | st.integers(1, 9),
    left=words,
    right=words,
    choice=st.sampled_from(["A", "B", "tie", "both_bad"]),
    voter=words,
    time=st.datetimes(timezones=st.just(UTC)),
    digests=st.tuples(words, words),
    supersedes=st.none() | words,
)


@given(votes)
def test_votes_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, given_: Vote
) -> None:
    path = tmp_path_factory.mktemp("votes") / "votes.jsonl"
    path.write_bytes(vote_line(given_))

    found = read_votes(path)

    assert [each.vote for each in found.votes] == [given_]
    assert not found.wrong


@given(
    st.lists(
        st.builds(
            vote,
            st.sampled_from("1234"),
            st.integers(0, 3),
            voter=st.sampled_from(["ann", "bob"]),
            round=st.sampled_from([1, 2]),
            supersedes=st.none() | st.sampled_from("1234"),
        ),
        unique_by=lambda each: each.id,
    ),
    st.integers(),
)
def test_the_order_of_the_lines_changes_nothing(found: list[Vote], seed: int) -> None:
    shuffled = Random(seed).sample(found, len(found))

    assert counting(*found) == counting(*shuffled)
    result = counted(placed(*found), EVALUATION)
    assert len({each.about for each, _ in result.votes}) == len(result.votes)
    superseded = len(found) - len(result.votes) - len(result.left_out)
    assert superseded == sum(each.supersedes is not None for each in found) - len(
        [each for each in result.left_out if next(v for v in found if v.id == each.id).supersedes]
    )


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"\xff\xfe{"])
def test_files_that_are_no_text(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_bytes(data)

    with pytest.raises(DialevalError, match=r"votes\.jsonl"):
        read_votes(path)
