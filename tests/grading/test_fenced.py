"""Turns between marks that they cannot forge; what is left out is named."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_dialeval.grading.fenced import fenced, ranges, without_middle
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import Artifact, ToolCall, Turn

from .chats import blocks
from .samples import CALL, talk

TURNS = talk("user: Hi", "agent: Hello,\nhow can I help?").turns


def test_a_transcript() -> None:
    shown = fenced(TURNS)
    assert shown.text == (
        f"<<<{shown.nonce} transcript\n"
        f"<<<{shown.nonce} turn 1, user\n"
        "Hi\n"
        f"<<<{shown.nonce} turn 2, agent\n"
        "Hello,\nhow can I help?\n"
        f"<<<{shown.nonce} end of transcript"
    )
    assert (shown.shown, shown.omitted, shown.mark) == ((1, 2), (), f"<<<{shown.nonce}")
    assert len(shown.nonce) == 24


def test_deeds_have_blocks_of_their_own_that_quotes_can_name() -> None:
    turn = Turn(
        1,
        "agent",
        "",
        tool_calls=(CALL, ToolCall("send", "{broken", result="no", error=True)),
        artifacts=(Artifact("a\nb.txt", "sum: 3"),),
    )
    shown = fenced([turn])
    assert blocks(shown.text, shown.nonce)[1:-1] == [
        ("turn 1, agent's tool call 1", 'lookup({"order": "A7"})'),
        ("turn 1, result of tool call 1", '{"status": "late"}'),
        ("turn 1, agent's tool call 2", "send({broken)"),
        ("turn 1, error of tool call 2", "no"),
        ("turn 1, name of artifact 1", "a\nb.txt"),
        ("turn 1, agent's artifact 1", "sum: 3"),
    ]


def test_how_the_user_was_steered_is_not_shown() -> None:
    steered = Turn(1, "user", "Hi", state="angry_state", probe="refund_probe", noise="filler")
    assert fenced([steered]).text == fenced([Turn(1, "user", "Hi")]).text


def test_the_same_transcript_has_the_same_marks_and_another_has_others() -> None:
    assert fenced(TURNS).nonce == fenced(TURNS).nonce
    assert fenced(TURNS[:1]).nonce != fenced(TURNS).nonce


def test_a_turn_that_holds_the_nonce_gets_another() -> None:
    """Nobody can write this; what if somebody did?"""
    import pytest_dialeval.grading.fenced as module

    class Weak:
        def __init__(self, data: bytes, digest_size: int) -> None:
            self.draws = ["guessed", "again", "fresh"]

        def hexdigest(self) -> str:
            return self.draws[0]

        def update(self, data: bytes) -> None:
            self.draws.pop(0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "blake2b", Weak)
        assert (
            fenced([Turn(1, "agent", "<<<guessed end"), Turn(2, "user", "again")]).nonce == "fresh"
        )


SIX = [Turn(n, "agent" if n % 2 else "user", "x" * 10) for n in range(1, 7)]


@pytest.mark.parametrize(
    ("limit", "after", "shown", "omitted"),
    [
        # With its mark a turn of the agent takes 52 characters, one of the user 51.
        (None, 0, (1, 2, 3, 4, 5, 6), ()),
        (309, 0, (1, 2, 3, 4, 5, 6), ()),
        (308, 0, (2, 3, 4, 5, 6), (1,)),
        (103, 0, (5, 6), (1, 2, 3, 4)),
        (103, 4, (5, 6), (1, 2, 3, 4)),
        (154, 4, (4, 5, 6), (1, 2, 3)),
        (0, 0, (), (1, 2, 3, 4, 5, 6)),
    ],
)
def test_the_newest_turns_that_count_are_kept(
    limit: int | None, after: int, shown: tuple[int, ...], omitted: tuple[int, ...]
) -> None:
    found = fenced(SIX, limit=limit, after=after)
    assert (found.shown, found.omitted) == (shown, omitted)


def test_what_is_left_out_is_named_where_it_stood() -> None:
    turns = [Turn(1, "user", "a"), Turn(2, "agent", "b" * 50), Turn(3, "user", "c" * 50)]
    shown = fenced([*turns, Turn(4, "agent", "d"), Turn(5, "user", "e" * 50)], limit=90)
    assert [title for title, _ in blocks(shown.text, shown.nonce)] == [
        "transcript",
        "turn 1, user",
        "left out for want of room: turn 2 to 3",
        "turn 4, agent",
        "left out for want of room: turn 5",
        "end of transcript",
    ]


def test_a_huge_turn_does_not_push_out_the_others() -> None:
    turns = [Turn(1, "agent", "Hello"), Turn(2, "user", "x" * 1_000_000), Turn(3, "agent", "Bye")]
    assert fenced(turns, limit=1000).omitted == (2,)


def test_ranges() -> None:
    assert ranges([1]) == "1"
    assert ranges([1, 2, 3, 5, 8, 9]) == "1 to 3, 5, 8 to 9"


@given(st.lists(st.text(max_size=40), min_size=1, max_size=6))
def test_every_text_is_read_back_whole(texts: list[str]) -> None:
    turns = [Turn(n, "agent", each) for n, each in enumerate(texts, 1)]
    shown = fenced(turns)
    _, _, *found, last = shown.text.split(f"<<<{shown.nonce} ")
    assert last == "end of transcript"
    assert found == [f"turn {n}, agent\n{clean(each)}\n" for n, each in enumerate(texts, 1)]


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=12), st.integers(0, 700), st.integers(0, 12)
)
def test_the_limit_holds_and_nothing_disappears(sizes: list[int], limit: int, after: int) -> None:
    turns = [Turn(n, "agent", "x" * size) for n, size in enumerate(sizes, 1)]
    found = fenced(turns, limit=limit, after=after)
    ours = ("transcript\n", "end of", "left out")
    turns_shown = [
        each for each in found.text.split(found.mark)[1:] if not each[1:].startswith(ours)
    ]
    assert len(turns_shown) == len(found.shown)
    assert sum(len(found.mark + each) - 1 for each in turns_shown) <= limit
    assert sorted((*found.shown, *found.omitted)) == [each.id for each in turns]
    if len(fenced(turns).text) <= limit:
        assert not found.omitted


def test_a_huge_piece_of_a_turn_loses_its_middle_visibly() -> None:
    patch = "\n".join(f"+line {number}" for number in range(1000))
    turns = [
        Turn(1, "user", "x" * 400),
        Turn(2, "agent", "Done.", artifacts=(Artifact("patch", patch), Artifact("b", "small"))),
        Turn(3, "agent", "Run.", tool_calls=(ToolCall("run", result="y" * 900),)),
    ]
    shown = fenced(turns, limit=2000, piece=200)

    assert (shown.omitted, shown.shortened) == ((), (2, 3))
    found = blocks(shown.text, shown.nonce)
    titles = [title for title, _ in found]
    head, tail = found[4][1], found[6][1]
    left_out = len(patch) - len(head) - len(tail)
    assert ("turn 2, agent's artifact 2", "small") in found
    assert titles[4:7] == [
        "turn 2, agent's artifact 1",
        f"{left_out} characters are left out here for want of room",
        "turn 2, agent's artifact 1, its end",
    ]
    assert patch.startswith(f"{head}\n")  # whole lines on both sides
    assert patch.endswith(f"\n{tail}")
    assert "700 characters are left out here for want of room" in titles
    assert len(shown.text) < 2500


def test_a_turn_that_is_left_out_is_not_called_shortened() -> None:
    turns = [Turn(1, "agent", artifacts=(Artifact("patch", "x" * 500),)), Turn(2, "agent", "Hi")]

    shown = fenced(turns, limit=60, piece=40)

    assert (shown.omitted, shown.shortened) == ((1,), ())


def test_the_mark_stands_in_no_text_beside_the_turns() -> None:
    alone, beside = fenced(TURNS), fenced(TURNS, beside=["more"])

    assert alone.nonce != beside.nonce
    assert fenced(TURNS, beside=()).text == alone.text


@given(st.text(min_size=1), st.integers(0, 60))
def test_what_is_shortened_keeps_its_ends_and_says_what_is_missing(text: str, most: int) -> None:
    assume(len(text) > most)
    head, said, tail = without_middle(text, most, "<<<m", "its end").split("<<<m ")

    head, tail = head[:-1], tail.removeprefix("its end\n")
    left = int(said.split()[0])
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) + left == len(text)
    assert len(head) + len(tail) <= most
