"""Strategies and small conversations for the tests of this room."""

from __future__ import annotations

from hypothesis import strategies as st

from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import (
    OUTCOMES,
    Artifact,
    ToolCall,
    Transcript,
    Turn,
    Usage,
)

texts = st.text(max_size=40).map(clean)
numbers = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
usages = st.builds(
    Usage,
    input_tokens=st.none() | st.integers(0, 10**9),
    cached_tokens=st.none() | st.integers(0, 10**9),
    output_tokens=st.none() | st.integers(0, 10**9),
    cost_usd=st.none() | st.floats(0, 1000),
)
calls = st.builds(
    ToolCall,
    name=texts,
    arguments=json_values,
    id=texts,
    result=st.none() | texts,
    error=st.booleans(),
)
artifacts = st.builds(Artifact, name=texts, text=texts, media_type=texts)


@st.composite
def turn_tuples(draw: st.DrawFn) -> tuple[Turn, ...]:
    """Turns whose ids run 1..n and whose rounds count the user's messages."""
    speakers = draw(st.lists(st.sampled_from(["agent", "user"]), max_size=6))
    spoken = 0
    turns = []
    for number, speaker in enumerate(speakers, 1):
        spoken += speaker == "user"
        turns.append(
            Turn(
                id=number,
                speaker=speaker,
                text=draw(texts),
                round=spoken,
                tool_calls=tuple(draw(st.lists(calls, max_size=2))),
                artifacts=tuple(draw(st.lists(artifacts, max_size=1))),
                state=draw(st.none() | texts),
                probe=draw(st.none() | texts),
                noise=draw(st.none() | texts),
                latency=draw(st.none() | st.floats(0, 600)),
                usage=draw(st.none() | usages),
            )
        )
    return tuple(turns)


transcripts = st.builds(
    Transcript,
    turns=turn_tuples(),
    outcome=st.sampled_from(OUTCOMES),
    reason=texts,
    ended_by=st.sampled_from(["agent", "user", "limit", ""]),
    finished=st.booleans(),
    recorded=st.dictionaries(texts, json_values, max_size=3),
)

GREETING = Turn(1, "agent", "您好，这里是课程平台。", 0, state="greet", latency=0.25)
QUESTION = Turn(2, "user", "多少钱？", 1, probe="price", noise="filler")
ANSWER = Turn(
    3,
    "agent",
    "免费的。",
    1,
    tool_calls=(ToolCall("price", {"course": "进阶课"}, "c1", "0", False),),
    usage=Usage(120, None, 9, 0.0004),
)
TURNS = (GREETING, QUESTION, ANSWER)
