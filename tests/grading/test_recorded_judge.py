"""A judge from a cassette: the same verdicts without a model, whatever is selected and when."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_dialeval.grading.grade import Dialogue, batched, grade
from pytest_dialeval.grading.model_judge import ModelJudge
from pytest_dialeval.models.cassette_file import merge, read_cassette
from pytest_dialeval.models.chat import Chat as AnyChat
from pytest_dialeval.models.recorder import Mode, Recorder
from pytest_dialeval.models.tape import Tape
from pytest_dialeval.records.transcript import Transcript
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.traces.redaction import Redaction

from .chats import SPEC, Chat, message, written
from .samples import TASK, run, talk
from .test_hostile_transcripts import HOSTILE, with_last
from .test_model_judge import FREE, compiled, entries, judged_rubric

RUBRICS = compiled(
    judged_rubric("a", batch=True),
    judged_rubric("b", batch=True),
    judged_rubric("voted", votes=3),
    judged_rubric("again"),
)
TALK = talk("user: Hi", "agent: Hello", "user: Price?", "agent: It is free of charge.", "user: Ok")


def model(call: object) -> str:
    """Batches with a gap, votes that differ, and a first reply that can't stand."""
    if "batch" in call.purpose:
        return entries(a=written("not_met", FREE))
    if call.purpose == "rubric again, vote 1":
        return written("met", (4, "costs nothing"))
    return written("not_met" if call.purpose.endswith("vote 2") else "met", FREE)


def recorder(folder: Path, mode: Mode, inner: AnyChat | None) -> Recorder:
    cassette = read_cassette(folder / "t.cassette.jsonl")
    tape = None if mode == "none" else Tape(folder / "part")
    return Recorder(inner, cassette, mode, name="t", redaction=Redaction({}), tape=tape)


def verdicts(chat: AnyChat, transcript: Transcript, names: Sequence[str]) -> dict[str, Verdict]:
    dialogue = Dialogue(transcript, TASK, "support-hesitant", 1, batched(RUBRICS))
    judge = ModelJudge(chat, SPEC)

    async def all_of_them() -> list[Verdict]:
        chosen = [next(each for each in RUBRICS if each.rubric.id == name) for name in names]
        return await asyncio.gather(*(grade(each, dialogue, judge) for each in chosen))

    return {each.rubric: each for each in run(all_of_them())}


ALL = ("a", "b", "voted", "again")


def record(folder: Path, transcript: Transcript) -> dict[str, Verdict]:
    found = verdicts(recorder(folder, "all", Chat(by=model)), transcript, ALL)
    merge(folder / "t.cassette.jsonl", [folder / "part"])
    return found


@pytest.mark.parametrize("text", ["Ok", *HOSTILE.values()], ids=["plain", *HOSTILE])
def test_what_was_recorded_is_judged_alike_without_a_model(tmp_path: Path, text: str) -> None:
    transcript = with_last(TALK, text)
    live = record(tmp_path, transcript)
    assert {name: each.status for name, each in live.items()} == {
        "a": "failed",
        "b": "passed",
        "voted": "passed",
        "again": "passed",
    }
    for names in (ALL, ALL[::-1], ("b",), ("again", "a")):
        replay = recorder(tmp_path, "none", None)
        assert verdicts(replay, transcript, names) == {each: live[each] for each in names}


def test_a_conversation_that_went_another_way_is_a_miss_and_no_verdict(tmp_path: Path) -> None:
    record(tmp_path, TALK)
    replay = recorder(tmp_path, "none", None)
    found = verdicts(replay, with_last(TALK, "No"), ALL)
    assert {(each.status, each.fault) for each in found.values()} == {
        ("unscored", "provider_error")  # nobody was asked: as by an agent or a user
    }


def test_a_recorder_without_a_model_is_the_harness_s_fault(tmp_path: Path) -> None:
    replay = recorder(tmp_path, "new", None)
    found = verdicts(replay, TALK, ("again",))["again"]
    assert (found.status, found.fault) == ("unscored", "harness_error")


def test_the_calls_of_a_trial_begin_alike(tmp_path: Path) -> None:
    chat = Chat(by=model)
    verdicts(chat, TALK, ALL)
    starts = {message(each)[: message(each).index(" criterion")] for each in chat.calls}
    assert len(starts) == 1
    assert len(chat.calls) == 7  # a batch, b alone, three votes, again twice
