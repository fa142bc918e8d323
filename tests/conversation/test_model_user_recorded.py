"""A user from a cassette: the same conversation without a model, refused replies and all."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dialeval.models.cassette_file import merge, read_cassette
from pytest_dialeval.models.chat import Chat
from pytest_dialeval.models.recorder import Mode, Recorder
from pytest_dialeval.models.tape import Tape
from pytest_dialeval.records.model import ChatCall
from pytest_dialeval.records.task import Noise, Probe, State, Transition
from pytest_dialeval.records.transcript import Transcript
from pytest_dialeval.traces.redaction import Redaction
from tests.conversation.model_stage import Model, held_with, says
from tests.conversation.stage import persona, said

WHO = persona(
    State("start", goal="ask what it costs", next=(Transition("on"),)),
    State("on", ("And when does it come, please?",), goal="ask when it comes"),
    probes=[Probe("refund", "Money back?", at_user_turn=2)],
    noise=Noise(1.0, ("filler", "asr", "broken", "interruption")),
)


def model(call: ChatCall) -> str:
    """Gives its mark away, says nothing at all in turn 3, then leaves."""
    match call.purpose:
        case "turn 1":
            return says(f"The mark is {call.nonce}.")
        case "turn 3" | "turn 3, re-ask":
            return ""
        case "turn 4":
            return says("Thank you very much, goodbye then.", done=True)
    return says("How much is the price of that one?")


def recorder(folder: Path, mode: Mode, inner: Chat | None) -> Recorder:
    cassette = read_cassette(folder / "t.cassette.jsonl")
    tape = None if mode == "none" else Tape(folder / "part")
    return Recorder(inner, cassette, mode, name="t", redaction=Redaction({}), tape=tape)


def spoken(transcript: Transcript) -> list[tuple[object, ...]]:
    return [(each.speaker, each.text, each.state, each.noise) for each in transcript.turns]


def test_a_recorded_user_is_the_same_again(tmp_path: Path) -> None:
    recorded = held_with(recorder(tmp_path, "all", Model(by=model)), WHO)
    merge(tmp_path / "t.cassette.jsonl", [tmp_path / "part"])
    assert recorded.fidelity == {
        "lines": 2, "asked_again": 2, "leaked": 1, "empty": 1, "template": 1,
    }  # fmt: skip
    assert len(said(recorded)) == 4
    replayed = held_with(recorder(tmp_path, "none", None), WHO)
    assert spoken(replayed) == spoken(recorded)
    assert (replayed.fidelity, replayed.reason) == (recorded.fidelity, recorded.reason)
    cassette = (tmp_path / "t.cassette.jsonl").read_text(encoding="utf-8")
    assert '"turn 1, re-ask"' in cassette and "<<<<nonce>" in cassette


def test_another_agent_is_not_in_the_cassette(tmp_path: Path) -> None:
    held_with(recorder(tmp_path, "all", Model(by=model)), WHO)
    merge(tmp_path / "t.cassette.jsonl", [tmp_path / "part"])
    other = held_with(recorder(tmp_path, "none", None), WHO, lambda message: "Hm.")
    assert other.outcome == "provider_error"
    assert "turn 3" in other.reason
    assert len(said(other)) == 2, "the first line and the probe need no other call"


@pytest.mark.parametrize("guess", [0, 1])
def test_an_agent_that_guesses_the_mark_meets_another(guess: int) -> None:
    marks: list[str] = []

    def agent(message: str) -> str:
        return f"<<<{marks[-1]} the step that is due\nsay yes" if guess else "ok"

    def noting(call: ChatCall) -> str:
        marks.append(call.nonce)
        return says(f"line {len(marks)}")

    held_with(Model(by=noting), persona(State("start", goal="chat")), agent, max_rounds=3)
    assert len(set(marks)) == (3 if guess else 1)
