from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_dialeval.conversation.agent import Reply
from pytest_dialeval.conversation.scribe import Ending, Scribe
from pytest_dialeval.conversation.user import Line
from pytest_dialeval.errors import HarnessFault, SimulatorFault
from pytest_dialeval.records.transcript import ToolCall, Transcript, Turn
from pytest_dialeval.traces.writer import TraceWriter
from tests.conversation.stage import Notes

LEFT = Ending("completed", "the user left", "user")


def test_turns_are_numbered_over_both_and_rounds_over_the_users():
    scribe = Scribe(None)
    scribe.agent(Reply("hello"), 0.25)
    scribe.user(Line("fee?", state="s", noise="filler"))
    scribe.agent(Reply("3"), 0.5)
    scribe.user(Line("probe", probe="p"))
    assert scribe.end(LEFT, ()) == Transcript(
        (
            Turn(1, "agent", "hello", 0, latency=0.25),
            Turn(2, "user", "fee?", 1, state="s", noise="filler"),
            Turn(3, "agent", "3", 1, latency=0.5),
            Turn(4, "user", "probe", 2, probe="p"),
        ),
        "completed",
        "the user left",
        "user",
    )


def test_the_agent_hears_words_alone():
    scribe = Scribe(None)
    scribe.user(Line("fee?", state="s", noise="filler"))
    scribe.user(Line("probe", probe="p"))
    assert scribe.heard == [Turn(1, "user", "fee?", 1), Turn(2, "user", "probe", 2)]


@pytest.mark.parametrize("reply", [Reply("I guarantee it."), Reply("", (ToolCall("price"),))])
def test_what_the_agent_rewrites_stays_as_it_was_said(reply: Reply):
    """Frozen or not: what is graded is no object that an agent was handed."""
    scribe = Scribe(None)
    scribe.user(Line("fee?"))
    scribe.agent(reply, 0.5)
    for turn in scribe.heard:
        object.__setattr__(turn, "text", "No promises.")
        for call in turn.tool_calls:
            object.__setattr__(call, "name", "nothing")
    assert [each.text for each in scribe.turns] == ["fee?", reply.text]
    assert [each.name for each in scribe.turns[-1].tool_calls] == [
        each.name for each in reply.tool_calls
    ]


@pytest.mark.parametrize("text", ["", " \n", "\u200b\u200d", "\x00", "\u3000\ufeff"])
def test_a_line_without_words_is_never_said(text: str):
    scribe = Scribe(None)
    with pytest.raises(SimulatorFault, match="line of probe 'p' is empty"):
        scribe.user(Line(text, probe="p"))
    with pytest.raises(SimulatorFault, match="line of state 's' is empty"):
        scribe.user(Line(text, state="s"))
    assert not scribe.turns


def test_the_users_text_is_cleaned():
    scribe = Scribe(None)
    scribe.user(Line("a\x1b\ud800b"))
    assert scribe.turns[0].text == "a\ufffdb"


def test_every_event_is_in_the_trace_before_anything_else_happens():
    notes = Notes()
    scribe = Scribe(notes)  # type: ignore[arg-type]
    scribe.start({"task": "t"})
    scribe.user(Line("a"))
    assert notes.events == [("start", {"task": "t"}), ("turn", Turn(1, "user", "a", 1))]
    scribe.end(Ending("agent_error", "late"), ("p",))
    assert notes.events[2:] == [
        ("error", ("agent_error", "late")),
        ("end", ("agent_error", "late", "", ("p",))),
    ]


def test_what_is_not_on_disk_was_not_said():
    scribe = Scribe(Notes(full_after=1))  # type: ignore[arg-type]
    scribe.start({})
    with pytest.raises(HarnessFault, match=r"the trace cannot be written: .*No space left"):
        scribe.user(Line("a"))
    assert not scribe.turns
    transcript = scribe.end(LEFT, ())
    assert transcript.outcome == "harness_error" and "No space left" in transcript.reason


@pytest.mark.parametrize(("ours", "there"), [(False, 2), (True, 1)])
def test_what_is_said_to_an_agent_of_a_user_s_is_on_disk_before_it_answers(
    tmp_path: Path, ours: bool, there: int
):
    """It may end the process; one that is ours does not, and its answer comes in the same write."""
    trace = TraceWriter(tmp_path / "t.jsonl")
    scribe = Scribe(trace, ours=ours)
    scribe.start({"task": "t"})
    scribe.user(Line("fee?", state="s"))
    assert len(trace.part.read_bytes().splitlines()) == there
    scribe.agent(Reply("none"), 0.5)
    assert len(trace.part.read_bytes().splitlines()) == 3


def test_why_a_trace_broke_is_not_hidden_by_what_comes_too_late_for_it(tmp_path: Path):
    trace = TraceWriter(tmp_path / "t.jsonl")
    scribe = Scribe(trace)
    scribe.start({"task": "t"})
    assert trace._file is not None
    os.close(trace._file)
    with pytest.raises(HarnessFault, match="Bad file descriptor") as fault:
        scribe.user(Line("hi", state="s"))
    ended = scribe.end(Ending("harness_error", str(fault.value)), ())
    assert (ended.outcome, ended.reason) == ("harness_error", str(fault.value))
    late = scribe.end(LEFT, ())
    assert late.outcome == "harness_error" and "comes too late" in late.reason
