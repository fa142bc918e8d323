from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dialeval.conversation.agent import Brief, Reply
from pytest_dialeval.conversation.converse import converse
from pytest_dialeval.conversation.python_agent import adapt
from pytest_dialeval.conversation.user import Line
from pytest_dialeval.errors import SimulatorFault
from pytest_dialeval.matching.matcher import matcher_from_function
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.suite import Limits
from pytest_dialeval.records.task import MatcherSpec, Persona, Probe, State, Transition
from pytest_dialeval.records.transcript import ToolCall, Transcript, Turn, Usage
from pytest_dialeval.traces.reader import read_trace
from pytest_dialeval.traces.writer import TraceWriter
from tests.conversation.stage import MATCHERS, Notes, Stub, draw, held, patient, persona, said, task
from tests.conversation.test_user import by_words, personas

BRIEFLY = persona(
    State("start", ("Hello?",), next=(Transition("bye"),)), State("bye", ("Bye.",), end=True)
)


async def echo(message: str) -> str:
    return message


def ending(transcript: Transcript) -> tuple[str, str, str]:
    return transcript.outcome, transcript.reason, transcript.ended_by


def test_the_user_opens_and_the_agent_answers_its_last_line():
    transcript = held(echo, BRIEFLY)
    assert [(each.id, each.speaker, each.text, each.round) for each in transcript.turns] == [
        (1, "user", "Hello?", 1),
        (2, "agent", "Hello?", 1),
        (3, "user", "Bye.", 2),
        (4, "agent", "Bye.", 2),
    ]
    assert ending(transcript) == ("completed", "the agent answered the user's last line", "user")


def test_the_agent_opens():
    transcript = held(echo, BRIEFLY, opening="agent")
    assert [(each.speaker, each.round) for each in transcript.turns][:3] == [
        ("agent", 0),
        ("user", 1),
        ("agent", 1),
    ]


def test_an_opening_moves_no_state():
    who = persona(
        State("start", ("x",), next=(Transition("end", MatcherSpec("keyword", {"any": ["hi"]})),))
    )
    assert said(
        held(lambda history: "hi" if not history else "no", who, opening="agent", max_rounds=2)
    ) == ["x", "x"]


def test_the_rounds_are_used_up():
    transcript = held(echo, max_rounds=3)
    assert len(transcript.turns) == 6
    assert ending(transcript) == ("limit_reached", "3 rounds", "limit")


def test_the_last_line_in_the_last_round_is_no_limit():
    assert held(echo, BRIEFLY, max_rounds=2).outcome == "completed"
    leaving = persona(State("start", ("x",), next=(Transition("end"),)))
    assert ending(held(echo, leaving, max_rounds=1)) == ("completed", "the user left", "user")


def test_the_agent_hangs_up():
    async def agent(message: str) -> Reply:
        return Reply("Goodbye.", hang_up=True)

    for opening, turns in (("user", 2), ("agent", 1)):
        transcript = held(agent, opening=opening)
        assert ending(transcript) == ("completed", "the agent hung up", "agent")
        assert len(transcript.turns) == turns


def test_all_that_a_reply_holds_is_in_the_turn():
    call, usage = ToolCall("look", {"id": 1}, "c1", "found"), Usage(3, None, 5, 0.01)

    async def agent(message: str) -> Reply:
        return Reply("x", tool_calls=(call,), usage=usage)

    turn = held(agent, max_rounds=1).turns[1]
    assert (turn.tool_calls, turn.usage) == ((call,), usage)
    assert turn.latency is not None and 0 <= turn.latency < 5


def test_a_turn_that_is_late_ends_it():
    async def agent(history: list[Any]) -> str:
        if len(history) > 1:
            await asyncio.Event().wait()
        return "x"

    transcript = held(agent, limits=Limits(turn_timeout=0.02))
    assert ending(transcript) == (
        "agent_error",
        "no answer within 0.02 s (limits.turn_timeout)",
        "",
    )
    assert said(transcript, "agent") == ["x"] and len(transcript.turns) == 3


def test_a_conversation_that_is_too_long_ends_too():
    async def agent(message: str) -> str:
        await asyncio.Event().wait()
        return ""

    transcript = held(agent, limits=Limits(timeout=0.02))
    assert transcript.outcome == "agent_error"
    assert transcript.reason == "the conversation took longer than 0.02 s (limits.timeout)"


def test_a_start_that_is_late_is_an_agent_error():
    async def hang() -> None:
        await asyncio.Event().wait()

    transcript = held(
        lambda: Stub(None, start=hang), adapted=True, limits=Limits(turn_timeout=0.02)
    )
    assert (transcript.outcome, transcript.turns) == ("agent_error", ())


def test_a_million_characters():
    assert len(held(lambda m: "x" * 10**6, max_rounds=1).turns[1].text) == 10**6


def test_text_is_cleaned_where_it_enters():
    transcript = held(lambda m: "a\x00\ud800", patient("b\x07"), max_rounds=1)
    assert [each.text for each in transcript.turns] == ["b", "a\ufffd"]


def test_what_an_agent_is_told():
    told: list[Any] = []

    class Agent:
        async def start(self, brief: Brief) -> None:
            brief.variables["fee"] = 99  # type: ignore[index]
            told.append(brief)

        async def reply(self, turns: Any) -> str:
            told.append(turns)
            return "x"

    who = replace(
        patient("x"), probes=(Probe("secret", "what now?", at_user_turn=2),), id="adversarial"
    )
    variables = {"fee": 3, "names": ["a"]}
    held(Agent, who, prompt="Be kind.", language="zh", variables=variables, max_rounds=3)
    brief = told[0]
    assert (brief.task, brief.prompt, brief.language) == ("task", "Be kind.", "zh")
    assert variables["fee"] == 3  # others share them
    shown = repr(told).lower()
    assert "what now?" in shown
    assert not [word for word in ("secret", "adversarial", "'start'", "probe='") if word in shown]


def test_all_agents_of_one_user_get_one_seed_and_never_one_name():
    briefs: list[Brief] = []

    class Agent:
        async def start(self, brief: Brief) -> None:
            briefs.append(brief)

        async def reply(self, message: str) -> str:
            return "x"

    held(Agent, max_rounds=1)
    held(Agent, max_rounds=1)
    held(Agent, max_rounds=1, seed="other")
    assert briefs[0].seed == briefs[1].seed != briefs[2].seed
    assert len({each.conversation for each in briefs}) == 3


def test_the_trace_is_written_as_it_goes():
    seen: list[list[str]] = []
    notes = Notes()

    async def agent(message: str) -> str:
        seen.append(notes.names.copy())
        return "x"

    transcript = held(agent, BRIEFLY, trace=notes, header={"trial_id": "t-1", "task": "task"})
    assert seen == [["start", "turn"], ["start", "turn", "turn", "turn"]]
    header = notes.events[0][1]
    assert (header["trial_id"], len(header["conversation"])) == ("t-1", 32)
    assert [each for name, each in notes.events if name == "turn"] == list(transcript.turns)
    assert notes.events[-1] == ("end", (*ending(transcript), ()))


def test_a_real_trace_reads_back_as_the_transcript(tmp_path: Path):
    def agent(message: str) -> dict[str, Any]:
        return {
            "text": "你好",
            "tool_calls": [{"name": "x", "arguments": {"a": [1, None]}, "result": "r"}],
            "usage": {"input_tokens": 3},
        }

    who = replace(BRIEFLY, probes=(Probe("p", "P", at_user_turn=1), Probe("q", "Q", on_state="z")))
    with TraceWriter(tmp_path / "t.jsonl") as trace:
        transcript = held(agent, who, trace=trace, header={"task": "task"})
    found = read_trace(tmp_path / "t.jsonl")
    assert found.transcript == transcript
    assert found.unsaid_probes == ("q",)


def test_errors_are_in_the_trace():
    notes = Notes()

    async def agent(message: str) -> str:
        raise ValueError("boom")

    transcript = held(agent, trace=notes)
    assert notes.names == ["start", "turn", "error", "end"]
    assert notes.events[2][1] == ("agent_error", transcript.reason)


@pytest.mark.parametrize("events", [0, 1, 2, 3])
def test_a_full_disk_is_our_fault_and_the_agent_is_closed(events: int):
    closed = threading.Event()

    async def close() -> None:
        closed.set()

    async def reply() -> Reply:
        return Reply("x")

    notes = Notes(full_after=events)
    transcript = held(lambda: Stub(reply, close=close), adapted=True, trace=notes)
    assert transcript.outcome == "harness_error"
    assert "No space left on device" in transcript.reason
    assert len(transcript.turns) == max(0, events - 1)
    assert closed.is_set() or not events


def test_a_line_without_words_voids_the_trial():
    transcript = held(echo, patient("\u200b"))
    assert ending(transcript)[:2] == (
        "simulator_error",
        "the simulated user's line of state 'start' is empty",
    )
    assert not transcript.turns


def test_a_matcher_of_the_users_that_raises_is_not_the_agents_fault():
    def broken(view: Any) -> bool:
        raise ValueError("no")

    matchers = {**MATCHERS, "broken": matcher_from_function("broken", broken)}
    who = persona(State("start", ("x",), next=(Transition("end", MatcherSpec("broken")),)))
    transcript = held(echo, who, matchers=matchers)
    assert ending(transcript)[:2] == ("harness_error", "matcher 'broken' raised ValueError: no")
    assert len(transcript.turns) == 2


class Actor:
    """A simulated user of the user's own."""

    unsaid: tuple[str, ...] = ()
    leaving = False

    def __init__(self, speak: Any) -> None:
        self._speak = speak

    def hear(self, turn: Turn) -> None:
        pass

    async def speak(self) -> Any:
        return await self._speak()


def acted(speak: Any, actor: type[Actor] = Actor, **limits: float) -> Transcript:
    return asyncio.run(
        converse(
            task(max_rounds=2),
            patient(),
            adapt(echo, name="a"),
            draw=draw(),
            matchers=MATCHERS,
            limits=Limits(**limits),  # type: ignore[arg-type]
            simulator=lambda *_: actor(speak),
        )
    )


def test_another_simulator_may_play_the_user():
    async def speak() -> Line:
        return Line("to be")

    assert said(acted(speak)) == ["to be", "to be"]


@pytest.mark.parametrize("error", [ValueError("x"), SimulatorFault("x"), SystemExit("x")])
def test_its_faults_are_never_the_agents(error: BaseException):
    async def speak() -> Line:
        raise error

    transcript = acted(speak)
    assert transcript.outcome == "simulator_error" and "x" in transcript.reason


def test_a_simulator_that_cannot_tell_what_is_unsaid_voids_the_trial():
    class Forgetful(Actor):
        @property
        def unsaid(self) -> tuple[str, ...]:  # type: ignore[override]
            raise ValueError("I forgot")

    async def speak() -> Line:
        return Line("to be")

    transcript = acted(speak, Forgetful)
    assert transcript.outcome == "simulator_error" and "I forgot" in transcript.reason
    assert transcript.turns


def test_its_lateness_is_its_own():
    async def speak() -> Line:
        await asyncio.Event().wait()
        return Line("")

    transcript = acted(speak, turn_timeout=0.02)
    assert transcript.outcome == "simulator_error" and "TimeoutError" in transcript.reason


def test_cancelling_closes_the_agent_writes_the_end_and_is_raised():
    notes, events = Notes(), []

    async def main() -> None:
        asked = asyncio.Event()

        async def reply() -> Reply:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                events.append("cancelled")
            return Reply()

        async def close() -> None:
            events.append("closed")

        talking = asyncio.create_task(
            converse(
                task(),
                patient(),
                lambda: Stub(reply, close=close),
                draw=draw(),
                matchers=MATCHERS,
                trace=notes,  # type: ignore[arg-type]
            )
        )
        await asked.wait()
        talking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await talking

    asyncio.run(main())
    assert events == ["cancelled", "closed"]
    assert notes.names == ["start", "turn", "error", "end"]
    assert notes.events[-1][1][0] == "cancelled"


def test_cancelling_is_quick_though_the_agent_will_not_close():
    async def main() -> float:
        asked = asyncio.Event()

        async def hang() -> Reply:
            asked.set()
            await asyncio.Event().wait()
            return Reply()

        talking = asyncio.create_task(
            converse(
                task(),
                patient(),
                lambda: Stub(hang, close=hang),
                draw=draw(),
                matchers=MATCHERS,
            )
        )
        await asked.wait()
        loop = asyncio.get_running_loop()
        began = loop.time()
        talking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await talking
        return loop.time() - began

    assert asyncio.run(main()) < 0.5


def test_no_task_is_left_over():
    async def main() -> int:
        agent = adapt(echo, name="a")
        await converse(task(), BRIEFLY, agent, draw=draw(), matchers=MATCHERS)
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1


def test_two_agents_meet_the_same_user():
    who = patient(*(f"line {n}" for n in range(30)))

    async def polite(message: str) -> str:
        return "Of course."

    async def rude(message: str) -> str:
        return "No."

    assert said(held(polite, who)) == said(held(rude, who))
    assert said(held(polite, who)) != said(held(polite, who, seed="other"))


@settings(max_examples=60, deadline=None)
@given(
    personas(),
    st.integers(1, 8),
    st.sampled_from(["agent", "user"]),
    st.integers(0, 99),
    st.lists(st.integers(1, 8), max_size=3, unique=True),
)
def test_any_script_is_held_to_an_end(
    who: Persona, rounds: int, opening: str, seed: int, turns: list[int]
):
    async def agent(message: str) -> str:
        return by_words(message)

    probed = replace(
        who, probes=tuple(Probe(f"p{turn}", f"P{turn}", at_user_turn=turn) for turn in turns)
    )
    transcript = held(agent, probed, seed=str(seed), max_rounds=rounds, opening=opening)
    spoken = transcript.turns
    assert transcript.outcome in ("completed", "limit_reached")
    assert [each.id for each in spoken] == list(range(1, len(spoken) + 1))
    first = ["agent", "user"] if opening == "agent" else ["user", "agent"]
    assert [each.speaker for each in spoken] == [first[n % 2] for n in range(len(spoken))]
    users = [each for each in spoken if each.speaker == "user"]
    assert len(users) <= rounds and spoken[-1].speaker == "agent"
    assert all(each.text.strip() for each in users)
    assert [each.round for each in users] == list(range(1, len(users) + 1))
    for place, each in enumerate(users, 1):
        assert (each.probe == f"p{place}") == (place in turns)


@settings(max_examples=30, deadline=None)
@given(personas(), st.integers(0, 99))
def test_the_draw_alone_decides(who: Persona, seed: int):
    async def agent(message: str) -> str:
        return by_words(message)

    once, again = (held(agent, who, seed=str(seed)) for _ in range(2))
    assert said(once) == said(again)
    assert Draw(str(seed), "task", "persona", 1) == draw(str(seed))
