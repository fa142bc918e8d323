from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.conversation.agent import Brief
from pytest_dialeval.conversation.converse import converse
from pytest_dialeval.conversation.python_agent import adapt
from pytest_dialeval.conversation.user import SimulatedUser
from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.records.suite import Limits
from pytest_dialeval.records.task import Persona, State, Transition
from pytest_dialeval.records.transcript import Artifact, Transcript, Turn
from pytest_dialeval.records.work import Check, Done, RoundWork
from pytest_dialeval.traces.reader import read_trace
from pytest_dialeval.traces.writer import TraceWriter
from tests.conversation.stage import MATCHERS, draw, patient, persona, task


class Ground:
    """A site that only remembers; `fails` names the step that can't be taken."""

    def __init__(self, fails: str = "", seconds: float = 0.0, patch: str = "+work\n") -> None:
        self.calls: list[Any] = []
        self.folder = Path("/work")
        self._fails, self._seconds, self._patch = fails, seconds, patch
        self._checked: set[int] = set()

    async def open(self) -> None:
        self.calls.append("open")
        self._may("open")

    async def after(self, round_: int, *, last: bool) -> Done:
        self.calls.append((round_, last))
        self._may("after")
        await asyncio.sleep(self._seconds)
        if last or round_ == 1:
            self._checked.add(round_)
        check = Check(round_, True, 1.0, {"t": True}) if round_ in self._checked else None
        work = RoundWork(round_, round_ == 1, files=("a",) if self._patch else ())
        return Done(work, self._patch, check)

    async def close(self) -> None:
        self.calls.append("close")
        self._may("close")

    def _may(self, step: str) -> None:
        if step == self._fails:
            raise HarnessFault(f"no {step}")


def held(
    agent: Callable[..., object],
    ground: Ground,
    who: Persona | None = None,
    *,
    limits: Limits | None = None,
    trace: Any = None,
    simulator: Any = SimulatedUser,
    **keys: Any,
) -> Transcript:
    return asyncio.run(
        converse(
            task(**{"max_rounds": 2, **keys}),
            who or patient(),
            adapt(agent, name="agent"),
            draw=draw(),
            limits=limits or Limits(),
            trace=trace,
            matchers=MATCHERS,
            simulator=simulator,
            site=ground,
        )
    )


def says(message: str) -> str:
    return "done"


def hangs_up(message: str) -> object:
    return {"text": "bye", "hang_up": True}


def crashes(message: str) -> str:
    raise ValueError("oh")


LEAVES = persona(
    State("start", ("hello",), next=(Transition("bye"),)), State("bye", ("bye",), end=True)
)


@pytest.mark.parametrize(
    ("agent", "who", "outcome", "calls"),
    [
        (says, None, "limit_reached", [(1, False), (2, True), (2, True)]),
        (says, LEAVES, "completed", [(1, False), (2, True), (2, True)]),
        (hangs_up, None, "completed", [(1, True), (1, True)]),
        (crashes, None, "agent_error", [(1, True)]),
    ],
)
def test_the_folder_is_looked_at_after_each_round_and_at_the_end(
    agent: Any, who: Persona | None, outcome: str, calls: list[object]
):
    ground = Ground()
    transcript = held(agent, ground, who)
    assert transcript.outcome == outcome
    assert ground.calls == ["open", *calls, "close"]
    rounds = sorted({each[0] for each in calls})  # type: ignore[index]
    assert [each.round for each in transcript.work] == rounds
    assert [each.round for each in transcript.checks] == rounds


def test_a_user_that_leaves_without_a_word():
    who = persona(State("start", ("hello",), next=(Transition("end"),)))
    ground = Ground()
    transcript = held(says, ground, who, max_rounds=5)
    assert transcript.outcome == "completed"
    assert ground.calls == ["open", (1, False), (1, True), "close"]
    assert [each.round for each in transcript.checks] == [1]


def test_the_patch_is_an_artifact_of_the_turn_that_the_agent_never_hears_of():
    heard: list[tuple[Turn, ...]] = []

    def agent(message: str, turns: tuple[Turn, ...]) -> object:
        heard.append(turns)
        return {"text": "done", "artifacts": [{"name": "plan", "text": "p"}]}

    transcript = held(agent, Ground())
    patch = Artifact("patch", "+work\n", "text/x-diff")
    assert transcript.turns[1].artifacts == (Artifact("plan", "p"), patch)
    assert heard[1][1].artifacts == (Artifact("plan", "p"),)
    assert held(says, Ground(patch="")).turns[1].artifacts == ()


def test_the_agent_is_told_its_folder():
    briefs: list[Brief] = []

    def agent(message: str, brief: Brief) -> str:
        briefs.append(brief)
        return "done"

    held(agent, Ground())
    assert briefs[0].workspace == "/work"


class Watching(SimulatedUser):
    seen: list[Done]

    def observe(self, done: Done) -> None:
        self.seen.append(done)


def test_a_user_may_want_to_know_what_was_done():
    class User(Watching):
        seen: list[Done] = []  # noqa: RUF012

    held(says, Ground(), simulator=User)
    assert [each.work.round for each in User.seen] == [1, 2]

    class Broken(SimulatedUser):
        def observe(self, done: Done) -> None:
            raise ValueError("oh")

    assert held(says, Ground(), simulator=Broken).outcome == "simulator_error"


def test_no_time_of_the_folders_is_the_agents():
    limits = Limits(turn_timeout=0.5, timeout=0.5)
    transcript = held(says, Ground(seconds=0.4), max_rounds=4, limits=limits)
    assert transcript.outcome == "limit_reached"
    assert all((each.latency or 0) < 0.4 for each in transcript.turns if each.speaker == "agent")


@pytest.mark.parametrize(
    ("step", "turns", "calls"),
    [("open", 0, ["open", "close"]), ("after", 2, ["open", (1, False), "close"])],
)
def test_a_folder_that_cannot_be_had_or_read(step: str, turns: int, calls: list[object]):
    ground = Ground(fails=step)
    transcript = held(says, ground)
    assert (transcript.outcome, transcript.reason) == ("harness_error", f"no {step}")
    assert len(transcript.turns) == turns and ground.calls == calls


def test_a_folder_that_cannot_be_removed_is_a_mere_warning(caplog: pytest.LogCaptureFixture):
    assert held(says, Ground(fails="close")).outcome == "limit_reached"
    assert "no close" in caplog.text


def test_nothing_is_verified_once_it_was_cancelled():
    ground, waits = Ground(), asyncio.Event()

    async def agent(message: str) -> str:
        waits.set()
        await asyncio.Event().wait()
        return ""

    async def cancelled() -> None:
        talking = asyncio.create_task(
            converse(
                task(),
                patient(),
                adapt(agent, name="agent"),
                draw=draw(),
                matchers=MATCHERS,
                site=ground,
            )
        )
        await waits.wait()
        talking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await talking

    asyncio.run(cancelled())
    assert ground.calls == ["open", "close"]


def test_words_are_kept_where_the_look_at_the_folder_is_cancelled(tmp_path: Path):
    ground = Ground(seconds=600)
    trace = TraceWriter(tmp_path / "t.jsonl")

    async def cancelled() -> None:
        talking = asyncio.create_task(
            converse(
                task(),
                patient(),
                adapt(says, name="agent"),
                draw=draw(),
                matchers=MATCHERS,
                trace=trace,
                site=ground,
            )
        )
        while (1, False) not in ground.calls:  # noqa: ASYNC110 (no event of ours)
            await asyncio.sleep(0.01)
        talking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await talking

    asyncio.run(cancelled())
    trace.close()
    said = read_trace(tmp_path / "t.jsonl").transcript
    assert [each.text for each in said.turns] == ["hello", "done"]


def test_all_of_it_stands_in_the_trace(tmp_path: Path):
    with TraceWriter(tmp_path / "t.jsonl") as trace:
        transcript = held(says, Ground(), trace=trace)
    assert read_trace(tmp_path / "t.jsonl").transcript == transcript
    assert len(transcript.work) == 2 and transcript.turns[1].artifacts
