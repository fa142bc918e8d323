"""How a rubric is written, all but its method: that key is a matcher's name, or judge."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field

from pytest_dialeval.records.rubric import Severity
from pytest_dialeval.records.verdict import DIMENSIONS, Dimension
from pytest_dialeval.suites.form import (
    Flag,
    Form,
    Id,
    Line,
    Name,
    Positive,
    RawSpec,
    RubricId,
    Share,
    Whole,
    Words,
    one_of,
)

Then = Literal["after", "all"]


class TriggerForm(Form):
    """When a rubric counts: exactly one of probe, state, user_keyword, when."""

    noun: ClassVar[str] = "a trigger"

    probe: Name | None = Field(None, description="once this probe was said")
    state: Name | None = Field(None, description="once the user was in this state")
    user_keyword: Words | None = Field(None, description="once the user said one of these")
    when: RawSpec | None = Field(None, description="once this matcher holds")
    then: Annotated[Then, one_of(*get_args(Then))] = Field(
        "after", description="whether only later turns are searched, or all"
    )


class LevelForm(Form):
    """One level of a graded judgement."""

    noun: ClassVar[str] = "a level"

    name: Line = Field(description="the level's name")
    score: Share | None = Field(
        description="what the level is worth; null where there is nothing to be graded, and the "
        "rubric is not applicable"
    )
    example: Line = Field(description="an answer that stands on this level")


class JudgeForm(Form):
    """A criterion that the judge decides."""

    noun: ClassVar[str] = "a judge question"

    criterion: Line = Field(description="a statement that is met or not met")
    levels: list[LevelForm] | None = Field(
        None, description="grades instead of met and not met", min_length=2
    )
    votes: Whole | None = Field(None, description="how many votes are taken")
    batch: Flag | None = Field(None, description="whether it may share a call with others")


class RubricForm(Form):
    """One criterion: its dimension, one method, and how much it counts."""

    noun: ClassVar[str] = "a rubric"

    id: RubricId = Field(description="its name in node ids; `score` is reserved")
    dimension: Annotated[Dimension, one_of(*DIMENSIONS)] = Field(
        description="completion, robustness or safety"
    )
    weight: Positive = Field(1.0, description="its part in the score of its dimension")
    severity: Annotated[Severity, one_of(*get_args(Severity))] = Field(
        "hard", description="whether a failure fails the item, or is only reported (soft)"
    )
    trigger: TriggerForm | None = Field(None, description="when it counts; always without one")
    min: Share = Field(1.0, description="the score from which it passes")
    tags: list[Id] = Field([], description="words to select it by: -m 'dialeval(tag=...)'")
