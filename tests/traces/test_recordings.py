import copy
import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.transcript import Transcript
from pytest_dialeval.traces.recordings import FORMATS, read_recording_file, read_recordings
from pytest_dialeval.traces.writer import TraceWriter
from tests.traces.conversations import TURNS, json_values
from tests.traces.test_openai_chat import agent, call, user
from tests.traces.test_tau2 import TALK, result, results, say, simulation
from tests.traces.test_tau2 import call as tau2_call
from tests.traces.test_tau_bench import BYE, SORRY, USER, record, transfer


def test_formats_and_what_is_meant_by_a_wrong_name(tmp_path):
    assert list(FORMATS) == ["dialeval", "harbor", "openai", "tau-bench", "tau2"]
    with pytest.raises(TranscriptError) as caught:
        read_recordings("tau_bench", tmp_path)
    assert str(caught.value) == (
        "format 'tau_bench' is not known; formats are dialeval, harbor, openai, tau-bench, tau2; "
        "did you mean 'tau-bench'?"
    )


@pytest.mark.parametrize("form", list(FORMATS))
def test_a_file_that_cannot_be_had(form, tmp_path):
    with pytest.raises(TranscriptError, match="there is no such file"):
        read_recordings(form, tmp_path / "none.json")
    with pytest.raises(TranscriptError, match=r"is a folder|holds no trace|holds no trial"):
        read_recordings(form, tmp_path)


def test_a_file_that_is_not_there_is_looked_for_by_likeness(tmp_path):
    (tmp_path / "chats.json").write_text("[]", encoding="utf-8")
    for name, said in (("chat.json", "did you mean 'chats.json'?"), ("x.md", "check the path")):
        with pytest.raises(TranscriptError) as caught:
            read_recordings("openai", tmp_path / name)
        assert str(caught.value) == f"{tmp_path / name}: there is no such file; {said}"


def write(path, header, *, end=True):
    with TraceWriter(path) as trace:
        trace.start(header)
        for turn in TURNS:
            trace.turn(turn)
        if end:
            trace.end("completed", ended_by="agent", recorded={"reward": 0.5})
    return path if end else trace.part


def test_a_trace_is_a_recording(tmp_path):
    path = write(tmp_path / "a.jsonl", {"task": "upgrade", "trial": 2, "agent": "improved"})
    (recording,) = read_recordings("dialeval", path)
    assert recording.transcript == Transcript(TURNS, ended_by="agent", recorded={"reward": 0.5})
    assert (recording.task_id, recording.trial, recording.agent) == ("upgrade", 2, "improved")
    assert (recording.path, recording.index) == (str(path), 0)


def test_conversations_with_other_personas_are_other_cases(tmp_path):
    path = write(tmp_path / "a.jsonl", {"task": "upgrade", "persona": "hesitant", "trial": 1})
    assert read_recordings("dialeval", path)[0].task_id == "upgrade/hesitant"


def test_an_unfinished_trace_is_an_unmeasured_recording(tmp_path):
    path = write(tmp_path / "a.jsonl", {"task": "upgrade", "trial": 2}, end=False)
    transcript = read_recordings("dialeval", path)[0].transcript
    assert (transcript.finished, transcript.outcome) == (False, "harness_error")
    assert transcript.turns == TURNS


def test_a_folder_of_traces(tmp_path):
    for number in (1, 2):
        write(tmp_path / f"{number}.jsonl", {"task": "upgrade", "trial": number})
    (tmp_path / "1.result.json").write_text("{}", encoding="utf-8")
    recordings = read_recordings("dialeval", tmp_path)
    assert [(each.task_id, each.trial) for each in recordings] == [("upgrade", 1), ("upgrade", 2)]
    assert recordings[1].path == str(tmp_path / "2.jsonl")
    write(tmp_path / "3.jsonl", {"task": "upgrade", "trial": 2})
    with pytest.raises(TranscriptError, match="is trial 2 of task 'upgrade', and so is"):
        read_recordings("dialeval", tmp_path)


@pytest.mark.parametrize("task", [None, "", 4.5])
def test_a_trace_without_a_task_is_refused(task, tmp_path):
    path = write(tmp_path / "a.jsonl", {"task": task})
    with pytest.raises(TranscriptError, match="it must name the task"):
        read_recordings("dialeval", path)


@pytest.mark.parametrize(
    ("value", "looks"),
    [
        (results(simulation()), "tau2"),
        ([record(USER)], "tau-bench"),
        ([user("a")], "openai"),
        ({"task_name": "a", "trial_name": "a__b"}, "harbor"),
        ({"schema_version": "ATIF-v1.8", "steps": []}, "harbor"),
    ],
)
def test_another_tools_file_given_as_a_trace(value, looks, tmp_path):
    path = tmp_path / "a.json"
    for indent in (None, 2):
        path.write_text(json.dumps(value, indent=indent) + "\n", encoding="utf-8")
        with pytest.raises(TranscriptError, match=f"it looks like '{looks}'"):
            read_recordings("dialeval", path)


def test_notes_come_beside_the_recordings(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(results(simulation(), num_trials=4)), encoding="utf-8")
    assert len(read_recording_file("tau2", path).notes) == 1
    assert len(read_recordings("tau2", path)) == 1


@given(st.sampled_from(list(FORMATS)), st.binary(max_size=100))
@example("openai", b"\x0b")
@example("dialeval", b"\xc2\xa0\0")
def test_random_bytes_raise_nothing_but_transcript_errors(form, content):
    try:
        FORMATS[form](content, Path("x"))
    except TranscriptError:
        pass


@given(st.sampled_from(list(FORMATS)), json_values)
def test_random_json_raises_nothing_but_transcript_errors(form, value):
    try:
        FORMATS[form](json.dumps(value).encode(), Path("x"))
    except TranscriptError:
        pass


WHOLE = {
    "openai": {
        "messages": [
            user([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]),
            agent(None, tool_calls=[call("t", "{}")], function_call={"name": "f"}),
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "r"}]},
            agent("b", refusal="c", audio={"transcript": "d"}),
        ],
        "metadata": {"reward": 1},
        "task_id": "x",
        "trial": 1,
        "model": "m",
    },
    "tau-bench": [
        record(USER, SORRY, BYE, info={"reward_info": {"info": {"r": 1}}, "error": "e"}),
        record(USER, *transfer(), trial=1),
        record(trial=2, info={"error": "x"}),
    ],
    "tau2": {
        **results(
            simulation(
                [
                    *TALK,
                    {
                        **say("assistant", "a", cost=1, usage={"prompt_tokens": 1}),
                        "tool_calls": [tau2_call("t", a=1)],
                        "generation_time_seconds": 1,
                    },
                    result("r"),
                ],
                reward_info={
                    "reward": 1,
                    "db_check": {"db_match": True},
                    "action_checks": [{"action_match": True}],
                    "reward_breakdown": {"DB": 1},
                },
                info={"error": "e"},
                ticks=None,
            ),
            num_trials=1,
            agent_info={"llm": "m"},
        ),
        "tasks": [{"id": "5"}],
    },
}
ODD = (
    st.none() | st.booleans() | st.integers() | st.text() | st.just([]) | st.just({}) | json_values
)


def places(value, path=()):
    yield path
    keys = list(value) if isinstance(value, dict) else []
    keys += range(len(value)) if isinstance(value, list) else []
    for key in keys:
        yield from places(value[key], (*path, key))


@settings(max_examples=400)
@given(st.sampled_from(list(WHOLE)), st.data())
def test_any_value_in_any_place_raises_nothing_but_transcript_errors(form, data):
    value = {"root": copy.deepcopy(WHOLE[form])}
    path = ("root", *data.draw(st.sampled_from(list(places(WHOLE[form])))))
    spot = value
    for key in path[:-1]:
        spot = spot[key]
    spot[path[-1]] = data.draw(ODD)
    try:
        file = FORMATS[form](json.dumps(value["root"]).encode(), Path("x"))
    except TranscriptError as exc:
        assert str(exc).startswith("x")
        return
    for recording in file.recordings:
        turns = recording.transcript.turns
        assert [each.id for each in turns] == list(range(1, len(turns) + 1))
        assert recording.task_id


def test_the_examples_above_are_read():
    for form, value in WHOLE.items():
        assert FORMATS[form](json.dumps(value).encode(), Path("x")).recordings
