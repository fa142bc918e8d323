"""How follow-up rounds are written: the request, who follows up, and what by hand."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar

from pydantic import Field

from pytest_dialeval.suites.form import (
    Flag,
    Form,
    Id,
    Line,
    Lines,
    LooseText,
    Name,
    Positive,
    Text,
    must,
)
from pytest_dialeval.suites.persona_form import NoiseForm
from pytest_dialeval.suites.profiles import DEFAULT

# YAML's keys are text.
RoundNumber = Annotated[
    str,
    must(
        lambda value: isinstance(value, str) and bool(re.fullmatch("[0-9]{1,6}", value)),
        "a round, such as 3",
    ),
]


class BehaviourForm(Form):
    """A kind of follow-up of the user's own."""

    noun: ClassVar[str] = "a behaviour"

    id: Name = Field(description="its name in weights, triggers and traces")
    goal: Line = Field(description="what the message is to do, for a user played by a model")
    say: Lines = Field([], description="lines, of which one is drawn by seed; {fact} is filled in")


class ProfileForm(Form):
    """Who follows up."""

    noun: ClassVar[str] = "a profile"

    id: Name = Field(description="its name in traces; the draws depend on it")
    tone: Text = Field("", description="how it talks and what it looks at, for a model")
    weights: dict[Name, Positive] = Field(
        description="behaviour: how often it comes, beside the others", min_length=1
    )
    repeats: Flag = Field(False, description="whether a behaviour may come twice in a row")


class AnchorForm(Form):
    """A follow-up written by hand."""

    noun: ClassVar[str] = "an anchor"

    instruction: Line = Field(description="the message, as the agent gets it")
    intent: Text = Field("", description="what it is meant to test; for the judge alone")
    expected_agent_behavior: Text = Field(
        "", description="what a good agent does then; for the judge alone"
    )


class RoundsForm(Form):
    """A request and what follows it, instead of scripts of personas."""

    noun: ClassVar[str] = "rounds"

    request: Line = Field(description="the message of round 1, always")
    profile: Any = Field(DEFAULT, description="who follows up: a name, or a profile")
    behaviours: list[BehaviourForm] = Field(
        [], description="kinds of follow-up beside those that come with the plugin"
    )
    anchor_followups: dict[RoundNumber, AnchorForm] = Field(
        {}, description="round: its message by hand; no model is asked there"
    )


class RoundsPersonaForm(Form):
    """One simulated user of a suite with `task.rounds`: how it talks; the rounds say what."""

    noun: ClassVar[str] = "a persona of follow-up rounds"

    id: Id = Field(description="its name in node ids")
    personality: Text = Field("", description="how it talks, for a user played by a model")
    traits: dict[Name, LooseText] = Field(
        {}, description="attitude, education, age, ...: free names, shown in reports"
    )
    noise: NoiseForm = Field(NoiseForm(), description="disturbed lines")
    tags: list[Id] = Field([], description="words to select it by: -m 'dialeval(tag=...)'")
