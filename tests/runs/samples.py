"""Small plans and facts, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.run import Conversation, Source, TrialFacts
from pytest_dialeval.records.suite import Gates
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.transcript import Outcome
from pytest_dialeval.records.verdict import Dimension, Verdict


def rubric(name: str, dimension: Dimension = "completion", **more: Any) -> Rubric:
    return Rubric(name, dimension, MatcherSpec("keyword", {"any": ["x"]}), **more)


def passed(name: str, score: float = 1.0) -> Verdict:
    return Verdict(name, "passed", score=score)


def failed(name: str, score: float = 0.0) -> Verdict:
    return Verdict(name, "failed", score=score)


def silent(name: str) -> Verdict:
    return Verdict(name, "not_applicable", reason="its trigger never fired")


def unscored(name: str, fault: Outcome = "judge_error") -> Verdict:
    return Verdict(name, "unscored", reason="cannot tell", fault=fault)


def planned(
    persona: str = "p",
    number: int = 1,
    *,
    agent: str = "a",
    rubrics: Sequence[str] = ("r",),
    task: str = "t",
) -> PlannedTrial:
    return PlannedTrial(
        id=f"{task}.{agent}.{persona}-{number}",
        suite="s.dialeval.yaml",
        task=task,
        agent=agent,
        persona=persona,
        number=number,
        rubrics=tuple(rubrics),
        name=f"{persona}-{number}",
    )


def source(
    rubrics: Sequence[Rubric],
    trials: Sequence[PlannedTrial],
    *,
    selected: Mapping[str, Sequence[str]] | None = None,
    **more: Any,
) -> Source:
    """A suite of which everything is selected, unless said otherwise."""
    chosen = {each.id: each.rubrics for each in trials} if selected is None else selected
    made = Source(
        name="s.dialeval.yaml",
        suite="s.dialeval.yaml",
        sha256="ab" * 32,
        files={"s.dialeval.yaml": "ab" * 32},
        task="t",
        version="3",
        title="A task",
        seed="t",
        scoring=None,
        gates=Gates(),
        rubrics=tuple(rubrics),
        agents={each.agent: None for each in trials},
        uses={each.agent: "scripted" for each in trials},
        trials=tuple(trials),
        selected={trial: tuple(each) for trial, each in chosen.items()},
    )
    return replace(made, **more)


def conversation(trial: str, outcome: Outcome = "completed", **more: Any) -> Conversation:
    return Conversation(trial, outcome, **more)


def facts(trial: PlannedTrial, *verdicts: Verdict, outcome: Outcome = "completed") -> TrialFacts:
    return TrialFacts(conversation(trial.id, outcome), {each.rubric: each for each in verdicts})
