"""What was said and done in one trial."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from pytest_dialeval.records.work import Check, RoundWork

Speaker = Literal["agent", "user"]
Part = Literal["text", "tool_calls", "tool_results", "artifacts"]
PARTS: tuple[Part, ...] = get_args(Part)
Outcome = Literal[
    "completed",
    "limit_reached",
    "agent_error",
    "simulator_error",
    "judge_error",
    "provider_error",
    "harness_error",
    "cancelled",
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
# After these nothing can be said about the agent (design rule 2).
UNMEASURED_OUTCOMES: frozenset[str] = frozenset(OUTCOMES) - {
    "completed",
    "limit_reached",
    "agent_error",
}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of one reply; None is unknown, never 0."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call with its result; arguments that are no JSON stay the raw string."""

    name: str
    arguments: object = None
    id: str = ""
    result: str | None = None
    error: bool = False

    def __str__(self) -> str:
        """`name({"key": "value"})`: the form that evidence quotes."""
        arguments = {} if self.arguments is None else self.arguments
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str)
        return f"{self.name}({arguments})"


@dataclass(frozen=True, slots=True)
class Artifact:
    """Something that the agent made beside its words."""

    name: str
    text: str
    media_type: str = "text/plain"


@dataclass(frozen=True, slots=True, repr=False)
class Turn:
    """One message of one speaker; ids run 1..n over both speakers, rounds over user messages."""

    id: int
    speaker: Speaker
    text: str = ""
    round: int = 0
    tool_calls: tuple[ToolCall, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    state: str | None = None
    probe: str | None = None
    noise: str | None = None
    latency: float | None = None  # seconds
    usage: Usage | None = None

    def __repr__(self) -> str:
        """Short, for the failures of tests that compare turns."""
        shown = self.text if len(self.text) <= 60 else f"{self.text[:57]}..."
        calls = f", {len(self.tool_calls)} tool calls" if self.tool_calls else ""
        return f"Turn({self.id}, {self.speaker!r}, {shown!r}{calls})"

    def part(self, name: Part) -> str:
        """The text that evidence of this part quotes from."""
        match name:
            case "text":
                return self.text
            case "tool_calls":
                return "\n".join(map(str, self.tool_calls))
            case "tool_results":
                return "\n".join(each.result or "" for each in self.tool_calls)
            case "artifacts":
                return "\n".join(each.text for each in self.artifacts)

    @property
    def texts(self) -> tuple[str, ...]:
        """Whatever evidence may quote from."""
        if not (self.tool_calls or self.artifacts):
            return (self.text,)
        return tuple(map(self.part, PARTS))


@dataclass(frozen=True, slots=True)
class Transcript:
    """The turns of one trial and how it ended."""

    turns: tuple[Turn, ...] = ()
    outcome: Outcome = "completed"
    reason: str = ""  # why it ended so; the error's text after an error
    ended_by: Literal["agent", "user", "limit", ""] = ""
    finished: bool = True  # False: the trace was cut off
    recorded: Mapping[str, object] = field(default_factory=dict)  # values stored with it
    # How lines of a simulated user with a model came about, in counts; empty where none ran.
    fidelity: Mapping[str, int] = field(default_factory=dict)
    work: tuple[RoundWork, ...] = ()  # of an agent that works in a folder, round by round
    checks: tuple[Check, ...] = ()  # the last of a round counts

    def turn(self, number: int) -> Turn | None:
        """The turn with that id, or None."""
        if 1 <= number <= len(self.turns) and self.turns[number - 1].id == number:
            return self.turns[number - 1]
        return next((each for each in self.turns if each.id == number), None)


@dataclass(frozen=True, slots=True)
class Recording:
    """A conversation that exists already; a case is its task id, a trial its place among them."""

    task_id: str
    transcript: Transcript
    path: str
    sha256: str
    index: int  # place within the file, from 0
    trial: int | None = None  # as the file numbers it, if it does
    agent: str | None = None  # as the file names it
    alone: bool = False  # whether the file is this conversation and nothing else

    def named(self, path: str) -> str:
        """Where it stands, `path` being its file as the reader knows it: `logs/monday.jsonl#1`."""
        return path if self.alone else f"{path}#{self.index}"
