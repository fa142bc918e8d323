"""A model's conversation with tools, recorded once, is held again without a model."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pytest_dialeval.conversation.resolve import agent_factory
from pytest_dialeval.models.cassette_file import merge, read_cassette
from pytest_dialeval.models.recorder import Mode, Recorder
from pytest_dialeval.models.tape import Tape
from pytest_dialeval.records.model import ChatAnswer, ModelToolCall
from pytest_dialeval.records.suite import AgentSpec
from pytest_dialeval.records.transcript import Transcript, Turn
from pytest_dialeval.traces.redaction import Redaction
from tests.conversation.stage import MATCHERS, conversing
from tests.models.scripted_chat import ScriptedChat

CALL = ChatAnswer("Let me see.", (ModelToolCall("c1", "price", '{"item": "tea"}'),))
ANSWERS = (CALL, "4 euros.", "Bye.", CALL, "Still 4 euros.", "Good bye.")


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    source = "calls = []\n\n\ndef price(item):\n    calls.append(item)\n    return 4\n"
    (tmp_path / "shop.py").write_text(source)
    return tmp_path / "shop.cassette.jsonl"


def held(cassette: Path, mode: Mode, model: ScriptedChat | None) -> list[Transcript]:
    """Two trials of two rounds, in one run."""
    tape = Tape(cassette.with_name("tape"))
    recorder = Recorder(
        model,
        read_cassette(cassette),
        mode,
        name=cassette.name,
        redaction=Redaction({}),
        tape=tape if mode == "new" else None,
    )
    spec = AgentSpec("a", "openai:m", {"tools": ["python:shop.py:price"]}, str(cassette.parent))
    make = agent_factory(spec, rootdir=cassette.parent, matchers=MATCHERS, chat=recorder)

    async def story() -> list[Transcript]:
        order = (1, 2) if model else (2, 1)
        talks = {each: await conversing(make, trial=each, max_rounds=2) for each in order}
        return [talks[1], talks[2]]

    transcripts = asyncio.run(story())
    tape.close()
    merge(cassette, [tape.path])
    tape.path.unlink(missing_ok=True)
    return transcripts


def said(transcript: Transcript) -> list[tuple[object, ...]]:
    def facts(turn: Turn) -> tuple[object, ...]:
        return turn.text, turn.tool_calls, turn.usage

    assert transcript.outcome == "limit_reached", transcript.reason
    return [facts(each) for each in transcript.turns]


def test_replayed_in_another_order_it_is_the_same(cassette: Path):
    model = ScriptedChat(*ANSWERS)
    recorded = held(cassette, "new", model)
    assert [each.purpose for each in model.calls] == ["turn 2", "turn 2, step 2", "turn 4"] * 2
    replayed = held(cassette, "none", None)
    assert list(map(said, replayed)) == list(map(said, recorded))
    assert said(recorded[0])[1][0] == "Let me see.\n4 euros."


def test_a_tool_that_answers_otherwise_is_a_miss_and_not_a_failure(cassette: Path):
    held(cassette, "new", ScriptedChat(*ANSWERS))
    changed = "def price(item):\n    return 5\n"
    other = cassette.parent / "other"
    other.mkdir()
    (other / "shop.py").write_text(changed)
    moved = cassette.rename(other / cassette.name)
    [first, _] = held(moved, "none", None)
    assert first.outcome == "provider_error"
    assert "has no reply for agent, turn 2, step 2" in first.reason
    assert "what differs: messages[2]" in first.reason
