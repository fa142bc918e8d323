"""Models that take minutes for an answer: what gives them the time, and what says so."""

from __future__ import annotations

import json

import pytest

from .conftest import Shop

CLIENT = """
from pytest_dialeval.records.model import ChatAnswer

VERDICT = (
    '{"reasoning": "it greets", "verdict": "met", "absence": false,'
    ' "evidence": [{"turn_id": 2, "quote": "Hello"}]}'
)


class Client:
    async def chat(self, call, *, deadline):
        with open("deadline", "w") as file:
            file.write(f"{deadline:g}")
        return ChatAnswer(VERDICT)


client = Client()
"""


@pytest.mark.parametrize(("turn_timeout", "deadline"), [(60, "120"), (300, "300")])
def test_a_judge_s_call_may_take_as_long_as_a_turn(
    shop: Shop, turn_timeout: int, deadline: str
) -> None:
    shop.write("clients.py", CLIENT)
    shop.suite(
        limits={"turn_timeout": turn_timeout},
        models={"judge": "python:clients.py:client:slow"},
        rubrics=[{"id": "greets", "dimension": "completion", "judge": "the agent greets"}],
    )

    shop.run().assert_outcomes(passed=1)

    assert (shop.path / "deadline").read_text(encoding="utf-8") == deadline


def test_an_option_gives_it_to_the_judge_of_recordings_too(shop: Shop) -> None:
    shop.write("clients.py", CLIENT)
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    shop.write("talk.jsonl", json.dumps({"task_id": "hi", "messages": said}) + "\n")
    shop.suite(
        agents=None,
        personas=None,
        transcripts=[{"format": "openai", "path": "talk.jsonl", "agent": "clerk"}],
        models={"judge": "python:clients.py:client:slow"},
        rubrics=[{"id": "greets", "dimension": "completion", "judge": "the agent greets"}],
    )

    shop.run("--dialeval-turn-timeout", "300").assert_outcomes(passed=1)

    assert (shop.path / "deadline").read_text(encoding="utf-8") == "300"
