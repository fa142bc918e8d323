"""Small values that the tests of this room build on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from pytest_dialeval.records.rubric import Rubric, Trigger
from pytest_dialeval.records.task import MatcherSpec, Task
from pytest_dialeval.records.transcript import ToolCall, Transcript, Turn
from pytest_dialeval.records.verdict import Dimension, Verdict

TASK = Task("support", language="en", variables={"fee": 30})


def rubric(
    name: str = "r",
    dimension: Dimension = "completion",
    method: str = "keyword",
    params: Mapping[str, object] | None = None,
    **more: object,
) -> Rubric:
    return Rubric(name, dimension, MatcherSpec(method, params or {}), **more)


def judge_rubric(name: str = "r", criterion: str = "the agent is polite", **more: object) -> Rubric:
    dimension = more.pop("dimension", "completion")
    return rubric(name, dimension, "judge", {"criterion": criterion}, **more)


def passed(name: str = "r", score: float = 1.0) -> Verdict:
    return Verdict(name, "passed", score=score)


def failed(name: str = "r", score: float = 0.0) -> Verdict:
    return Verdict(name, "failed", score=score)


def silent(name: str = "r") -> Verdict:
    return Verdict(name, "not_applicable", reason="its trigger never fired")


def unscored(name: str = "r") -> Verdict:
    return Verdict(name, "unscored", reason="no judge is configured", fault="judge_error")


def talk(*lines: str, **more: object) -> Transcript:
    """`talk("user: hi", "agent: hello")`."""
    turns = []
    for number, line in enumerate(lines, start=1):
        speaker, _, text = line.partition(": ")
        turns.append(Turn(number, speaker, text, round=(number + 1) // 2))
    return Transcript(tuple(turns), **more)


PROBE = Trigger(probe="refund")


def asked(*turns: Turn) -> Transcript:
    """A refund was asked for at turn 3, by the probe of that name."""
    return Transcript(
        (
            Turn(1, "user", "Hello", round=1, state="start"),
            Turn(2, "agent", "Hello, how can I help?", round=1),
            Turn(3, "user", "Can I get a refund?", round=2, state="start", probe="refund"),
            *turns,
        )
    )


CALL = ToolCall("lookup", {"order": "A7"}, id="c1", result='{"status": "late"}')


def run(coroutine: object) -> object:
    return asyncio.run(coroutine)
