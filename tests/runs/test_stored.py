"""A run that is over: found by its folder or id, its conversations read back."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from pytest_dialeval.errors import DialevalError, RunError, TranscriptError
from pytest_dialeval.records.run import Conversation
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.runs.stored import StoredRun, find_run
from pytest_dialeval.traces.writer import TraceWriter

from .samples import conversation, planned, written


def made(runs: Path, name: str, *conversations: Conversation) -> Path:
    """A run with that ledger and, for each conversation with a trace, the trace."""
    path = runs / name
    (path / "traces").mkdir(parents=True)
    written(path / "ledger.main.jsonl", *((each.trial, each) for each in conversations))
    for each in conversations:
        if each.trace:
            trace(path / "traces" / each.trace)
    return path


def trace(path: Path) -> None:
    writer = TraceWriter(path)
    writer.start({"trial_id": "t"})
    turns = (Turn(1, "user", "Lamp?", round=1), Turn(2, "agent", "Hello!", round=1))
    for each in turns:
        writer.turn(each)
    writer.end("completed")
    writer.close()


# ---- found


def test_by_its_path_or_by_its_id(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    path = made(runs, "20261130-101500-aaaaaa")
    elsewhere = made(tmp_path / "kept", "mine")
    assert find_run("20261130-101500-aaaaaa", tmp_path, runs) == path
    assert find_run("kept/mine", tmp_path, runs) == elsewhere
    assert find_run(str(elsewhere), tmp_path, runs) == elsewhere


def test_one_that_is_not_there(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with pytest.raises(RunError, match=r"^there is no run 'x' here or in \S+/runs \(only the"):
        find_run("x", tmp_path, runs)
    for each in ("20261130-101500-aaaaaa", "20261201-101500-bbbbbb"):
        made(runs, each)
    (runs / "notes").mkdir()
    with pytest.raises(RunError, match=r"did you mean '20261130-101500-aaaaaa'\?"):
        find_run("20261130-101500-aaaaab", tmp_path, runs)
    with pytest.raises(
        RunError, match=r"the last one there is 20261201-101500-bbbbbb \(only the last 20 are kept"
    ):
        find_run("notes", tmp_path, runs)


def test_one_without_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "run" / "traces").mkdir(parents=True)
    with pytest.raises(RunError, match="the ledger is gone"):
        StoredRun(tmp_path / "run")


# ---- read


def test_a_conversation_is_read_back(tmp_path: Path) -> None:
    trial = planned()
    path = made(tmp_path, "run", conversation(trial.id, trace="one.jsonl"))
    found = StoredRun(path).recording(trial)
    assert [(each.speaker, each.text) for each in found.transcript.turns] == [
        ("user", "Lamp?"),
        ("agent", "Hello!"),
    ]
    file = path / "traces" / "one.jsonl"
    assert (found.path, found.sha256) == (str(file), sha256(file.read_bytes()).hexdigest())


@pytest.mark.parametrize("held", [None, "without a trace"])
def test_a_trial_that_the_run_does_not_have(tmp_path: Path, held: str | None) -> None:
    trial = planned()
    known = [] if held is None else [conversation(trial.id, "harness_error")]
    stored = StoredRun(made(tmp_path, "run", *known))
    with pytest.raises(
        RunError, match=r"run run has no trace of t\.a\.p-1: it was never held there"
    ):
        stored.recording(trial)


def test_a_trace_that_is_gone_or_broken(tmp_path: Path) -> None:
    trial = planned()
    path = made(tmp_path, "run", conversation(trial.id, trace="one.jsonl"))
    (path / "traces" / "one.jsonl").write_text("nonsense\n", encoding="utf-8")
    with pytest.raises(TranscriptError, match=r"one\.jsonl:1"):
        StoredRun(path).recording(trial)
    (path / "traces" / "one.jsonl").unlink()
    with pytest.raises(DialevalError, match=r"one\.jsonl"):
        StoredRun(path).recording(trial)


def test_it_is_the_first_attempt_that_counts(tmp_path: Path) -> None:
    trial = planned()
    first = conversation(trial.id, trace="one.jsonl")
    path = made(tmp_path, "run", first, replace(first, trace="one.2.jsonl", attempt=2))
    assert StoredRun(path).recording(trial).path.endswith("one.jsonl")


def test_only_a_slip_of_the_pen_is_near(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (runs / "20261201-101500-bbbbbb" / "traces").mkdir(parents=True)
    with pytest.raises(RunError, match=r"did you mean '20261201-101500-bbbbbb'\?"):
        find_run("20261201-101500-bbbbb", tmp_path, runs)
    with pytest.raises(RunError) as caught:
        find_run("20261201-093000-cccccc", tmp_path, runs)
    assert "did you mean" not in str(caught.value)
