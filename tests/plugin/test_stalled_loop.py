"""One event loop for all conversations: what blocks it, stops it or sweeps it harms nobody else."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest

from .conftest import Shop, persona, rubric

PATIENT = """
import asyncio, sys

async def answer(message):
    sys.patient_speaks = True
    await asyncio.sleep(0.1)
    return "Hello!"
"""
# Else the loop may be blocked before the patient one's trial is so much as submitted.
MEETS = "while not hasattr(sys, 'patient_speaks'): await asyncio.sleep(0)"
# Two deadlines of a turn and this are what a blocked loop is given.
IMPATIENT = """
import pytest_dialeval.pool

pytest_dialeval.pool.POLL = 0.05
pytest_dialeval.pool.STANDSTILL = 0.2
"""
FOREVER = ["import time; time.sleep(10**6)", "while True: pass"]


def two_agents(shop: Shop, guilty: str, **sections: Any) -> None:
    """A suite in which an agent of this body and a patient one talk at the same time."""
    shop.write("patient.py", PATIENT)
    begin = "import asyncio, sys, time\n\nasync def answer(message):"
    shop.write("guilty.py", f"{begin}\n    {guilty}\n")
    given: dict[str, Any] = {
        "agents": {
            "guilty": {"use": "python:guilty.py:answer"},
            "patient": {"use": "python:patient.py:answer"},
        },
        "personas": [persona("one", "Hi")],
        "rubrics": [rubric("greet")],
    }
    shop.suite(**{**given, **sections})


def reasons(shop: Shop) -> dict[str, tuple[str, str]]:
    """Outcome and reason of every trace that ended, by its agent."""
    found = {}
    for events in shop.traces():
        found[events[0]["agent"]] = (events[-1]["outcome"], events[-1]["reason"])
    return found


def test_an_agent_that_blocks_makes_nobody_late_but_itself(shop: Shop) -> None:
    two_agents(shop, "time.sleep(0.8); return 'Hello!'")
    shop.run("--dialeval-turn-timeout=0.4").assert_outcomes(passed=1, failed=1)
    found = reasons(shop)
    assert found["patient"][0] == "completed"
    outcome, reason = found["guilty"]
    assert outcome == "agent_error"
    assert reason.startswith("no answer within 0.4 s (limits.turn_timeout); it blocked the event ")
    assert "make it a plain function" in reason


def test_the_whole_conversations_deadline_stands_too(shop: Shop) -> None:
    two_agents(shop, "time.sleep(0.8); return 'Hello!'")
    shop.run("--dialeval-timeout=0.5").assert_outcomes(passed=1, failed=1)
    assert reasons(shop)["patient"][0] == "completed"


def test_latency_is_the_agents_own(shop: Shop) -> None:
    two_agents(shop, "time.sleep(0.8); return 'Hello!'")
    shop.run().assert_outcomes(passed=2)
    latency = {
        events[0]["agent"]: turn["latency"]
        for events in shop.traces()
        for turn in events
        if turn.get("speaker") == "agent"
    }
    assert latency["guilty"] >= 0.7  # it is true to a heartbeat
    assert latency["patient"] < 0.5


def test_an_agent_that_blocks_within_its_deadline_is_in_time(shop: Shop) -> None:
    two_agents(shop, "time.sleep(0.3); return 'Hello!'")
    shop.run("--dialeval-turn-timeout=30").assert_outcomes(passed=2)


@pytest.mark.parametrize("body", FOREVER)
def test_a_loop_that_never_comes_back_ends_the_run(shop: Shop, body: str) -> None:
    shop.write("conftest.py", IMPATIENT)
    two_agents(shop, f"{MEETS}\n    {body}")
    shop.write("test_other.py", "def test_other(): pass")
    status, out = run(shop, "--dialeval-turn-timeout=0.4", "shop.dialeval.yaml", "test_other.py")
    assert status == 1, out
    assert "1 failed, 1 passed, 1 error" in out
    found = reasons(shop)
    place = f"guilty.py:{shop.line_of('guilty.py', body)}"
    outcome, reason = found["guilty"]
    assert outcome == "agent_error"
    assert f"{place})" in reason
    outcome, reason = found["patient"]
    assert outcome == "harness_error"
    assert reason.startswith("the agent of shop.guilty.one-1.")
    assert place in reason
    assert shop.summary["exit_status"] == 1
    assert shop.summary["outcomes"]["agent_error"] == 1
    assert "would not stop and was left behind" in out


def test_a_tool_in_a_task_of_its_own_is_found_too(shop: Shop) -> None:
    shop.write("conftest.py", IMPATIENT)
    two_agents(shop, "async def tool(): time.sleep(10**6)\n    await asyncio.gather(tool())")
    status, out = run(shop, "--dialeval-turn-timeout=0.4")
    assert status == 1, out
    assert reasons(shop)["guilty"][0] == "agent_error"


def test_trials_that_had_not_begun_are_not_run_and_say_why(shop: Shop) -> None:
    shop.write("conftest.py", IMPATIENT)
    two_agents(shop, "time.sleep(10**6)", trials=3)
    status, out = run(shop, "--dialeval-turn-timeout=0.4", "--dialeval-concurrency=1")
    assert status == 1, out
    assert "1 failed, 5 errors" in out
    assert out.count("blocks the event loop (") >= 5
    outcomes = shop.summary["outcomes"]
    assert (outcomes["agent_error"], outcomes["not_run"]) == (1, 5)


def run(shop: Shop, *arguments: str) -> tuple[int, str]:
    """In a process of its own: a thread of it stays blocked."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "dialeval", "-W", "error", *arguments],
        cwd=shop.path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert time.monotonic() - began < 30
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "body",
    [
        "[each.cancel() for each in asyncio.all_tasks()]; return 'Hello!'",
        "asyncio.get_running_loop().stop(); await asyncio.sleep(0.05); return 'Hello!'",
        "asyncio.get_running_loop().call_soon(\n"
        "        lambda: [each.cancel() for each in asyncio.all_tasks()])\n"
        "    await asyncio.sleep(0.02); return 'Hello!'",
    ],
    ids=["cancel all", "stop", "cancel all in a callback"],
)
def test_an_agent_that_sweeps_the_loop_harms_nobody_else(shop: Shop, body: str) -> None:
    two_agents(shop, body)
    shop.run("-k", "greet")
    assert reasons(shop)["patient"][0] == "completed"
    assert shop.summary["outcomes"]["completed"] >= 1
    assert shop.summary["outcomes"]["cancelled"] == 0


SLOW = """
import time

def pytest_dialeval_matchers():
    def slow(view, *, seconds: float) -> bool:
        time.sleep(seconds)
        return True
    return {"slow": slow}
"""


def test_a_slow_matcher_delays_no_conversation(shop: Shop) -> None:
    shop.write("conftest.py", SLOW)
    two_agents(
        shop,
        "return 'Hello!'",
        rubrics=[rubric("slow", keyword=None, slow={"seconds": 0.5}), rubric("greet")],
        task={"id": "shop", "max_rounds": 9},
        personas=[persona("one", "Hi", "and", "so", "on")],
    )
    shop.run("--dialeval-turn-timeout=0.3").assert_outcomes(passed=4)


def test_a_matcher_that_never_decides_is_left_and_named(shop: Shop) -> None:
    shop.write("conftest.py", SLOW)
    two_agents(
        shop,
        "return 'Hello!'",
        rubrics=[rubric("slow", keyword=None, slow={"seconds": 10**6}), rubric("greet")],
    )
    status, out = run(shop, "--dialeval-timeout=0.4")
    assert status == 10
    assert "2 passed, 2 errors" in out
    assert "matcher 'slow' gave no verdict within 0.4 s (limits.timeout)" in out


def test_a_pause_in_the_agent_costs_nothing(shop: Shop) -> None:
    keeping = "\ndef pytest_configure(config):\n    pytest_dialeval.pool.config = config\n"
    shop.write("conftest.py", IMPATIENT + keeping)
    two_agents(
        shop,
        """from pytest_dialeval.pool import config
    config.hook.pytest_enter_pdb(config=config, pdb=None)
    time.sleep(1.5)
    config.hook.pytest_leave_pdb(config=config, pdb=None)
    return 'Hello!'""",
    )
    status, out = run(shop, "--dialeval-turn-timeout=0.3")
    assert status == 0, out


# A client as the openai package has them: our own door waits for it.
CLIENT = """
import asyncio
import json


class Completions:
    async def create(self, **asked):
        await asyncio.sleep(0.3)
        said = json.dumps({"say": "And another lamp?", "done": False, "note": ""})
        delta = {"content": said if "response_format" in asked else "Hello!"}
        return self.stream({"index": 0, "delta": delta, "finish_reason": "stop"})

    async def stream(self, choice):
        yield Chunk({"choices": [choice]})


class Chunk(dict):
    def model_dump(self, **kept):
        return dict(self)


class Client:
    class chat:
        completions = Completions()


client = Client()
"""
BLOCK = "await asyncio.sleep(0.15); time.sleep(0.8); return 'Hello!'"


def test_a_call_of_a_model_is_not_late_because_somebody_blocks(shop: Shop) -> None:
    shop.write("client.py", CLIENT)
    people = [persona("one", "Hi", "and bye")]
    two_agents(shop, BLOCK, personas=people, models={"user": "python:client.py:client:m"})
    shop.run("--dialeval-turn-timeout=0.6")
    assert reasons(shop)["patient"] == ("completed", "the agent answered the user's last line")
