import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.records.transcript import ToolCall
from pytest_dialeval.traces.importers.atif import Step
from pytest_dialeval.traces.importers.harbor_rounds import (
    by_messages,
    common_prefix,
    cut,
    in_rounds,
)

words = st.sampled_from(["a", "b", "c"])
calls = st.lists(st.builds(ToolCall, name=words, id=words), max_size=1).map(tuple)
answers = st.builds(Step, source=st.sampled_from(["agent", "system"]), text=words, calls=calls)
questions = st.builds(Step, source=st.just("user"), text=words)


@st.composite
def rounds(draw):
    """A message of the user and what followed."""
    return [draw(questions), *draw(st.lists(answers, max_size=3))]


conversations = st.lists(rounds(), min_size=1, max_size=5)


def said(steps):
    return [each.key for each in steps]


def ask(text="q"):
    return Step("user", text)


def reply(text="r"):
    return Step("agent", text)


@given(conversations)
def test_cumulative_trajectories_give_each_round_once(conversation):
    before, found = [], []
    for each in conversation:
        after = [*before, *each]
        found.append(list(cut(before, after).own))
        before = after
    assert found == conversation


@given(conversations, rounds())
def test_an_agent_that_was_not_resumed_is_kept_whole(conversation, last):
    before = [step for each in conversation for step in each]
    before[0] = ask("the first message of another conversation")
    assert said(cut(before, last).own) == said(last)


@given(conversations)
def test_ids_of_calls_and_usage_do_not_make_a_copy_another_step(conversation):
    steps = [step for each in conversation for step in each]
    anew = [
        Step(each.source, each.text, tuple(ToolCall(c.name, c.arguments, "x") for c in each.calls))
        for each in steps
    ]
    assert common_prefix(steps, anew) == len(steps)
    assert cut(steps, anew).own == ()


@given(st.lists(answers | questions, max_size=8), st.lists(answers | questions, max_size=8))
def test_what_is_cut_is_the_end_of_what_was_written_and_never_more(before, after):
    found = cut(before, after)
    own = list(found.own)
    assert own == after[len(after) - len(own) :]
    assert 0 <= found.left_out <= len(after) - len(own)


def test_the_same_message_to_an_agent_that_was_not_resumed():
    before, after = [ask(), reply("one")], [ask(), reply("two")]
    assert list(cut(before, after).own) == after
    later = [*after, ask("2"), reply("three")]
    assert list(cut(before, later).own) == later


def test_history_that_was_written_anew_is_no_new_answer():
    before = [ask("1"), reply("a"), reply("b")]
    found = cut(before, [ask("1"), reply("a"), reply("b, in short"), ask("2"), reply("c")])
    assert (said(found.own), found.left_out) == (said([ask("2"), reply("c")]), 1)


@pytest.mark.parametrize(
    ("history", "left_out"),
    [
        ([ask("2"), reply("b")], 0),  # the beginning was dropped
        ([ask("1"), ask("2"), reply("b")], 0),  # what was between
        ([ask("1"), reply("a"), reply("in short"), ask("2"), reply("b")], 1),
        ([ask("all so far: ..."), ask("2"), reply("b")], 1),
    ],
)
def test_history_that_was_shortened_counts_no_turn_twice(history, left_out):
    before = [ask("1"), reply("a"), reply("aa"), ask("2"), reply("b")]
    new = [ask("3"), reply("b")]
    found = cut(before, [*history, *new])
    assert (said(found.own), found.left_out) == (said(new), left_out)


def test_the_same_words_in_a_conversation_of_its_own_are_new():
    before = [ask("1"), reply("a"), ask("go on"), reply("done")]
    other = [ask("0"), reply("done"), ask("go on"), reply("done")]
    assert list(cut(before, other).own) == other


def test_a_step_that_adds_nothing():
    steps = [ask(), reply()]
    assert cut(steps, steps).own == ()


def test_rounds_follow_the_messages_of_the_user():
    steps = [reply(), ask(), reply(), reply(), ask(), ask()]
    assert [each.round for each in by_messages(steps)] == [0, 1, 1, 1, 2, 3]


def test_rounds_without_a_trajectory_of_their_own_are_told_apart_by_messages():
    steps = [ask("2"), reply(), ask("3"), reply()]
    assert [each.round for each in in_rounds(steps, [2, 3])] == [2, 2, 3, 3]
    assert [each.round for each in in_rounds(steps, [3])] == [3, 3, 3, 3]
    # Where messages and rounds do not agree, nobody knows which is which.
    assert [each.round for each in in_rounds(steps, [1, 2, 3])] == [3, 3, 3, 3]
    assert [each.round for each in in_rounds([*steps[:2], reply()], [2, 3])] == [3, 3, 3]
