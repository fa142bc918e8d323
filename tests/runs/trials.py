"""A trial to hold, and a grader to grade it, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.conversation.clock import LoopClock
from pytest_dialeval.conversation.python_agent import adapt
from pytest_dialeval.conversation.user import SimulatedUser
from pytest_dialeval.errors import RunError
from pytest_dialeval.grading.grade import compile_rubrics
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.suite import Limits
from pytest_dialeval.records.task import MatcherSpec, Persona, Script, State, Task, Transition
from pytest_dialeval.records.transcript import Recording, Transcript, Turn
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.grader import Grader, Held
from pytest_dialeval.runs.ledger import LedgerWriter, read_ledger
from pytest_dialeval.runs.trial import LiveTrial, held_recording
from tests.runs.samples import planned

MATCHERS = builtin_matchers()
TASK = Task("t")
PERSONA = Persona(
    "p",
    Script(
        {
            "start": State("start", ("How much is it?",), next=(Transition("bye"),)),
            "bye": State("bye", ("Thanks, bye.",), end=True),
        }
    ),
)
FREE = Rubric("free", "completion", MatcherSpec("keyword", {"any": ["free"]}))
CUBIC = MatcherSpec("regex", {"pattern": r"\w+\s*\w+\s*:"})  # the time it may take grows so
JUDGED = Rubric("polite", "completion", MatcherSpec("judge", {"criterion": "it is polite"}))
RECORDED = Transcript(
    (Turn(1, "user", "How much?", 1), Turn(2, "agent", "It is free.", 1)), recorded={"reward": 1}
)


def answer(message: str) -> str:
    return "It is free."


async def now(call: Callable[[], None]) -> None:
    call()


def grader_of(
    directory: RunDirectory,
    ledger: LedgerWriter,
    rubrics: Sequence[Rubric] = (FREE, JUDGED),
    **more: Any,
) -> Grader:
    compiled = {each.rubric.id: each for each in compile_rubrics(rubrics, MATCHERS)}
    keys = {"scoring": None, "judge": None, **more}
    return Grader(task=TASK, rubrics=compiled, directory=directory, ledger=ledger, **keys)


def live(grader: Grader, agent: object = answer, trial: PlannedTrial | None = None) -> LiveTrial:
    return LiveTrial(
        planned=trial or planned(),
        persona=PERSONA,
        agent=adapt(agent, name="agent"),
        seed="seed",
        limits=Limits(),
        header={"trial_id": "t.a.p-1", "task": "t", "trial": 1},
        matchers=MATCHERS,
        grader=grader,
        off_loop=now,
        isolated=False,
        simulator=SimulatedUser,
        clock=LoopClock(),
    )


def entries(directory: RunDirectory) -> list[tuple[str, str, int]]:
    """Outcome or status of each line of the ledger."""
    return [
        (each.kind, getattr(each.value, "outcome", None) or each.value.status, each.attempt)
        for each in read_ledger(directory.path / "ledger.main.jsonl")
    ]


def refuse_lines(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A disk that is full when the ledger wants to say this."""

    def full(self: LedgerWriter, *_: object) -> None:
        raise RunError("ledger.main.jsonl: cannot be written: No space left on device; free some")

    monkeypatch.setattr(LedgerWriter, kind, full)


def recorded(ledger: LedgerWriter, transcript: Transcript = RECORDED, attempt: int = 1) -> Held:
    recording = Recording("7", transcript, "/data/air.json", "ab" * 32, 3)
    trial = replace(planned(), attempt=attempt)
    grader = Grader(
        task=TASK,
        rubrics={},
        scoring=None,
        judge=None,
        directory=RunDirectory(Path("nowhere")),
        ledger=ledger,
    )
    return held_recording(trial, recording, grader, "data/air.json")
