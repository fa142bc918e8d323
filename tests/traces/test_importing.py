import json

import pytest

from pytest_dialeval.errors import RunError, TranscriptError
from pytest_dialeval.traces.importing import import_recordings
from pytest_dialeval.traces.reader import read_trace
from pytest_dialeval.traces.recordings import read_recordings
from tests.traces.test_tau2 import results, simulation
from tests.traces.test_tau_bench import BYE, SORRY, USER, record


@pytest.fixture
def tau(tmp_path):
    path = tmp_path / "airline.json"
    items = [record(USER, SORRY, BYE), record(USER, SORRY, trial=1), record(task_id="b")]
    path.write_text(json.dumps(items), encoding="utf-8")
    return path


def test_every_recording_becomes_a_trace_that_says_the_same(tau, tmp_path):
    out = tmp_path / "traces"
    report = import_recordings("tau-bench", [tau], out)
    assert [each.name for each in report.written] == ["0-0.jsonl", "0-1.jsonl", "b-0.jsonl"]
    assert report.skipped == report.notes == ()
    for path, recording in zip(report.written, read_recordings("tau-bench", tau), strict=True):
        trace = read_trace(path)
        assert trace.transcript == recording.transcript
        assert trace.header == {
            "task": recording.task_id,
            "trial": recording.trial,
            "source": {
                "format": "tau-bench",
                "path": str(tau),
                "sha256": recording.sha256,
                "index": recording.index,
            },
        }
        assert len(trace.events) == (trace.transcript.outcome == "harness_error")
    again = read_recordings("dialeval", out)
    assert [(each.task_id, each.trial) for each in again] == [("0", 0), ("0", 1), ("b", 0)]


def test_an_import_repeats_byte_for_byte_elsewhere(tau, tmp_path):
    for name in ("a", "b"):
        import_recordings("tau-bench", [tau], tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_a_second_import_skips_what_is_there(tau, tmp_path):
    out = tmp_path / "traces"
    import_recordings("tau-bench", [tau], out)
    before = {each: each.read_bytes() for each in out.iterdir()}
    report = import_recordings("tau-bench", [tau], out)
    assert report.written == ()
    assert [each.index for each in report.skipped] == [0, 1, 2]
    assert "0-0.jsonl is there already; give another --out" in report.skipped[0].why
    assert {each: each.read_bytes() for each in out.iterdir()} == before


def test_a_bad_file_is_skipped_with_its_reason_and_others_go_on(tau, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("[{", encoding="utf-8")
    report = import_recordings("tau-bench", [bad, tmp_path / "none", tau], tmp_path / "out")
    assert len(report.written) == 3
    assert [(each.path, each.index) for each in report.skipped] == [
        (str(bad), None),
        (str(tmp_path / "none"), None),
    ]
    assert "cut off" in report.skipped[0].why and "no such file" in report.skipped[1].why


def test_trials_without_numbers_are_numbered_from_one_over_all_files(tmp_path):
    paths = []
    for name in ("a", "b"):
        paths.append(tmp_path / f"{name}.json")
        value = {"task_id": "refund", "messages": [{"role": "user", "content": name}]}
        paths[-1].write_text(json.dumps([value] * 2), encoding="utf-8")
    report = import_recordings("openai", paths, tmp_path / "out")
    assert [each.name for each in report.written] == [f"refund-{n}.jsonl" for n in (1, 2, 3, 4)]


def test_notes_of_files_are_passed_on(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(results(simulation(), num_trials=4)), encoding="utf-8")
    assert "num_trials says 4" in import_recordings("tau2", [path], tmp_path / "out").notes[0]


def test_task_ids_become_file_names_that_stay_apart(tmp_path):
    names = ["[mobile]a|b", "[mobile]a b", "../../etc", "退款", "x" * 60, "x" * 61, "a/b", ".."]
    items = [record(USER, task_id=name) for name in names]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(items), encoding="utf-8")
    out = tmp_path / "out"
    report = import_recordings("tau-bench", [path], out)
    assert len({each.name for each in report.written}) == len(names)
    assert all(each.parent == out and len(each.name) <= 64 for each in report.written)
    assert report.written[0].name.startswith("mobile_a_b_")
    assert [each.task_id for each in read_recordings("dialeval", out)] != []
    assert {each.task_id for each in read_recordings("dialeval", out)} == set(names)


def test_an_unknown_format_and_a_folder_that_cannot_be_written(tau, tmp_path):
    with pytest.raises(TranscriptError, match="did you mean 'tau2'"):
        import_recordings("tau3", [tau], tmp_path / "out")
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="--out DIR"):
        import_recordings("tau-bench", [tau], tmp_path / "file" / "out")


def test_an_unfinished_trace_is_imported_as_unmeasured(tmp_path):
    path = tmp_path / "cut.jsonl"
    path.write_text('{"event":"start","schema":1,"task":"t"}\n{"event":"turn"', encoding="utf-8")
    report = import_recordings("dialeval", [path], tmp_path / "out")
    transcript = read_trace(report.written[0]).transcript
    assert transcript.outcome == "harness_error" and "unfinished" in transcript.reason
