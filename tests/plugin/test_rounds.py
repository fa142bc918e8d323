"""`task.rounds` in a whole run: one schedule for all agents, anchors as written, and models."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import Shop, rubric
from .played import CLIENT, calls

AGENTS = """
import json
from pathlib import Path

HEARD = Path(__file__).parent / "heard.jsonl"


def hear(name, message, history):
    with HEARD.open("a") as log:
        log.write(json.dumps([name, message, repr(list(history))]) + "\\n")


def eager(message, history):
    hear("eager", message, history)
    return "Hello! All tests pass, and the lamp is in stock."


def lazy(message, history):
    hear("lazy", message, history)
    return "Hello."
"""
SOLVER = """

class Solver(Judge):
    def line(self, call):
        with (HERE / "prompts.jsonl").open("a") as log:
            log.write(json.dumps([each["content"] for each in call.messages]) + "\\n")
        if "re-ask" not in call.purpose:
            return {"say": "Write this:\\n```python\\nreturn 0\\n```", "note": ""}
        return super().line(call)


solver = Solver("solver")
"""
ANCHOR = {
    "instruction": "Please name the price, in {currency}.",
    "intent": "to see whether it changes the subject",
    "expected_agent_behavior": "it names forty euros",
}
GREETS = rubric("greet")


def talk(shop: Shop, *, rounds: Any = None, **sections: Any) -> None:
    """A suite in which two agents are followed up."""
    shop.write("agents.py", AGENTS)
    task = {
        "id": "shop",
        "variables": {"currency": "euros"},
        "rounds": {"request": "Is the lamp in stock?", "anchor_followups": {"3": ANCHOR}},
    }
    task["rounds"] = {**task["rounds"], **(rounds or {})}  # type: ignore[dict-item]
    given = {
        "task": task,
        "personas": None,
        "agents": {"eager": "python:agents.py:eager", "lazy": "python:agents.py:lazy"},
        "rubrics": [GREETS],
        **sections,
    }
    shop.suite(**given)


def heard(shop: Shop, name: str) -> list[str]:
    """What an agent was told, in order."""
    lines = (shop.path / "heard.jsonl").read_text(encoding="utf-8").splitlines()
    return [message for who, message, _ in map(json.loads, lines) if who == name]


def states(trace: list[dict[str, Any]]) -> list[str]:
    return [each["state"] for each in trace if each.get("speaker") == "user"]


def test_two_agents_meet_the_same_schedule(shop: Shop) -> None:
    talk(shop)

    result = shop.run()

    result.assert_outcomes(passed=2)
    one, two = shop.traces()
    assert states(one) == states(two)
    assert len(states(one)) == 5
    assert states(one)[0] == "request"
    assert states(one)[2] == "anchor"
    assert one[-1]["outcome"] == "completed"
    assert one[0]["profile"] == "balanced-maintainer-bugfix"
    assert one[0]["schedule"] == dict(zip("2345", states(one)[1:], strict=True))


def test_node_ids_name_the_profile(shop: Shop) -> None:
    talk(shop)
    assert shop.ids() == [
        "shop.dialeval.yaml::eager-balanced_maintainer_bugfix-1::greet",
        "shop.dialeval.yaml::lazy-balanced_maintainer_bugfix-1::greet",
    ]


def test_an_anchor_reaches_the_agent_as_written_and_its_intent_does_not(shop: Shop) -> None:
    talk(shop)

    shop.run()

    for name in ("eager", "lazy"):
        assert heard(shop, name)[2] == "Please name the price, in euros."
    everything = (shop.path / "heard.jsonl").read_text(encoding="utf-8")
    assert "changes the subject" not in everything
    assert "forty" not in everything


def test_another_seed_is_another_schedule(shop: Shop) -> None:
    talk(shop)
    seen = set()
    for seed in range(4):
        shop.run(f"--dialeval-seed={seed}")
        traces = [
            json.loads(path.read_text(encoding="utf-8").splitlines()[0])["schedule"]
            for path in shop.last_run.glob("traces/*.jsonl")
        ]
        assert traces[0] == traces[1]
        seen.add(json.dumps(traces[0]))
    assert len(seen) > 1


def test_personas_of_ones_own_meet_it_too(shop: Shop) -> None:
    talk(shop, personas=[{"id": "ann", "personality": "curt"}, {"id": "bob"}], trials=2)

    shop.run().assert_outcomes(passed=8)

    assert len({tuple(states(each)) for each in shop.traces()}) == 1
    assert len(shop.traces()) == 8


def test_triggers_wait_for_a_behaviour(shop: Shop) -> None:
    rounds = {"profile": {"id": "own", "weights": {"add-tests": 1}, "repeats": True}}
    late = rubric("late", "Hello", trigger={"state": "add-tests"})
    talk(shop, rounds=rounds, rubrics=[late])

    shop.run().assert_outcomes(passed=2)


def test_a_misspelt_behaviour_is_refused(shop: Shop) -> None:
    talk(shop, rubrics=[rubric("late", trigger={"state": "add-test"})])

    result = shop.run()

    assert result.ret == 2
    line = shop.line_of("shop.dialeval.yaml", "late")
    result.stdout.fnmatch_lines([
        f"shop.dialeval.yaml:{line}: no round has a state 'add-test'*did you mean 'add-tests'*",
    ])  # fmt: skip


def modelled(shop: Shop, **sections: Any) -> None:
    shop.write("client.py", CLIENT + SOLVER)
    talk(shop, models={"user": "python:client.py:solver:fake-1"}, **sections)


def test_a_reply_that_solves_the_task_is_refused_and_asked_again(shop: Shop) -> None:
    modelled(shop)

    result = shop.run("--dialeval-agent", "lazy")

    result.assert_outcomes(passed=1)
    purposes = [each[-1] for each in calls(shop)]
    assert purposes == [
        f"turn {number}{again}" for number in (2, 4, 5) for again in ("", ", re-ask")
    ]
    assert not any("```" in each for each in heard(shop, "lazy"))
    assert heard(shop, "lazy")[1] == "Is the lamp in stock, I ask for time 2?"
    result.stdout.fnmatch_lines(["simulated user: 3 lines by *, 3 asked again (solved 3)"])
    prompts = (shop.path / "prompts.jsonl").read_text(encoding="utf-8")
    assert "changes the subject" not in prompts
    assert "forty" not in prompts


def test_it_replays_without_the_model(shop: Shop) -> None:
    modelled(shop)
    shop.run("--dialeval-record", "all", "--dialeval-agent", "lazy").assert_outcomes(passed=1)
    first = heard(shop, "lazy")
    (shop.path / "heard.jsonl").unlink()
    (shop.path / "calls.jsonl").unlink()

    result = shop.run("--dialeval-record", "none", "--dialeval-agent", "lazy")

    result.assert_outcomes(passed=1)
    assert heard(shop, "lazy") == first
    assert calls(shop) == []


def test_a_hooks_user_goes_before_rounds(shop: Shop) -> None:
    talk(shop)
    shop.write(
        "conftest.py",
        """
        from pytest_dialeval.conversation.user import Line


        class Once:
            leaving = False
            unsaid = ()

            def hear(self, turn):
                pass

            async def speak(self):
                return Line("Only this.", last=True)


        def pytest_dialeval_simulators(config):
            return {"once": lambda task, persona, draw, matchers: Once()}
        """,
    )

    shop.run().assert_outcomes(passed=2)

    assert heard(shop, "lazy") == ["Only this."]
    assert "schedule" not in shop.traces()[0][0]


DECORATED = """
from pytest_dialeval import dialogue_case


@dialogue_case("shop.dialeval.yaml", agent="lazy", rubrics=["greet"])
def test_lamp(dialogue):
    assert dialogue.transcript.turns[0].state == "request"
    assert [each.text for each in dialogue.transcript.turns][4].startswith("Please name the price")
"""


def test_a_decorated_test_can_use_it(shop: Shop) -> None:
    talk(shop)
    shop.write("test_shop.py", DECORATED)

    shop.run("test_shop.py").assert_outcomes(passed=2)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_both_languages_speak_without_a_model(shop: Shop, language: str) -> None:
    talk(shop)
    path = shop.path / "shop.dialeval.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"id": "shop"', f'"id": "shop", "language": "{language}"'))

    shop.run().assert_outcomes(passed=2)

    drawn = heard(shop, "lazy")[1]
    assert any("\u4e00" <= each <= "\u9fff" for each in drawn) == (language == "zh")
