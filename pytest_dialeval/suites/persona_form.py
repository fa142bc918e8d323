"""How a persona is written: what it wants, says and must say."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

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
    RawSpec,
    Share,
    Text,
    Whole,
    one_of,
)

NoiseKind = Literal["filler", "asr", "broken", "interruption"]


class UserTurnForm(Form):
    """A condition on the number of user turns so far."""

    noun: ClassVar[str] = "a user_turn condition"

    at_least: Whole = Field(description="holds from this user turn on")


class TransitionForm(Form):
    """Where the user goes next."""

    noun: ClassVar[str] = "a transition"

    to: Name = Field(description="a state, or `end`: the user leaves without another word")
    when: RawSpec | None = Field(
        None,
        description="a matcher over the agent's last turn, or user_turn: {at_least: n}; "
        "without it the transition is always open",
    )
    weight: Positive = Field(
        1.0, description="how likely it is among neighbouring transitions without `when`"
    )


class StateForm(Form):
    """One situation of the simulated user."""

    noun: ClassVar[str] = "a state"

    say: Lines = Field([], description="lines, of which one is drawn by seed")
    goal: Text = Field("", description="what a user played by a model wants to reach here")
    next: list[TransitionForm] = Field([], description="tried in this order after the agent's turn")
    end: Flag = Field(False, description="whether this is the user's last line")


class ScriptForm(Form):
    """What the user wants: states and the ways between them."""

    noun: ClassVar[str] = "a script"

    start: Name = Field("start", description="the state of the user's first line")
    covers_flow_nodes: list[Name] = Field([], description="steps of the flow it is written for")
    states: dict[Name, StateForm] = Field(description="the states by name", min_length=1)


class ProbeForm(Form):
    """A line that the user must say."""

    noun: ClassVar[str] = "a probe"

    id: Name = Field(description="the name by which a trigger refers to it")
    at_user_turn: Whole | None = Field(None, description="the user turn, from 1, that it takes")
    on_state: Name | None = Field(None, description="said when this state is first entered")
    say: Line = Field(description="the line; noise never touches it")


class NoiseForm(Form):
    """How a line is disturbed on its way to the agent."""

    noun: ClassVar[str] = "noise"

    rate: Share = Field(0.0, description="the share of lines that are disturbed")
    kinds: list[Annotated[NoiseKind, one_of(*get_args(NoiseKind))]] = Field(
        [], description="the kinds of disturbance, of which one is drawn"
    )


class PersonaForm(Form):
    """One simulated user: personality, script, traits, probes and noise."""

    noun: ClassVar[str] = "a persona"

    id: Id = Field(description="its name in node ids")
    personality: Text = Field("", description="how it talks, for a user played by a model")
    traits: dict[Name, LooseText] = Field(
        {}, description="attitude, education, age, ...: free names, shown in reports"
    )
    script: ScriptForm = Field(description="what it wants and says")
    probes: list[ProbeForm] = Field([], description="lines that it must say")
    noise: NoiseForm = Field(NoiseForm(), description="disturbed lines")
    tags: list[Id] = Field([], description="words to select it by: -m 'dialeval(tag=...)'")
