from __future__ import annotations

from pytest_dialeval.conversation.deadline import Deadlines
from pytest_dialeval.records.suite import Limits


def test_a_turn_has_its_own_deadline_while_the_conversations_is_far():
    deadline = Deadlines(Limits(turn_timeout=60, timeout=600)).turn()
    assert deadline == (60, "no answer within 60 s (limits.turn_timeout)")


def test_near_the_end_of_the_conversation_its_deadline_counts():
    deadline = Deadlines(Limits(turn_timeout=60, timeout=30)).turn()
    assert 29 < deadline.seconds <= 30
    assert deadline.late == "the conversation took longer than 30 s (limits.timeout)"


def test_after_the_end_no_second_is_left():
    deadline = Deadlines(Limits(timeout=0)).turn()
    assert deadline == (0, "the conversation took longer than 0 s (limits.timeout)")
