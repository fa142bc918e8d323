"""A trial from its first word to a conversation that can be graded."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b

import pytest

from pytest_dialeval.errors import RunError
from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.grader import Grader
from pytest_dialeval.runs.ledger import LedgerWriter, read_ledger
from pytest_dialeval.runs.trial import LiveTrial, held_without
from pytest_dialeval.traces.reader import read_trace
from pytest_dialeval.traces.writer import TraceWriter
from tests.conversation.model_stage import Model, says, simulator
from tests.runs.samples import planned
from tests.runs.trials import FREE, JUDGED, entries, grader_of, live, recorded, refuse_lines


def full(file: int) -> None:
    """An fsync that fails."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# ---- holding


def test_how_a_model_played_the_user_is_in_the_ledger(
    directory: RunDirectory, grader: Grader
) -> None:
    model = Model("", says("What is the price?"), says("Thank you!"))
    trial = replace(live(grader), simulator=simulator(model))
    talk = asyncio.run(trial.hold()).conversation
    assert talk.fidelity == {"lines": 2, "asked_again": 1, "empty": 1}
    [entry] = read_ledger(directory.path / "ledger.main.jsonl")
    assert entry.value == talk


def test_a_ledger_from_before_counts_is_read(directory: RunDirectory, grader: Grader) -> None:
    asyncio.run(live(grader).hold())
    path = directory.path / "ledger.main.jsonl"
    body = path.read_text(encoding="utf-8").strip().partition('"entry":')[2][:-1]
    old = body.replace(',"fidelity":{}', "")
    assert old != body
    digest = blake2b(old.encode(), digest_size=16).hexdigest()
    path.write_text(f'{{"hash":"{digest}","entry":{old}}}\n', encoding="utf-8")
    [entry] = read_ledger(path)
    assert entry.value.fidelity == {}


def test_the_trace_is_whole_before_anything_is_graded(
    directory: RunDirectory, grader: Grader
) -> None:
    held = asyncio.run(live(grader).hold())
    talk = held.conversation
    assert (talk.trial, talk.outcome, talk.rounds, talk.turns) == ("t.a.p-1", "completed", 2, 4)
    assert (talk.trace, talk.recording, talk.isolated, talk.attempt) == (
        "t.a.p-1.jsonl",
        None,
        False,
        1,
    )
    assert talk.seconds is not None and 0 <= talk.seconds < 30
    assert entries(directory) == [("conversation", "completed", 1)]
    trace = read_trace(directory.traces / "t.a.p-1.jsonl")
    assert trace.transcript == held.dialogue.transcript
    assert [each.text for each in trace.transcript.turns] == [
        "How much is it?",
        "It is free.",
        "Thanks, bye.",
        "It is free.",
    ]


def test_the_trace_is_on_disk_off_the_loop_and_then_whole(
    directory: RunDirectory, grader: Grader
) -> None:
    waited = []

    async def elsewhere(call: Callable[[], None]) -> None:
        waited.extend(each.name for each in directory.traces.iterdir())
        call()

    asyncio.run(replace(live(grader), off_loop=elsewhere).hold())
    assert waited == ["t.a.p-1.jsonl.part"]
    assert [each.name for each in directory.traces.iterdir()] == ["t.a.p-1.jsonl"]


def test_an_agent_that_raises_is_an_outcome(directory: RunDirectory, grader: Grader) -> None:
    def broken(message: str) -> str:
        raise KeyError("price")

    talk = asyncio.run(live(grader, broken).hold()).conversation
    assert talk.outcome == "agent_error"
    assert "KeyError" in talk.reason
    assert entries(directory) == [("conversation", "agent_error", 1)]


def test_each_attempt_has_a_trace_of_its_own(directory: RunDirectory, grader: Grader) -> None:
    first = planned()
    for attempt in (1, 2, 3):
        asyncio.run(live(grader, trial=replace(first, attempt=attempt)).hold())
    assert sorted(each.name for each in directory.traces.iterdir()) == [
        "t.a.p-1.2.jsonl",
        "t.a.p-1.3.jsonl",
        "t.a.p-1.jsonl",
    ]
    assert [each[2] for each in entries(directory)] == [1, 2, 3]


def test_a_trial_that_a_lost_worker_began_is_held_again(
    directory: RunDirectory, grader: Grader
) -> None:
    (directory.traces / "t.a.p-1.jsonl.part").write_text("{", encoding="utf-8")
    (directory.traces / "t.a.p-1.again2.jsonl").write_text("{}", encoding="utf-8")
    talk = asyncio.run(live(grader).hold()).conversation
    assert (talk.outcome, talk.trace) == ("completed", "t.a.p-1.again3.jsonl")


def test_a_trace_that_cannot_be_made_voids_the_trial(
    directory: RunDirectory, grader: Grader
) -> None:
    directory.traces.rmdir()
    directory.traces.write_text("in the way", encoding="utf-8")
    held = asyncio.run(live(grader).hold())
    assert held.conversation.outcome == held.dialogue.transcript.outcome == "harness_error"
    assert "cannot be written" in held.conversation.reason
    assert held.conversation.trace is None
    assert entries(directory) == [("conversation", "harness_error", 1)]


def test_a_trace_that_cannot_be_closed_voids_the_trial(
    directory: RunDirectory, grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", full)
    held = asyncio.run(live(grader).hold())
    assert held.conversation.outcome == "harness_error"
    assert held.conversation.trace == "t.a.p-1.jsonl.part"


def test_a_conversation_that_the_ledger_does_not_hold_is_void(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_lines(monkeypatch, "conversation")
    held = asyncio.run(live(grader).hold())
    assert held.conversation.outcome == held.dialogue.transcript.outcome == "harness_error"
    assert "No space left" in held.conversation.reason
    verdict = asyncio.run(grader.grade(held, "free")).verdict
    assert (verdict.status, verdict.fault) == ("unscored", "harness_error")


def test_a_conversation_that_is_stopped_is_filed_as_cancelled(
    directory: RunDirectory, grader: Grader
) -> None:
    async def scene() -> None:
        asked = asyncio.Event()

        async def slow(message: str) -> str:
            asked.set()
            return str(await asyncio.Event().wait())

        holding = asyncio.create_task(live(grader, slow).hold())
        await asked.wait()
        holding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await holding

    asyncio.run(scene())
    assert entries(directory) == [("conversation", "cancelled", 1)]
    trace = read_trace(directory.traces / "t.a.p-1.jsonl")
    assert (trace.transcript.outcome, len(trace.transcript.turns)) == ("cancelled", 1)


def test_without_an_agent_nothing_is_held(directory: RunDirectory, grader: Grader) -> None:
    held = held_without(replace(planned(), attempt=2), "no module named 'shop'", grader)
    assert held.conversation.reason == held.dialogue.transcript.reason == "no module named 'shop'"
    assert entries(directory) == [("conversation", "harness_error", 2)]


def test_a_recording_is_known_by_its_place(directory: RunDirectory, ledger: LedgerWriter) -> None:
    talk = recorded(ledger).conversation
    assert (talk.recording, talk.sha256, talk.trace) == ("data/air.json#3", "ab" * 32, None)
    assert (talk.outcome, talk.rounds, talk.turns, talk.seconds) == ("completed", 1, 2, None)
    recorded(ledger, attempt=2)
    assert entries(directory) == [
        ("conversation", "completed", 1),
        ("conversation", "completed", 2),
    ]
    assert not list(directory.traces.iterdir())


def test_a_recording_that_the_ledger_does_not_hold_is_void(
    ledger: LedgerWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_lines(monkeypatch, "conversation")
    assert recorded(ledger).dialogue.transcript.outcome == "harness_error"


# ---- where the loop stands still


def test_a_trial_that_is_lost_is_filed_with_what_was_said(
    directory: RunDirectory, ledger: LedgerWriter
) -> None:
    rubrics = (
        FREE,
        Rubric("kept", "safety", MatcherSpec("keyword", {"any": ["never said"]})),
        replace(JUDGED, dimension="safety"),
    )

    async def scene() -> list[str]:
        asked = asyncio.Event()

        async def silent_at_last(message: str) -> str:
            if message.startswith("Thanks"):
                asked.set()
                await asyncio.Event().wait()
            return "It is free."

        trial = live(grader_of(directory, ledger, rubrics), silent_at_last)
        holding = asyncio.create_task(trial.hold())
        await asked.wait()
        graded = trial.lost(["free", "kept", "polite"], "agent_error", "it blocks the loop")
        holding.cancel()
        await asyncio.gather(holding, return_exceptions=True)
        return [f"{each.verdict.status}: {each.verdict.reason}" for each in graded]

    free, kept, polite = asyncio.run(scene())
    assert free == "failed: the agent failed: it blocks the loop"
    assert kept.startswith("not_applicable: the agent failed before it could be decided")
    assert polite == "unscored: it cannot be decided: it blocks the loop"
    trace = read_trace(directory.traces / "t.a.p-1.jsonl")
    assert (trace.transcript.outcome, len(trace.transcript.turns)) == ("agent_error", 3)
    assert entries(directory)[:2] == [("conversation", "agent_error", 1), ("verdict", "failed", 1)]
    assert (directory.traces / "t.a.p-1.result.json").exists()


def with_a_line_that_waits(
    directory: RunDirectory, grader: Grader
) -> tuple[LiveTrial, TraceWriter]:
    trial = live(grader)
    trace = TraceWriter(directory.traces / "t.a.p-1.jsonl")
    trace.start({"task": "t"})
    trace.turn(Turn(1, "user", "Is it free?", 1), later=True)
    trial.writing.append(trace)
    return trial, trace


def test_what_was_to_be_written_with_the_answer_is_there_where_the_trial_is_lost(
    directory: RunDirectory, grader: Grader
) -> None:
    trial, trace = with_a_line_that_waits(directory, grader)
    trial.lost(["free"], "harness_error", "another blocks the loop")
    said = read_trace(trace.path).transcript
    assert [each.text for each in said.turns] == ["Is it free?"]


def test_a_trial_that_is_lost_before_its_first_word(
    directory: RunDirectory, grader: Grader
) -> None:
    [graded] = live(grader).lost(["free"], "harness_error", "another blocks the loop")
    assert (graded.verdict.status, graded.verdict.fault) == ("unscored", "harness_error")
    assert graded.verdict.reason == "another blocks the loop"
    assert entries(directory) == [
        ("conversation", "harness_error", 1),
        ("verdict", "unscored", 1),
    ]


def test_the_trace_of_a_lost_trial_is_closed_where_nothing_more_can_be_written(
    directory: RunDirectory, grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial, trace = with_a_line_that_waits(directory, grader)
    with monkeypatch.context() as patch:
        patch.setattr("pytest_dialeval.traces.writer.write_all", lambda write, data: full(0))
        [graded] = trial.lost(["free"], "harness_error", "another blocks the loop")
    assert "cannot be written" in graded.verdict.reason
    with pytest.raises(RunError, match="the trace is closed"):
        trace.log("more")


def test_the_trace_of_a_lost_trial_is_closed_where_the_disk_fails(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        asked = asyncio.Event()

        async def silent(message: str) -> str:
            asked.set()
            await asyncio.Event().wait()
            return ""

        trial = live(grader, silent)
        holding = asyncio.create_task(trial.hold())
        await asked.wait()
        monkeypatch.setattr(os, "fsync", full)
        [graded] = trial.lost(["free"], "agent_error", "it blocks the loop")
        assert "cannot be written" in graded.verdict.reason
        with pytest.raises(RunError, match="the trace is closed"):
            trial.writing[-1].log("more")
        holding.cancel()
        await asyncio.gather(holding, return_exceptions=True)

    asyncio.run(scene())
