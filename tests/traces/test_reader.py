import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.transcript import Transcript, Turn
from pytest_dialeval.traces.codec import encode_turn
from pytest_dialeval.traces.json_bytes import to_json
from pytest_dialeval.traces.reader import parse_trace, read_trace
from tests.traces.conversations import TURNS, transcripts

START = {"event": "start", "schema": 1, "task": "upgrade", "trial": 1}
END = {"event": "end", "outcome": "completed", "reason": "", "ended_by": "user"}


def turn(number, **more):
    return {"event": "turn", "id": number, "speaker": "user", "round": 1, "text": "hi", **more}


def data(*events):
    return b"".join(each if isinstance(each, bytes) else to_json(each) + b"\n" for each in events)


def whole(transcript):
    turns = [{"event": "turn", **encode_turn(each)} for each in transcript.turns]
    return data(START, *turns, {**END, "reason": transcript.reason})


WHOLE = whole(Transcript(TURNS))


def refusal(content, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(TranscriptError) as caught:
        read_trace(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


def test_a_whole_trace(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(WHOLE)
    trace = read_trace(path)
    assert trace.transcript == Transcript(TURNS, ended_by="user")
    assert trace.header == {"task": "upgrade", "trial": 1}
    assert trace.path == str(path)


@given(transcripts, st.data())
def test_cut_anywhere_it_is_read_to_its_last_whole_line(transcript, draw):
    content = whole(transcript)
    cut = draw.draw(st.integers(1, len(content) - 1))
    read = parse_trace(content[:cut], "x").transcript
    assert not read.finished and read.outcome == "harness_error"
    turns = max(0, content[:cut].count(b"\n") - 1)
    assert read.turns == transcript.turns[:turns]
    assert "unfinished" in read.reason


def test_every_single_cut_of_one_trace():
    for cut in range(1, len(WHOLE)):
        read = parse_trace(WHOLE[:cut], "x").transcript
        assert not read.finished
        assert read.turns == TURNS[: max(0, WHOLE[:cut].count(b"\n") - 1)]
    assert parse_trace(WHOLE, "x").transcript.finished


def test_where_it_stops_is_said():
    assert "after turn 2" in parse_trace(data(START, turn(1), turn(2)), "x").transcript.reason
    assert "before its first turn" in parse_trace(data(START), "x").transcript.reason


def test_nul_bytes_at_the_tail_are_what_a_crash_leaves():
    read = parse_trace(data(START, turn(1)) + b"\0" * 4096, "x")
    assert len(read.transcript.turns) == 1 and not read.transcript.finished
    assert parse_trace(WHOLE + b"\0" * 10, "x").transcript.finished


@given(st.binary(max_size=200))
@example(b"\n")
@example(b'\n{"x"')
@example(b"\xef\xbb\xbf")
@example(b'{"event":"start","schema":1}\n{"event":"turn","id":1e999,"speaker":"user"}\n')
@example(b'{"event":"start","schema":1}\n{"event":"log","a":' + b"[" * 900 + b"]" * 900 + b"}\n")
@example(b'{"event":"start","schema":1,"n":' + b"9" * 5000 + b"}\n")
def test_random_bytes_raise_nothing_but_transcript_errors(content):
    try:
        parse_trace(content, "x")
    except TranscriptError:
        pass


@given(st.lists(st.sampled_from([START, turn(1), turn(2), END, b"{}\n", b"null\n", b"\0\n"])))
def test_mixed_up_events_raise_nothing_but_transcript_errors(events):
    try:
        trace = parse_trace(data(*events), "x")
    except TranscriptError:
        return
    assert [each.id for each in trace.transcript.turns] == [1, 2][: len(trace.transcript.turns)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", ": is empty; nothing was recorded"),
        (b"\0\0\0", ": is empty"),
        (b"\n\n", ": is empty"),
        (b"hello", ":1: this is no trace"),
        (b"\nhello", ":1: this is no trace"),
        (data(turn(1)), ":1: 'turn' comes before the start event"),
        (data(START, turn(2)), ":2: turn 2 stands where turn 1 belongs"),
        (data(START, turn(1), turn(1)), ":3: turn 1 stands where turn 2 belongs"),
        (data(START, turn(1), START), ":3: a second start event"),
        (data(START, END, turn(1)), ":3: 'turn' comes after the end"),
        (data(START, END, START), ":3: 'start' comes after the end"),
        (data(START, b"garbage\n", turn(1)), ":2: the line is not JSON"),
        (data(START, b"\0\0\0\n", turn(1)), ":2: the line is not JSON"),
        (data(START, turn(1), b'{"event":"tu'), None),
        (data(START, b'{"event":"tu\n'), ":2: the line is not JSON"),
        (data(START, b"\xff\xfe\n"), ":2: the line is not JSON"),
        (data(START, b"[1]\n"), ":2: the line is a list ([1])"),
        (data(START, {"id": 1}), ":2: the line has no 'event'"),
        (data({**START, "schema": 2}), ":1: event schema 2 is not known"),
        (data({"event": "start"}), ":1: event schema None is not known"),
        (data(START, turn(1, speaker="dog")), ":2: 'speaker' is 'dog'"),
        (data(START, {**END, "outcome": "fine"}), ":2: 'outcome' is 'fine'; it is one of comp"),
        (data(START, {**END, "outcome": None}), ":2: 'outcome' is missing"),
        (data(START, {**END, "ended_by": "cat"}), ":2: 'ended_by' is 'cat'"),
        (data(START, {**END, "recorded": [1]}), ":2: 'recorded' is a list ([1])"),
        (data(START, turn(2)), ":2: turn 2 stands where turn 1 belongs"),
        (data(START, {**END, "unsaid_probes": [1]}), ":2: 'unsaid_probes' is"),
        (data(START, {**END, "fidelity": {"lines": "2"}}), ":2: 'fidelity' is"),
        (data(START, {**END, "fidelity": [1]}), ":2: 'fidelity' is"),
        (b"\x1f\x8b\x08\x00", ": is packed with gzip; unpack it first (gunzip)"),
        ("{}".encode("utf-16"), ": is UTF-16"),
    ],
)
def test_what_cannot_be_read_rightly_is_refused_by_line(content, said, tmp_path):
    if said is None:
        assert not parse_trace(content, "x").transcript.finished
        return
    assert refusal(content, tmp_path).startswith(said)


def test_a_missing_file_a_folder_and_no_permission(tmp_path):
    with pytest.raises(TranscriptError, match="there is no such file"):
        read_trace(tmp_path / "none.jsonl")
    with pytest.raises(TranscriptError, match="is a folder"):
        read_trace(tmp_path)


def test_what_a_later_version_adds_is_kept_or_passed_over():
    later = data(START, turn(1, mood="sour"), {"event": "coverage", "node": "greet"}, END)
    trace = parse_trace(later, "x")
    assert trace.transcript.turns == (Turn(1, "user", "hi", 1),)
    assert trace.events == ({"event": "coverage", "node": "greet"},)


def test_an_editor_may_leave_a_mark_and_its_own_line_ends():
    content = b"\xef\xbb\xbf" + WHOLE.replace(b"\n", b"\r\n")
    assert parse_trace(content, "x").transcript.turns == TURNS


def test_a_huge_line():
    text = "长" * 3_000_000
    read = parse_trace(data(START, turn(1, text=text), END), "x").transcript
    assert read.turns[0].text == text


def test_text_is_cleaned():
    raw = json.dumps({**START, "task": "a\x1bb"}).encode() + b"\n"
    trace = parse_trace(raw + data(turn(1, text="a\x1b[0m")), "x")
    assert trace.header["task"] == "ab"
    assert trace.transcript.turns[0].text == "a"
