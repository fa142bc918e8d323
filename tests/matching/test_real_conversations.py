"""200 recorded conversations of a real agent, whose figures are known from elsewhere."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.matching.compiling import compile_spec, spec_of
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.transcript import ToolCall, Turn
from tests.matching.asking import MATCHERS

PATH = Path(__file__).resolve().parents[3] / "shared/data/tau/tau1_gpt-4o-airline_50x4.json"


@pytest.fixture(scope="module")
def talks() -> list[View]:
    if not PATH.exists():
        pytest.skip("../shared is not here")
    return [read(each) for each in json.loads(PATH.read_text(encoding="utf-8"))]


def read(trial: dict[str, Any]) -> View:
    turns: list[Turn] = []
    prompt, results = "", [each for each in trial["traj"] if each["role"] == "tool"]
    for message in trial["traj"]:
        if message["role"] == "system":
            prompt = message["content"]
        elif message["role"] != "tool":
            calls = []
            for call in message.get("tool_calls") or []:
                made = call["function"]
                result = results.pop(0)["content"] if results else None
                calls.append(ToolCall(made["name"], json.loads(made["arguments"]), result=result))
            speaker = "user" if message["role"] == "user" else "agent"
            text = message["content"] or ""
            turns.append(Turn(len(turns) + 1, speaker, text, tool_calls=tuple(calls)))  # type: ignore[arg-type]
    return View(tuple(turns), prompt=prompt, recorded={"reward": trial["reward"]})


def results(method: str, value: object, talks: list[View]) -> list[Any]:
    check = compile_spec(spec_of(method, value, MATCHERS), MATCHERS)
    found = [check(talk) for talk in talks]
    for talk, result in zip(talks, found, strict=True):
        assert all(each.stands_in(talk.turns[each.turn - 1]) for each in result.evidence)
    return found


def test_as_many_turns_hold_unseen_numbers_as_were_counted_by_hand(talks: list[View]) -> None:
    params = {"user": True, "tools": True, "counts_up_to": 12}
    found = results("number_whitelist", params, talks)
    turns = {(at, each.turn) for at, result in enumerate(found) for each in result.evidence}
    assert len(turns) == 57
    assert sum(result.score == 0 for result in found) == 35
    stated = results("number_whitelist", {**params, "arithmetic": True}, talks)
    assert 10 <= sum(result.score == 0 for result in stated) <= 20


def test_rewards_are_passed_on(talks: list[View]) -> None:
    found = results("recorded", {"field": "reward", "min": 1}, talks)
    assert sum(result.score for result in found) == 84


def test_every_matcher_runs_over_them_in_time(talks: list[View]) -> None:
    start = time.process_time()
    for method, value in (
        ("keyword", ["confirm", "327"]),
        ("blacklist", {"phrases": ["refund", "guarantee"], "unless_negated": True}),
        ("length", {"max_words": 120}),
        ("placeholder", None),
        ("repetition", None),
        ("regex", r"\*\*"),
        ("language", "en"),
        ("tool_called", "book_reservation"),
    ):
        results(method, value, talks)
    assert time.process_time() - start < 20


def test_agents_of_a_real_model_leave_no_template_unfilled_and_speak_english(
    talks: list[View],
) -> None:
    assert {result.score for result in results("placeholder", None, talks)} == {1.0}
    assert {result.score for result in results("language", "en", talks)} == {1.0}
