"""How a task is written."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, get_args

from pydantic import Field

from pytest_dialeval.records.task import Opening
from pytest_dialeval.suites.form import (
    Flag,
    Form,
    Language,
    LooseText,
    Name,
    RubricId,
    Text,
    Whole,
    must,
    one_of,
)
from pytest_dialeval.suites.rounds_form import RoundsForm
from pytest_dialeval.suites.work_form import AnyVerifier, AnyWorkspace


def _is_plain(value: object) -> bool:
    finite = not isinstance(value, float) or math.isfinite(value)
    return isinstance(value, str | int | float) and finite


Variable = Annotated[
    str | int | float | bool, must(_is_plain, "text, a finite number, true or false")
]
Edge = Annotated[
    list[Name],
    must(lambda value: isinstance(value, list) and len(value) == 2, "two node ids, [from, to]"),
    Field(min_length=2, max_length=2),
]


class FlowNodeForm(Form):
    """A step that the conversation should pass."""

    noun: ClassVar[str] = "a flow node"

    id: Name = Field(description="the step's name")
    rubric: RubricId | None = Field(
        None, description="the rubric that shows whether the step was passed"
    )
    optional: Flag = Field(False, description="whether a conversation may leave the step out")
    title: Text = Field("", description="how reports name the step; its id where it is empty")


class FlowForm(Form):
    """The steps and their order; drawn and checked, never executed."""

    noun: ClassVar[str] = "a flow"

    nodes: list[FlowNodeForm] = Field([], description="the steps")
    edges: list[Edge] = Field([], description="which step may follow which: [from, to]")


class TaskForm(Form):
    """What the agent is asked to do."""

    noun: ClassVar[str] = "a task"

    id: Name = Field(description="the task's name in reports and stored runs")
    version: LooseText = Field(
        "1", description="change it whenever results stop being comparable; quote 1.10"
    )
    title: Text = Field("", description="how reports name the task; its id where it is empty")
    language: Language = Field("en", description="the language spoken, such as en or zh")
    opening: Annotated[Opening, one_of(*get_args(Opening))] = Field(
        "user", description="who speaks first"
    )
    max_rounds: Whole = Field(12, description="the most user messages in a conversation")
    variables: dict[Name, Variable] = Field(
        {}, description="values that {name} stands for in the prompt and in the user's lines"
    )
    prompt: Text = Field("", description="what the agent is told; {name} is filled in")
    flow: FlowForm = Field(FlowForm(), description="the steps the conversation should pass")
    rounds: RoundsForm | None = Field(
        None, description="a request and what follows it, instead of scripts of personas"
    )
    workspace: AnyWorkspace | None = Field(
        None, description="the folder that the agent works in; each trial has a copy of its own"
    )
    verifier: AnyVerifier | None = Field(
        None, description="the command that says whether the work is right"
    )
