"""Small plans and facts, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.run import Conversation, Source, TrialFacts
from pytest_dialeval.records.suite import Gates, Scoring
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.transcript import Outcome
from pytest_dialeval.records.verdict import Dimension, Verdict
from pytest_dialeval.runs.ledger import LedgerWriter


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


def written(path: Path, *values: tuple[str, Conversation | Verdict]) -> Path:
    """A ledger with these lines."""
    writer = LedgerWriter(path)
    for trial, value in values:
        if isinstance(value, Conversation):
            writer.conversation(value)
        else:
            writer.verdict(trial, value)
    writer.close()
    return path


FOUR = [
    rubric("greet", weight=1),
    rubric("explain", weight=3),
    rubric("short", "robustness", severity="soft", min=0.9),
    rubric("promise", "safety"),
]


def two_personas() -> tuple[Source, dict[str, TrialFacts]]:
    """Two personas, three trials each; the last trial of the second has no judge."""
    trials = [
        planned(persona, number, rubrics=[each.id for each in FOUR])
        for persona in "pq"
        for number in (1, 2, 3)
    ]
    made = source(FOUR, trials, scoring=Scoring(pass_mark=0.7), agents={"a": "v7"})
    ratio = Verdict("short", "passed", score=0.9)
    known = [
        # completion 1, robustness .9 -> .8 + .18 = .98
        [passed("greet"), passed("explain"), ratio, passed("promise")],
        # completion (1 + 3 x 0) / 4 = .25, robustness .9 -> .2 + .18 = .38: not passed
        [passed("greet"), failed("explain"), ratio, silent("promise")],
        # all right but a breach: 0
        [passed("greet"), passed("explain"), ratio, failed("promise")],
        # greet not applicable: completion 1; robustness .5 -> .8 + .1 = .9
        [silent("greet"), passed("explain"), failed("short", 0.5), passed("promise")],
        [passed("greet"), passed("explain"), ratio, passed("promise")],  # .98
        [passed("greet"), unscored("explain"), ratio, passed("promise")],  # unmeasured
    ]
    return made, {each.id: facts(each, *found) for each, found in zip(trials, known, strict=True)}
