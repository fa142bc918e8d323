import errno
import json
import os
import subprocess
import sys

import pytest

from pytest_dialeval.errors import RunError
from pytest_dialeval.traces import writer
from pytest_dialeval.traces.reader import read_trace
from pytest_dialeval.traces.writer import TraceWriter
from tests.traces.conversations import GREETING, QUESTION, TURNS


@pytest.fixture
def path(tmp_path):
    return tmp_path / "traces" / "hesitant-1.jsonl"


def lines(path):
    return [json.loads(each) for each in path.read_text(encoding="utf-8").splitlines()]


def test_a_whole_conversation(path):
    trace = TraceWriter(path)
    trace.start({"task": "upgrade", "trial": 1})
    for turn in TURNS:
        trace.turn(turn)
    trace.log("the user is slow", seconds=3)
    trace.end(
        "completed",
        ended_by="user",
        recorded={"reward": 1.0},
        unsaid_probes=["refund"],
        fidelity={"lines": 2, "asked_again": 1, "repeated": 1},
    )
    assert not path.exists()
    trace.sync()
    trace.close()
    assert [each["event"] for each in lines(path)] == ["start", *["turn"] * 3, "log", "end"]
    assert lines(path)[0]["schema"] == 1
    read = read_trace(path)
    assert read.transcript.turns == TURNS
    assert (read.transcript.outcome, read.transcript.ended_by) == ("completed", "user")
    assert read.transcript.finished
    assert read.transcript.recorded == {"reward": 1.0}
    assert read.unsaid_probes == ("refund",)
    assert read.transcript.fidelity == {"lines": 2, "asked_again": 1, "repeated": 1}
    assert read.events[0]["message"] == "the user is slow" and read.events[0]["seconds"] == 3
    assert list(path.parent.iterdir()) == [path]


def test_every_event_is_on_disk_at_once(path):
    trace = TraceWriter(path)
    trace.start({"task": "upgrade"})
    assert len(lines(trace.part)) == 1
    trace.turn(GREETING)
    assert lines(trace.part)[1]["text"] == GREETING.text


def test_what_is_soon_enough_later_comes_in_its_order_with_the_next_event(path, monkeypatch):
    trace = TraceWriter(path)
    trace.start({"task": "upgrade"})
    written = []
    write = os.write
    monkeypatch.setattr(writer.os, "write", lambda *args: written.append(args) or write(*args))
    trace.turn(GREETING, later=True)
    assert written == [] and len(lines(trace.part)) == 1
    trace.turn(QUESTION)
    assert len(written) == 1
    assert [each["text"] for each in lines(trace.part)[1:]] == [GREETING.text, QUESTION.text]


def with_a_turn_that_waits(path):
    trace = TraceWriter(path)
    trace.start({"task": "t"})
    trace.turn(GREETING, later=True)
    return trace


def full(file, data):
    """A write that fails."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("end", ["flush", "close"])
def test_what_was_to_wait_is_written_where_no_event_follows(path, end):
    trace = with_a_turn_that_waits(path)
    getattr(trace, end)()
    assert lines(trace.part)[1]["text"] == GREETING.text


def test_a_full_disk_refuses_the_event_and_keeps_what_waits_for_it(path, monkeypatch):
    trace = with_a_turn_that_waits(path)
    with monkeypatch.context() as patch:
        patch.setattr(writer.os, "write", full)
        with pytest.raises(RunError, match=r"No space left.*\(1 events written before stay"):
            trace.turn(QUESTION)
    trace.end("harness_error", "the disk was full")
    trace.close()
    found = lines(path)
    assert [each["event"] for each in found] == ["start", "turn", "end"]
    assert found[1]["text"] == GREETING.text


def test_what_a_full_disk_did_not_take_by_itself_comes_with_the_next_event(path, monkeypatch):
    trace = with_a_turn_that_waits(path)
    with monkeypatch.context() as patch:
        patch.setattr(writer.os, "write", full)
        with pytest.raises(RunError, match="No space left"):
            trace.flush()
    trace.turn(QUESTION)
    assert [each["text"] for each in lines(trace.part)[1:]] == [GREETING.text, QUESTION.text]


def test_without_an_end_it_keeps_the_name_of_a_part(path):
    with TraceWriter(path) as trace:
        trace.start({"task": "upgrade"})
        trace.turn(GREETING)
        trace.error("harness_error", "the power went")
    assert not path.exists()
    read = read_trace(trace.part)
    assert not read.transcript.finished
    assert read.events[0]["outcome"] == "harness_error"


def test_events_say_when_they_came_unless_that_is_left_out(path, tmp_path):
    for name, timed in (("a", True), ("b", False)):
        with TraceWriter(tmp_path / name, timed=timed) as trace:
            trace.start({"task": "t"})
            trace.turn(GREETING)
        start, turn = lines(trace.part)
        assert ("time" in start, "at" in turn) == (timed, timed)


def test_a_header_cannot_change_what_a_start_is(path):
    with TraceWriter(path) as trace:
        trace.start({"event": "end", "schema": 7, "task": "t"})
        trace.log("x", event="end")
    assert [each["event"] for each in lines(trace.part)] == ["start", "log"]
    assert lines(trace.part)[0]["schema"] == 1


def test_one_file_has_one_writer(path):
    first = TraceWriter(path)
    with pytest.raises(RunError, match="another run writes here, or was cut off here"):
        TraceWriter(path)
    first.start({"task": "t"})
    first.end("completed")
    first.close()
    with pytest.raises(RunError, match="there is a trace of that name already"):
        TraceWriter(path)
    assert len(lines(path)) == 2


def test_closing_twice_is_closing_once_and_later_events_are_refused(path):
    trace = TraceWriter(path)
    trace.start({"task": "t"})
    trace.sync()
    trace.close()
    trace.sync()
    trace.close()
    with pytest.raises(RunError, match="'turn' comes too late"):
        trace.turn(GREETING)


def test_sync_is_one_fsync_and_only_at_the_end(path, monkeypatch):
    synced = []
    monkeypatch.setattr(writer.os, "fsync", synced.append)
    trace = TraceWriter(path)
    trace.start({"task": "t"})
    trace.turn(GREETING)
    assert synced == []
    trace.sync()
    trace.close()
    assert len(synced) == 1
    other = TraceWriter(path.with_name("other"))
    other.close()
    assert len(synced) == 1


def test_a_full_disk_loses_nothing_and_tears_no_line(path, monkeypatch):
    trace = TraceWriter(path)
    trace.start({"task": "t"})
    trace.turn(GREETING)
    write = os.write

    def half_then_full(file, data):
        if len(data) > 20:
            return write(file, data[:20])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(writer.os, "write", half_then_full)
        with pytest.raises(RunError) as caught:
            trace.turn(QUESTION)
    message = str(caught.value)
    assert str(trace.part) in message and "No space left" in message
    assert "free some space" in message and "2 events written before stay" in message
    trace.error("harness_error", "disk full")  # there is room again
    trace.end("harness_error", "disk full")
    trace.close()
    assert [each["event"] for each in lines(path)] == ["start", "turn", "error", "end"]


def test_where_half_a_line_cannot_be_taken_back_nothing_may_follow(path, monkeypatch):
    trace = TraceWriter(path)
    trace.start({"task": "t"})

    def refuse(*args):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(writer.os, "write", refuse)
    monkeypatch.setattr(writer.os, "ftruncate", refuse)
    with pytest.raises(RunError, match="Input/output error"):
        trace.turn(GREETING)
    with pytest.raises(RunError, match="the trace is closed"):
        trace.turn(GREETING)
    trace.close()
    assert not path.exists()


LIMITED = """
import resource, sys
from pathlib import Path
from pytest_dialeval.errors import RunError
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.traces.writer import TraceWriter
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
trace = TraceWriter(Path(sys.argv[1]))
trace.start({"task": "t"})
trace.turn(Turn(1, "user", "x" * 1000, 1))
try:
    trace.turn(Turn(2, "agent", "y" * 9000, 1))
except RunError as exc:
    print(exc)
"""


def test_a_real_limit_of_the_system(path):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True
    )
    assert "File too large" in done.stdout and "ulimit -f" in done.stdout
    read = read_trace(path.with_name(path.name + ".part"))
    assert [each.text for each in read.transcript.turns] == ["x" * 1000]


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_folder_that_cannot_be_written(path, monkeypatch, number):
    def refuse(*args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(writer.os, "open", refuse)
    with pytest.raises(RunError) as caught:
        TraceWriter(path)
    assert str(path) in str(caught.value) and "--dialeval-runs DIR" in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(RunError, match="choose a folder that can be written"):
        TraceWriter(tmp_path / "traces" / "a.jsonl")


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "traces").write_text("x", encoding="utf-8")
    with pytest.raises(RunError, match="a part of the path is a file"):
        TraceWriter(tmp_path / "traces" / "a.jsonl")


def test_a_name_that_is_too_long(tmp_path):
    with pytest.raises(RunError, match="give shorter names"):
        TraceWriter(tmp_path / ("a" * 300))


def test_a_failed_rename_keeps_the_part(path, monkeypatch):
    trace = TraceWriter(path)
    trace.start({"task": "t"})
    trace.end("completed")
    path.mkdir()  # somebody else took the name
    (path / "x").touch()
    with pytest.raises(RunError, match="cannot be written"):
        trace.close()
    assert len(lines(trace.part)) == 2
