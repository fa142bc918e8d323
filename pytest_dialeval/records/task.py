"""The contract: what the agent is asked to do, and by whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_dialeval.records.follow_up import Rounds
from pytest_dialeval.records.work import Verifier, Workspace

Opening = Literal["agent", "user"]
END = "end"  # the target of a transition that leaves without another word
USER_TURN = "user_turn"  # the one condition of a transition that is no matcher


@dataclass(frozen=True, slots=True)
class MatcherSpec:
    """A matcher as written: `keyword: {any: [...]}`; params are validated by matching."""

    method: str
    params: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FlowNode:
    """One step; `rubric` shows whether it was passed."""

    id: str
    rubric: str | None = None
    optional: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class Flow:
    """The steps that the conversation should pass; drawn and linted, never executed."""

    nodes: tuple[FlowNode, ...] = ()
    edges: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """A versioned contract: what the agent is asked to do, in how many rounds."""

    id: str
    version: str = "1"
    title: str = ""
    language: str = "en"
    opening: Opening = "user"
    max_rounds: int = 12
    variables: Mapping[str, object] = field(default_factory=dict)
    prompt: str = ""  # variables are filled in
    flow: Flow = Flow()
    rounds: Rounds | None = None  # follow-ups to a request, instead of scripts of personas
    workspace: Workspace | None = None
    verifier: Verifier | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """Where to go next; tried in the order written, the first whose `when` holds is taken.

    `when` is a matcher over the agent's last turn, or USER_TURN ({at_least: n}) over the count
    of user turns so far. Consecutive transitions without `when` are drawn by weight.
    """

    to: str  # a state, or END
    when: MatcherSpec | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class State:
    """One situation of the simulated user, and the ways out of it."""

    id: str
    say: tuple[str, ...] = ()  # one is drawn
    goal: str = ""  # for a simulated user with a model
    next: tuple[Transition, ...] = ()
    end: bool = False  # the user's last line; the agent still answers it


@dataclass(frozen=True, slots=True)
class Script:
    """What the user wants: states and the ways between them."""

    states: Mapping[str, State]
    start: str = "start"
    covers_flow_nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Probe:
    """A line that the user must say: at a user turn (from 1), or on first entering a state."""

    id: str
    say: str
    at_user_turn: int | None = None
    on_state: str | None = None


@dataclass(frozen=True, slots=True)
class Noise:
    """How many of the lines are disturbed on their way to the agent, and how."""

    rate: float = 0.0
    kinds: tuple[str, ...] = ()  # of filler, asr, broken, interruption


@dataclass(frozen=True, slots=True)
class Persona:
    """One simulated user: how it talks, what it wants, what it must say."""

    id: str
    script: Script
    personality: str = ""
    traits: Mapping[str, str] = field(default_factory=dict)
    probes: tuple[Probe, ...] = ()
    noise: Noise = Noise()
    tags: tuple[str, ...] = ()
    line: int = 0
    file: str = ""  # where it is written, relative to rootdir
