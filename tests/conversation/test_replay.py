from __future__ import annotations

import logging
from typing import Any

import pytest

from pytest_dialeval.conversation.replay import ReplayAgent
from pytest_dialeval.records.transcript import Artifact, Recording, ToolCall, Transcript, Turn
from tests.conversation.stage import held, patient, said


def recording(*turns: Turn, task_id: str = "task", **keys: Any) -> Recording:
    numbered = tuple(turns)
    return Recording(task_id, Transcript(numbered, **keys), "file", "0", 0)


def replayed(*recordings: Recording, who: Any = None, **keys: Any) -> Transcript:
    return held(lambda: ReplayAgent(recordings), who, adapted=True, **keys)


HELLO = recording(
    Turn(1, "agent", "Good day."),
    Turn(2, "user", "hello"),
    Turn(3, "agent", "", tool_calls=(ToolCall("look", id="1", result="r"),)),
    Turn(4, "agent", "I looked.", artifacts=(Artifact("a", "b"),)),
    Turn(5, "user", "hello"),
    Turn(6, "agent", "Bye."),
    ended_by="agent",
)


def test_answers_round_by_round():
    transcript = replayed(HELLO, opening="agent")
    assert said(transcript, "agent") == ["Good day.", "I looked.", "Bye."]
    assert (transcript.outcome, transcript.ended_by) == ("completed", "agent")
    answer = transcript.turns[2]
    assert answer.tool_calls == (ToolCall("look", id="1", result="r"),)
    assert answer.artifacts == (Artifact("a", "b"),)


def test_an_opening_that_nobody_asks_for_is_left_out():
    assert said(replayed(HELLO, max_rounds=1), "agent") == ["I looked."]


def test_beyond_the_recording_nothing_is_known():
    short = recording(Turn(1, "user", "hello"), Turn(2, "agent", "hi"))
    transcript = replayed(short)
    assert said(transcript, "agent") == ["hi"]
    assert transcript.outcome == "provider_error"
    assert transcript.reason == "the recording has no answer in round 2; its rounds are 1 to 1"
    assert replayed(short, opening="agent").outcome == "provider_error"


def test_a_recording_of_the_same_task_is_preferred():
    others = [recording(Turn(1, "user", ""), Turn(2, "agent", "no"), task_id="x")] * 5
    assert said(replayed(*others, HELLO, max_rounds=1), "agent") == ["I looked."]
    assert said(replayed(*others, max_rounds=1), "agent") == ["no"]


def test_other_words_of_the_user_are_a_warning(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        replayed(HELLO)
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        replayed(HELLO, who=patient("good morning"))
    assert [each.getMessage() for each in caplog.records] == [
        "from round 1 on the user says other words than recorded"
    ]
