"""ATIF, the Agent Trajectory Interchange Format (v1.0 to v1.8): a document -> steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.text import clean, clean_value
from pytest_dialeval.records.transcript import Artifact, ToolCall, Turn, Usage
from pytest_dialeval.traces.codec import shown
from pytest_dialeval.traces.importers.content import arguments, words

Origin = Literal["system", "user", "agent"]
_ORIGINS: Mapping[object, Origin] = {"system": "system", "user": "user", "agent": "agent"}
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Step:
    """One step; a system's is nobody's turn, but helps to find what was copied."""

    source: Origin
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    usage: Usage | None = None
    copied: bool = False  # history that another document holds, there for context alone

    @property
    def key(self) -> tuple[str, ...]:
        """What a copy shares with it: source, message and tool calls; ids and times may differ."""
        return (self.source, self.text, *map(str, self.calls))

    def turn(self, number: int, round_: int) -> Turn:
        """The turn that it is; for agent and user."""
        return Turn(
            id=number,
            speaker="user" if self.source == "user" else "agent",
            text=self.text,
            round=round_,
            tool_calls=self.calls,
            artifacts=self.artifacts,
            usage=self.usage,
        )


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The steps of one document, with those that it copied."""

    steps: tuple[Step, ...]
    totals: Mapping[str, Any] = field(default_factory=dict)
    continued: str = ""  # the file that goes on
    subagents: int = 0
    odd: tuple[str, ...] = ()  # steps that could not be read


def read_trajectory(document: Any) -> Trajectory:
    """Keys that no version has are passed over; TranscriptError where there are no steps."""
    if not isinstance(document, dict) or not isinstance(document.get("steps"), list):
        raise TranscriptError(f"is {shown(document)}; a trajectory is an object with steps")
    steps: list[Step] = []
    odd: list[str] = []
    for number, each in enumerate(document["steps"], 1):
        if not isinstance(each, dict) or words(each, "source") not in _ORIGINS:
            odd.append(f"step {number} is {shown(each)}, whose source is no system, user or agent")
            continue
        steps.append(_step(each))
    if not steps:
        raise TranscriptError("holds no step; the agent wrote nothing")
    totals, below = document.get("final_metrics"), document.get("subagent_trajectories")
    return Trajectory(
        steps=tuple(steps),
        totals=totals if isinstance(totals, dict) else {},
        continued=words(document, "continued_trajectory_ref"),
        subagents=len(below) if isinstance(below, list) else 0,
        odd=tuple(odd),
    )


def _step(data: Mapping[str, Any]) -> Step:
    text, pictures = _content(data.get("message"))
    results = list(_results(data.get("observation")))
    calls, loose = _calls(data.get("tool_calls"), results)
    return Step(
        source=_ORIGINS[words(data, "source")],
        text=text,
        calls=calls,
        artifacts=(*pictures, *loose),
        usage=_usage(data.get("metrics")),
        copied=data.get("is_copied_context") is True,
    )


# ---- calls and what came of them


@dataclass(slots=True)
class _Result:
    call: str
    text: str
    artifacts: tuple[Artifact, ...]
    error: bool


def _results(observation: Any) -> Iterator[_Result]:
    found = observation.get("results") if isinstance(observation, dict) else None
    for each in found if isinstance(found, list) else []:
        if isinstance(each, dict):
            text, artifacts = _content(each.get("content"))
            extra = each.get("extra")
            failed = _failed(extra if isinstance(extra, dict) else _NOTHING)
            yield _Result(words(each, "source_call_id"), text, artifacts, failed)


def _failed(extra: Mapping[str, Any]) -> bool:
    """As far as the agent's adapter says so: the format has no field for it."""
    status = extra.get("exit_code")
    return extra.get("is_error") is True or (type(status) is int and status != 0)


def _calls(raw: Any, results: list[_Result]) -> tuple[tuple[ToolCall, ...], tuple[Artifact, ...]]:
    """The calls with their results; what answers none of them becomes an artifact."""
    calls = [_call(each) for each in raw if isinstance(each, dict)] if isinstance(raw, list) else []
    left: list[_Result] = []
    for result in results:
        open_ = [place for place, each in enumerate(calls) if each.result is None]
        named = [place for place in open_ if result.call and calls[place].id == result.call]
        if named or (len(open_) == 1 and not result.call):
            place = (named or open_)[0]
            calls[place] = _answered(calls[place], result)
        else:
            left.append(result)
    loose = [Artifact("observation", each.text) for each in left if each.text]
    pictures = [each for result in results for each in result.artifacts]
    return tuple(calls), (*loose, *pictures)


def _answered(call: ToolCall, result: _Result) -> ToolCall:
    return ToolCall(call.name, call.arguments, call.id, result.text, result.error)


def _call(data: Mapping[str, Any]) -> ToolCall:
    name = words(data, "function_name") or words(data, "name") or "unnamed"
    given = clean_value(arguments(data.get("arguments")))
    return ToolCall(name, given, words(data, "tool_call_id"))


def _content(content: Any) -> tuple[str, tuple[Artifact, ...]]:
    """Text, or parts of text, picture and sound; a picture is kept by where it lies."""
    if isinstance(content, str):
        return clean(content), ()
    texts: list[str] = []
    artifacts: list[Artifact] = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            texts.append(clean(part))
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(clean(part["text"]))
        elif isinstance(part, dict):
            artifacts.append(_media(part))
    return "\n".join(texts), tuple(artifacts)


def _media(part: Mapping[str, Any]) -> Artifact:
    kind = words(part, "type") or "part"
    source = part.get("source")
    source = source if isinstance(source, dict) else _NOTHING
    return Artifact(kind, words(source, "path"), words(source, "media_type") or kind)


# ---- tokens and cost


def _usage(metrics: Any) -> Usage | None:
    found = metrics if isinstance(metrics, dict) else _NOTHING
    tokens = [_count(found, f"{each}_tokens") for each in ("prompt", "cached", "completion")]
    cost = found.get("cost_usd")
    cost = cost if type(cost) in (int, float) else None
    if cost is None and tokens == [None, None, None]:
        return None
    return Usage(tokens[0], tokens[1], tokens[2], cost)


def _count(found: Mapping[str, Any], name: str) -> int | None:
    value = found.get(name)
    return value if type(value) is int else None


_TOTALS = {
    "total_prompt_tokens": "input_tokens",
    "total_completion_tokens": "output_tokens",
    "total_cost_usd": "cost_usd",
}
_ABSURD = 1e15  # beyond it there are no sums to compare
_CLOSE = 0.001  # a share: costs are rounded


def disagreement(trajectory: Trajectory, own: Sequence[Step]) -> str:
    """Where final_metrics is neither the sum of all steps nor that of the trajectory's own part."""
    first_hand = [each for each in trajectory.steps if not each.copied]
    for name, part in _TOTALS.items():
        total = trajectory.totals.get(name)
        sums = [added(each, part) for each in (first_hand, trajectory.steps, own)]
        known = [each for each in sums if each is not None]
        if not isinstance(total, int | float) or abs(total) > _ABSURD or not known:
            continue
        if not any(_near(total, each) for each in known):
            return f"final_metrics.{name} is {total:g}, its steps add up to {known[0]:g}"
    return ""


def added(steps: Sequence[Step], part: str) -> float | None:
    """The sum of one figure of the usage; None where no step has it."""
    found = [getattr(each.usage, part) for each in steps if each.usage is not None]
    known = [each for each in found if each is not None]
    return sum(known) if known else None


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= _CLOSE * max(abs(one), abs(other))
