"""A trial from its first word to its verdicts on disk."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.conversation.clock import LoopClock
from pytest_dialeval.conversation.python_agent import adapt
from pytest_dialeval.conversation.user import SimulatedUser
from pytest_dialeval.errors import RunError
from pytest_dialeval.grading.grade import compile_rubrics, grade_by_rule
from pytest_dialeval.grading.judge import Judge, JudgeQuestion, JudgeReply
from pytest_dialeval.grading.rule_thread import RuleThread
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.rubric import Rubric, Trigger
from pytest_dialeval.records.suite import Limits, Scoring
from pytest_dialeval.records.task import MatcherSpec, Persona, Script, State, Task, Transition
from pytest_dialeval.records.transcript import OUTCOMES, Outcome, Recording, Transcript, Turn
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.ledger import LedgerWriter, read_ledger
from pytest_dialeval.runs.trial import Grader, Held, LiveTrial, held_recording, held_without
from pytest_dialeval.traces.reader import read_trace
from tests.conversation.model_stage import Model, says, simulator
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


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    made = RunDirectory(tmp_path / "runs" / "20260102-030405-abcdef")
    made.create()
    return made


@pytest.fixture
def ledger(directory: RunDirectory) -> Iterator[LedgerWriter]:
    writer = LedgerWriter(directory.path / "ledger.main.jsonl")
    yield writer
    writer.close()


@pytest.fixture
def grader(directory: RunDirectory, ledger: LedgerWriter) -> Grader:
    return grader_of(directory, ledger)


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


def test_the_trace_is_closed_off_the_loop(grader: Grader) -> None:
    closed = []

    async def elsewhere(call: Callable[[], None]) -> None:
        closed.append(call)
        call()

    asyncio.run(replace(live(grader), off_loop=elsewhere).hold())
    assert len(closed) == 1


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
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

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


# ---- grading


def test_a_verdict_is_in_the_ledger_before_anybody_sees_it(
    directory: RunDirectory, grader: Grader, ledger: LedgerWriter
) -> None:
    held = recorded(ledger)
    graded = asyncio.run(grader.grade(held, "free"))
    assert (graded.verdict.status, graded.conversation) == ("passed", held.conversation)
    assert [each.id for each in graded.excerpt] == [1, 2]
    assert graded.transcript is None
    assert entries(directory)[1:] == [("verdict", "passed", 1)]
    assert grader.grade_now(held, "free") == graded


def test_a_judge_is_asked_and_without_one_it_is_said(
    directory: RunDirectory, ledger: LedgerWriter
) -> None:
    async def judge(question: JudgeQuestion) -> JudgeReply:
        return JudgeReply("not_met", "it is curt", absence=True)

    async def statuses(given: Judge | None) -> str:
        grader = grader_of(directory, ledger, judge=given)
        return (await grader.grade(recorded(ledger), "polite")).verdict.reason

    assert asyncio.run(statuses(judge)) == "it is curt"
    assert asyncio.run(statuses(None)) == "no judge is configured"
    assert [each[1] for each in entries(directory) if each[0] == "verdict"] == [
        "failed",
        "unscored",
    ]


def test_a_verdict_that_the_ledger_does_not_hold_is_not_known(
    grader: Grader, ledger: LedgerWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = recorded(ledger)
    refuse_lines(monkeypatch, "verdict")
    for graded in (asyncio.run(grader.grade(held, "free")), grader.grade_now(held, "free")):
        assert (graded.verdict.status, graded.verdict.fault) == ("unscored", "harness_error")
        assert "No space left" in graded.verdict.reason
        assert graded.verdict.rubric == "free"


# ---- a decorated test's body


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_body_runs_only_where_there_is_something_to_see(
    directory: RunDirectory, ledger: LedgerWriter, outcome: Outcome
) -> None:
    grader = grader_of(directory, ledger, body="test_fee")
    told = replace(RECORDED, outcome=outcome, reason="so it is")
    graded = asyncio.run(grader.grade(recorded(ledger, told), "test_fee"))
    filed = [each[1] for each in entries(directory) if each[0] == "verdict"]
    if outcome in ("completed", "limit_reached"):
        assert (graded.verdict.status, filed) == ("passed", [])  # the body decides for itself
        assert graded.transcript == told
    elif outcome == "agent_error":
        assert (graded.verdict.status, filed) == ("failed", [])
        assert graded.verdict.reason == "the agent failed: so it is"
        assert [each.id for each in graded.excerpt] == [1, 2]
    else:
        assert (graded.verdict.status, graded.verdict.fault) == ("unscored", outcome)
        assert (graded.verdict.reason, filed) == ("so it is", ["unscored"])


# ---- the result


def result(directory: RunDirectory) -> Any:
    return json.loads((directory.traces / "t.a.p-1.result.json").read_bytes())


def test_a_result_holds_verdicts_and_score(directory: RunDirectory, ledger: LedgerWriter) -> None:
    grader = grader_of(directory, ledger, scoring=Scoring(pass_on="free"))
    held = recorded(ledger)
    graded = [asyncio.run(grader.grade(held, each)) for each in ("free", "polite")]
    grader.finish(held, graded)
    found = result(directory)
    assert found.keys() == {"schema", "conversation", "verdicts", "score"}
    assert found["schema"] == "dialeval.result/1"
    assert found["conversation"]["recording"] == "data/air.json#3"
    assert [(each["rubric"], each["status"]) for each in found["verdicts"]] == [
        ("free", "passed"),
        ("polite", "unscored"),
    ]
    assert found["verdicts"][0]["evidence"] == [
        {"turn": 2, "quote": "free", "start": 6, "part": "text"}
    ]
    assert (found["score"]["measured"], found["score"]["passed"]) == (False, None)
    assert found["score"]["why"] == "polite is unscored: no judge is configured"


def test_the_score_of_a_decorated_trial_is_left_to_its_body(
    directory: RunDirectory, ledger: LedgerWriter
) -> None:
    grader = grader_of(directory, ledger, body="test_fee")
    held = recorded(ledger)
    graded = [asyncio.run(grader.grade(held, each)) for each in ("test_fee", "free")]
    grader.finish(held, graded)
    assert [each["rubric"] for each in result(directory)["verdicts"]] == ["free"]
    assert result(directory)["score"] is None


def test_a_later_attempt_leaves_the_first_result(
    directory: RunDirectory, grader: Grader, ledger: LedgerWriter
) -> None:
    for attempt, words in ((1, "No idea."), (2, "It is free.")):
        told = Transcript((Turn(1, "user", "?", 1), Turn(2, "agent", words, 1)))
        held = recorded(ledger, told, attempt)
        grader.finish(held, [grader.grade_now(held, "free")])
    assert result(directory)["verdicts"][0]["status"] == "failed"
    assert [each[1:] for each in entries(directory) if each[0] == "verdict"] == [
        ("failed", 1),
        ("passed", 2),
    ]


def test_a_result_that_cannot_be_written_costs_no_verdict(
    directory: RunDirectory, grader: Grader, ledger: LedgerWriter
) -> None:
    held = recorded(ledger)
    graded = [grader.grade_now(held, "free")]
    directory.traces.rmdir()
    grader.finish(held, graded)
    assert entries(directory)[1:] == [("verdict", "passed", 1)]


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


@pytest.mark.parametrize(
    ("rubric", "users_matchers", "said", "beside"),
    [
        (FREE, False, "It is free.", False),
        (FREE, True, "It is free.", True),
        (FREE, False, "free " * 5_000, True),
        (replace(FREE, spec=MatcherSpec("regex", {"pattern": "fre+"})), False, "free", False),
        (replace(FREE, spec=CUBIC), False, "It is free:", True),
        (replace(FREE, trigger=Trigger(when=CUBIC, then="all")), False, "It is free:", True),
    ],
)
def test_rules_that_may_take_long_decide_beside_the_loop(
    directory: RunDirectory,
    ledger: LedgerWriter,
    monkeypatch: pytest.MonkeyPatch,
    rubric: Rubric,
    users_matchers: bool,
    said: str,
    beside: bool,
) -> None:
    threads = []

    def noting(*given: Any) -> Any:
        threads.append(threading.current_thread().name)
        return grade_by_rule(*given)

    monkeypatch.setattr("pytest_dialeval.runs.trial.grade_by_rule", noting)
    monkeypatch.setattr("pytest_dialeval.grading.grade.grade_by_rule", noting)
    rules = RuleThread(LoopClock())
    grader = grader_of(directory, ledger, (rubric,), rules=rules, users_matchers=users_matchers)
    held = recorded(ledger, Transcript((Turn(1, "agent", said, 1),)))
    assert asyncio.run(grader.grade(held, "free")).verdict.status == "passed"
    assert (threads == ["dialeval-rules"]) == beside
    assert not rules.close(10)
