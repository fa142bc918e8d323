from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.records.transcript import Artifact, ToolCall, Transcript, Turn
from pytest_dialeval.runs.rounds import heard, rounds_of

TALK = Transcript(
    (
        Turn(1, "agent", "Good day.", round=0),
        Turn(2, "user", "A lamp?", round=1),
        Turn(3, "agent", "", round=1, tool_calls=(ToolCall("find", {"a": 1}, result="one"),)),
        Turn(4, "agent", "Yes.", round=1),
        Turn(5, "user", "Bye.", round=2),
    )
)


def test_rounds_have_the_whole_answer_and_what_was_said_before() -> None:
    found = rounds_of(TALK)

    assert list(found) == [1, 2]
    assert (found[1].instruction, found[1].before) == ("A lamp?", "Good day.")
    assert [each.id for each in found[1].answer] == [3, 4]
    assert (found[2].instruction, found[2].before, found[2].answer) == ("Bye.", "Yes.", ())


def test_two_lines_of_the_user_in_one_round_are_one_instruction() -> None:
    talk = Transcript((Turn(1, "user", "Hi", round=1), Turn(2, "user", "you", round=1)))

    assert rounds_of(talk)[1].instruction == "Hi\nyou"


def test_answers_are_the_same_by_what_was_said_and_done() -> None:
    one = rounds_of(TALK)[1]
    later = tuple(replace(each, id=each.id + 7, latency=3.0) for each in one.answer)

    assert one.answers_as(replace(one, answer=later))
    said = replace(one.answer[1], text="No.")
    handed = replace(one.answer[1], artifacts=(Artifact("a", "b"),))
    called = replace(one.answer[0], tool_calls=())
    for first, second in ((one.answer[0], said), (one.answer[0], handed), (called, one.answer[1])):
        assert not one.answers_as(replace(one, answer=(first, second)))


@given(st.lists(st.tuples(st.text(), st.text())), st.lists(st.tuples(st.text(), st.text())))
def test_the_digest_is_of_the_users_lines_alone(
    one: list[tuple[str, str]], other: list[tuple[str, str]]
) -> None:
    def talk(rounds: list[tuple[str, str]]) -> Transcript:
        turns = []
        for number, (user, agent) in enumerate(rounds, 1):
            turns.append(Turn(2 * number - 1, "user", user, round=number))
            turns.append(Turn(2 * number, "agent", agent, round=number))
        return Transcript(tuple(turns))

    same = [user for user, _ in one] == [user for user, _ in other]
    assert (heard(talk(one)) == heard(talk(other))) == same
