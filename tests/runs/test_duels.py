"""Rounds of agents that work in a folder meet: what the comparer is shown of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pytest_dialeval.grading.comparer import RoundQuestion
from pytest_dialeval.records.match import Comparison, Match, Winner
from pytest_dialeval.records.transcript import Artifact, ToolCall, Transcript, Turn
from pytest_dialeval.records.work import PATCH, RoundWork
from pytest_dialeval.runs.duels import Asking, compare_all, duels

from .samples import planned, rubric, source

PATCHES = {"a": "+++ a.py\n+return 1\n", "b": "+++ b.py\n+return 2\n"}


@dataclass(frozen=True, slots=True)
class Known:
    """Transcripts by trial."""

    held: Mapping[str, Transcript]

    def of(self, trial: str) -> Transcript:
        return self.held[trial]

    def explain(self, error: Exception) -> str:
        return str(error)


@dataclass(slots=True)
class Comparer:
    """Prefers the left side; keeps what it was asked."""

    asked: list[RoundQuestion] = field(default_factory=list)

    async def __call__(self, question: RoundQuestion) -> tuple[Winner, Winner]:
        self.asked.append(question)
        return "A", "A"


def work(agent: str) -> Transcript:
    """The request, a line that quotes the agent's own file, and one that was written by hand."""
    lines = ("Fix it.", f"You changed {agent}.py: add a test.", "Say what is still open.")
    patch = Artifact(PATCH, PATCHES[agent], "text/x-diff")
    run = ToolCall("run", {"cmd": "pytest"}, result=f"{agent}: 1 passed")
    turns = [
        Turn(1, "user", lines[0], round=1, state="request"),
        Turn(2, "agent", "Fixed.", round=1, artifacts=(patch,)),
        Turn(3, "user", lines[1], round=2, state="add_tests"),
        Turn(4, "agent", "Tested.", round=2, tool_calls=(run,)),
        Turn(5, "user", lines[2], round=3, state="anchor"),
        Turn(6, "agent", "Nothing.", round=3),
    ]
    return Transcript(tuple(turns), work=(RoundWork(1, changed=True, files=(f"{agent}.py",)),))


def met(**transcripts: Transcript) -> tuple[list[Match], list[RoundQuestion]]:
    trials = {each: planned(agent=each) for each in transcripts}
    made = replace(
        source([rubric("r")], [*trials.values()]),
        compare=Comparison(by="judge"),
    )
    held = {trials[name].id: each for name, each in transcripts.items()}
    comparer = Comparer()
    asking = Asking(made, Known(held), comparer)  # type: ignore[arg-type]

    async def all_of() -> list[Match]:
        return [each async for each in compare_all(duels(asking), at_once=1)]

    found = asyncio.run(all_of())
    return sorted(found, key=lambda each: each.round or 0), comparer.asked


def test_each_round_is_a_match_with_the_patch_and_the_runs_of_both() -> None:
    found, asked = met(a=work("a"), b=work("b"))

    assert [(each.round, each.winner) for each in found] == [(1, "A"), (2, "A"), (3, "tie")]
    first, second = sorted(asked, key=lambda each: each.round)
    for side, agent in ((first.left, "a"), (first.right, "b")):
        assert side.answer[0].artifacts[0].text == PATCHES[agent]
    for side, agent in ((second.left, "a"), (second.right, "b")):
        assert side.answer[0].tool_calls[0].result == f"{agent}: 1 passed"


def test_a_line_that_quotes_the_agents_work_is_another_instruction() -> None:
    found, asked = met(a=work("a"), b=work("b"))

    assert [each.same_instruction for each in found] == [True, False, True]
    [second] = [each for each in asked if each.round == 2]
    assert second.left.instruction == "You changed a.py: add a test."
    assert second.right.instruction == "You changed b.py: add a test."


def test_answers_that_differ_in_the_patch_alone_are_not_the_same() -> None:
    one, other = work("a"), work("a")
    patched = replace(one.turns[1], artifacts=(Artifact(PATCH, PATCHES["b"]),))
    other = replace(other, turns=(other.turns[0], patched, *other.turns[2:]))

    found, asked = met(a=one, b=other)

    assert [each.round for each in asked] == [1]
    assert [each.why for each in found[1:]] == ["the answers are the same"] * 2


def test_rounds_that_one_of_them_did_not_reach_are_no_match() -> None:
    short = work("b")

    found, _ = met(a=work("a"), b=replace(short, turns=short.turns[:4]))

    assert [each.round for each in found] == [1, 2]
