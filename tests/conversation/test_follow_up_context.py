"""What a model is shown of the rounds so far, and what goes first where there is no room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.conversation import follow_up_context as shown
from pytest_dialeval.conversation.follow_up_context import (
    GIVES_WAY,
    Context,
    Section,
    context,
    fitted,
    without_middle,
)
from pytest_dialeval.records.transcript import Artifact, ToolCall
from pytest_dialeval.records.work import PATCH, Check, Done, RoundWork
from tests.conversation.test_follow_up_facts import DIFF, past, shell, work


def texts(found: Context) -> dict[str, str]:
    return {each.name: each.text for each in found.sections}


def rounds() -> list:
    check = Check(1, False, checks={"test_a": True, "test_b": False}, output="E  boom")
    first = past("I changed it.", shell("pytest -q", "2 passed"), done=work(check=check))
    second = past("All tests pass.", ToolCall("read", {"path": "a"}), number=2, said="Add tests.")
    return [first, second]


def test_every_section() -> None:
    found = texts(context("Fix it.", "ask for tests", rounds()))
    assert list(found) == [
        shown.REQUEST, shown.BEHAVIOUR, shown.EARLIER, shown.ANSWERS, shown.CALLS, shown.PATCH,
        shown.OUTPUT, shown.CHECK, shown.TROUBLES,
    ]  # fmt: skip
    assert set(found) == set(GIVES_WAY)
    assert found[shown.EARLIER] == "round 2: Add tests."
    assert found[shown.ANSWERS] == "round 1: I changed it.\nround 2: All tests pass."
    assert found[shown.CALLS] == (
        'round 1:\nbash: pytest -q\n2 passed\nround 2:\nread: read({"path": "a"})'
    )
    assert found[shown.PATCH] == DIFF
    assert found[shown.OUTPUT] == "E  boom"
    assert found[shown.CHECK] == "after round 1: failed\n- test_b failed"
    assert "no command of this round ran any" in found[shown.TROUBLES]


def test_the_first_follow_up_knows_the_request_and_the_answer() -> None:
    found = context("Fix it.", "ask", [past("Done it now.")])
    assert list(texts(found)) == [shown.REQUEST, shown.BEHAVIOUR, shown.ANSWERS]


def test_work_that_was_taken_back_is_not_shown() -> None:
    back = past(number=2, done=Done(RoundWork(2, True)))
    assert shown.PATCH not in texts(context("Fix it.", "ask", [past(done=work()), back]))


def test_an_agent_that_shows_its_patch_once_has_it_still() -> None:
    once = past(artifacts=(Artifact(PATCH, DIFF),))
    assert texts(context("Fix it.", "ask", [once, past(number=2)]))[shown.PATCH] == DIFF


def test_a_check_that_could_not_be_told() -> None:
    check = Check(1, None, why="the deadline of 5 s passed")
    found = texts(context("Fix it.", "ask", [past("x", done=work(check=check))]))
    assert found[shown.CHECK] == "after round 1: it could not be told: the deadline of 5 s passed"


def test_long_parts_are_cut_whatever_the_limit() -> None:
    calls = [shell(f"echo {number}", "x" * 5000) for number in range(100)]
    found = texts(context("Fix it.", "ask", [past("word " * 5000, *calls)]))
    assert "characters left out]" in found[shown.ANSWERS]
    assert "[60 earlier calls left out]" in found[shown.CALLS]
    assert len("".join(found.values())) < 20_000


def test_of_the_last_answer_more_is_shown_than_of_those_before() -> None:
    old, last = past("o" * 5000), past("l" * 5000, number=2)
    found = texts(context("Fix it.", "ask", [old, last]))[shown.ANSWERS]
    assert (found.count("o" * 250), found.count("l" * 1000)) == (2, 2)
    assert "[4500 characters left out]" in found
    assert "[3000 characters left out]" in found


def test_what_is_missing_is_listed_and_marked() -> None:
    sections = [Section(shown.REQUEST, "r" * 400), Section(shown.PATCH, "p" * 1000)]
    found = fitted(sections, 800)
    assert found.left_out == (f"{shown.PATCH}: 600 of 1000 characters",)
    assert texts(found)[shown.PATCH] == f"{'p' * 200}\n[600 characters left out]\n{'p' * 200}"
    assert texts(found)[shown.REQUEST] == "r" * 400


def test_the_order_of_giving_way() -> None:
    sections = [Section(name, "x" * 1000) for name in reversed(GIVES_WAY)]
    limit = 1000 * len(GIVES_WAY)
    first_cut, gone = [], []
    while limit > 400:
        limit -= 50
        found = fitted(sections, limit)
        cut = [each.rpartition(":")[0] for each in found.left_out]
        first_cut += [each for each in cut if each not in first_cut]
        missing = {each.name for each in sections} - set(texts(found))
        gone += [each for each in missing if each not in gone]
    assert first_cut == list(GIVES_WAY)
    assert gone == list(GIVES_WAY[: len(gone)])
    assert len(gone) >= 7


lengths = st.lists(st.integers(0, 2000), min_size=len(GIVES_WAY), max_size=len(GIVES_WAY))


@given(lengths, st.integers(1, 9000))
def test_the_limit_holds_and_nothing_is_lost_in_silence(many: list[int], limit: int) -> None:
    sections = [
        Section(name, "x" * length) for name, length in zip(GIVES_WAY, many, strict=True) if length
    ]
    found = fitted(sections, limit)
    kept = {name: text.count("x") for name, text in texts(found).items()}
    assert sum(kept.values()) <= limit
    lost = {
        name
        for name, text in texts(Context(tuple(sections))).items()
        if kept.get(name) != len(text)
    }
    assert {each.rpartition(":")[0] for each in found.left_out} == lost
    marked = {name for name, text in texts(found).items() if "left out]" in text}
    assert marked == lost & kept.keys()
    if sum(many) <= limit:
        assert not lost


@given(st.text(max_size=300), st.integers(0, 300))
def test_a_text_without_its_middle(text: str, most: int) -> None:
    found = without_middle(text, most)
    if len(text) <= most:
        assert found == text
        return
    tail = most // 2
    assert found.startswith(text[: most - tail])
    assert found.endswith(text[len(text) - tail :])
    assert f"[{len(text) - most} characters left out]" in found
