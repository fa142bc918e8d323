"""Two agents of a suite meet: by score, or by a model in both orders."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.plugin.progress import Standing, sentence
from pytest_dialeval.statistics.elo import elo

from .conftest import Shop, persona, rubric

MUTE = 'otherwise: ["Dunno."]'
AGENTS = {
    "clerk": {"use": "scripted", "script": "clerk.yaml"},
    "mute": {"use": "scripted", "script": "mute.yaml"},
}
# Prefers the answer that greets, whichever stands first, and writes down what it was asked.
FAIR = """
from pytest_dialeval.records.model import ChatAnswer


class Comparer:
    async def chat(self, call, *, deadline):
        text = call.messages[1]["content"]
        with open("asked.txt", "a", encoding="utf-8") as file:
            file.write(f"WRITTEN\\n")
        second = text.index("the second answer")
        better = BETTER
        return ChatAnswer('{"reasoning": "because", "better": "' + better + '"}')


comparer = Comparer()
"""
WRITTEN = "{call.spec.role} {call.case} {call.trial} {call.purpose}"
GREETS = '"first" if "Hello" in text[:second] else "second" if "Hello" in text else "tie"'
# The project file may name a model for the role `user`: no line is asked of it.
PLAIN_USERS = """
from pytest_dialeval.conversation.user import SimulatedUser


def pytest_dialeval_simulators(config):
    return {"plain": SimulatedUser}
"""
JUDGED: Mapping[str, Any] = {
    "compare": {"by": "judge"},
    "models": {"comparer": "python:model.py:comparer:m"},
}


def model(better: str, written: str = WRITTEN) -> str:
    """A comparer that answers as the expression says."""
    return FAIR.replace("BETTER", better).replace("WRITTEN", written)


def elo_of(results: str) -> float:
    """The left side's Elo after these wins, ties and losses."""
    points = {"W": 1.0, "T": 0.5, "L": 0.0}
    return elo([("a", "b", points[each]) for each in results])["a"]


@pytest.fixture
def two(shop: Shop) -> Shop:
    """The shop with a clerk and one who knows nothing."""
    shop.write("mute.yaml", MUTE)
    shop.write("model.py", model(GREETS))
    return shop


def matches(shop: Shop) -> list[dict[str, Any]]:
    path = shop.last_run / "matches.jsonl"
    found = [json.loads(each) for each in path.read_text(encoding="utf-8").splitlines()]
    return sorted(found, key=lambda each: (each["case"], each["trial"], each["round"] or 0))


def rating(shop: Shop, number: int = 0) -> Any:
    return shop.summary["ratings"]["ratings"][number]


def asked(shop: Shop) -> list[str]:
    path = shop.path / "asked.txt"
    return sorted(path.read_text(encoding="utf-8").splitlines()) if path.exists() else []


def test_by_score_every_trial_is_a_match(two: Shop) -> None:
    two.suite(agents=AGENTS, trials=3)

    two.run()

    assert [(each["trial"], each["winner"], each["round"]) for each in matches(two)] == [
        (1, "A", None),
        (2, "A", None),
        (3, "A", None),
    ]
    assert {each["left"] for each in matches(two)} == {"clerk"}
    assert all(each["same_instruction"] for each in matches(two))
    clerk, mute = rating(two)["agents"]
    assert (clerk["wins"], mute["losses"]) == (3, 3)
    assert clerk["elo"] == pytest.approx(elo_of("WWW"))


def test_equal_agents_tie(two: Shop) -> None:
    two.suite(agents={**AGENTS, "mute": AGENTS["clerk"]}, trials=2)

    two.run()

    assert [each["winner"] for each in matches(two)] == ["tie", "tie"]
    assert rating(two)["agents"][0]["elo"] == 1000


def test_one_agent_has_no_matches(two: Shop) -> None:
    two.suite()

    two.run()

    assert not (two.last_run / "matches.jsonl").exists()
    assert two.summary["ratings"] is None


def test_a_judge_is_asked_in_both_orders_about_each_round_that_differs(two: Shop) -> None:
    two.write("mute.yaml", MUTE.replace("Dunno.", "You are welcome. Goodbye."))
    two.suite(agents=AGENTS, trials=2, **JUDGED)

    two.run()

    assert asked(two) == [
        f"comparer shop.clerk-mute.buyer {trial} round 1, {order} first"
        for trial in (1, 2)
        for order in ("left", "right")
    ]
    first, second, *_ = matches(two)
    assert (first["round"], first["winner"], first["orders"]) == (1, "A", ["A", "A"])
    assert (second["round"], second["winner"], second["orders"]) == (2, "tie", [])
    assert second["why"] == "the answers are the same"
    found = rating(two)
    assert (found["matches"], found["judged_twice"], found["inconsistent"]) == (4, 2, 0)
    assert two.summary["ratings"]["comparer"] == "python:model.py:comparer:m"


def test_a_judge_that_always_says_first_makes_ties_that_are_counted(two: Shop) -> None:
    two.write("model.py", model('"first"'))
    two.suite(agents=AGENTS, **JUDGED)

    result = two.run()

    assert [(each["winner"], each["orders"]) for each in matches(two)] == [("tie", ["A", "B"])] * 2
    assert rating(two)["inconsistent_share"] == 1
    result.stdout.fnmatch_lines(["2 of 2 comparisons changed with the order (100.0%): ties"])


def test_names_of_agents_are_not_shown(two: Shop) -> None:
    two.write("model.py", model(GREETS, "{call.messages} {call.schema}"))
    two.suite(agents=AGENTS, personas=[persona("buyer", traits={"attitude": "curt"})], **JUDGED)

    two.run()

    shown = "\n".join(asked(two))
    assert "attitude: curt" in shown
    assert "clerk" not in shown
    assert "mute" not in shown


def test_the_user_role_compares_where_no_comparer_is_named(two: Shop) -> None:
    two.suite(
        agents=AGENTS,
        compare={"by": "judge"},
        personas=[persona("buyer")],
    )
    two.write("pyproject.toml", '[tool.dialeval.models]\nuser = "python:model.py:comparer:m"\n')
    two.write("conftest.py", PLAIN_USERS)

    result = two.run()

    assert asked(two)[0].startswith("comparer ")
    assert rating(two)["matches"] == 2
    # The suite names no comparer, so whoever reads the ratings is told which model it was.
    result.stdout.fnmatch_lines(["comparer (python:model.py:comparer:m): 4 calls, *"])


@pytest.mark.parametrize(
    ("models", "arguments", "why"),
    [
        ({}, (), "no model compares: name one"),
        ({"comparer": None}, (), "no model compares: name one"),
        ({"comparer": "python:model.py:comparer:m"}, ("--dialeval-no-judge",), "is switched off"),
        ({"comparer": "python:model.py:gone:m"}, (), "gone"),
    ],
)
def test_without_a_comparer_no_match_is_decided(
    two: Shop, models: dict[str, Any], arguments: tuple[str, ...], why: str
) -> None:
    two.write("conftest.py", PLAIN_USERS)
    if "comparer" in models:
        two.write("pyproject.toml", '[tool.dialeval.models]\nuser = "openai:m"\n')
    two.suite(agents=AGENTS, compare={"by": "judge"}, models=models)

    result = two.run(*arguments)

    result.assert_outcomes(passed=1, failed=1)  # the verdicts are what they are
    found = rating(two)
    assert (found["matches"], found["undecided"]) == (0, 2)
    assert why in found["why_undecided"][0]
    result.stdout.fnmatch_lines(["2 matches undecided: *"])


@pytest.mark.parametrize(
    ("better", "why"),
    [
        ('"clerk"', "is none of first, second, tie"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_comparer_that_fails_decides_nothing_and_is_named(
    two: Shop, better: str, why: str
) -> None:
    two.write("model.py", model(better))
    two.suite(agents=AGENTS, **JUDGED)

    two.run()

    assert [each["winner"] for each in matches(two)] == [None, None]
    assert why in matches(two)[0]["why"]


def test_an_unusable_reply_is_asked_for_once_more(two: Shop) -> None:
    better = f"({GREETS}) if 'could not be used' in text else 'whatever'"
    two.write("model.py", model(better))
    two.suite(agents=AGENTS, **JUDGED)

    two.run()

    assert [each["winner"] for each in matches(two)] == ["A", "tie"]
    assert "comparer shop.clerk-mute.buyer 1 round 1, left first, re-ask" in asked(two)


def test_an_agent_that_fails_loses_the_round_without_a_call(two: Shop) -> None:
    two.write("broken.py", "def agent(message):\n    raise ValueError('no idea')\n")
    agents = {**AGENTS, "mute": {"use": "python:broken.py:agent"}}
    two.suite(agents=agents, **JUDGED)

    two.run()

    [only] = matches(two)  # it never came to a second round
    assert only["winner"] == "A"
    assert only["why"].startswith("mute failed: ")
    assert asked(two) == []


def test_trials_that_are_unmeasured_are_in_no_match(two: Shop) -> None:
    two.write(
        "model.py",
        "from pytest_dialeval import NotMeasured\n"
        "def agent(message):\n    raise NotMeasured('off')\n",
    )
    for by in ("score", "judge"):
        two.suite(agents={**AGENTS, "mute": {"use": "python:model.py:agent"}}, compare={"by": by})

        two.run()

        [only] = matches(two)
        assert only["winner"] is None
        assert "mute, buyer-1 is unmeasured" in only["why"]


def test_differing_words_of_the_user_are_told_apart(two: Shop) -> None:
    buyer = persona("buyer", "Is the lamp in stock?", "Thanks, bye.")
    buyer["script"]["states"]["start"]["next"] = [
        {"when": {"keyword": {"any": ["Hello"]}}, "to": "s2"},
        {"to": "angry"},
    ]
    buyer["script"]["states"]["angry"] = {"say": ["Then I leave."], "end": True}
    two.suite(agents=AGENTS, personas=[buyer], **JUDGED)

    result = two.run()

    assert [each["same_instruction"] for each in matches(two)] == [True, False]
    every, same = rating(two), rating(two, 1)
    assert (every["rounds"], same["rounds"]) == ("all", "same instruction")
    assert (every["matches"], same["matches"]) == (2, 1)
    result.stdout.fnmatch_lines(
        ["in 1 of 2 matches both agents heard the same words; Elo over them alone: *"]
    )


def test_the_order_of_rating_is_trial_case_round(two: Shop) -> None:
    """Not the order of completion, nor that of names."""
    two.suite(
        agents=AGENTS,
        personas=[persona("zed"), persona("abe", "Hello?", "Bye.")],
        trials=2,
        compare={"by": "score"},
        rubrics=[rubric("greet", "stock")],
    )

    two.run()

    lines = (two.last_run / "matches.jsonl").read_text(encoding="utf-8").splitlines()
    order = [(each["trial"], each["case"]) for each in map(json.loads, lines)]
    assert order == [(1, "zed"), (1, "abe"), (2, "zed"), (2, "abe")]
    # A W T W T series ends elsewhere than W W T T would.
    assert [each["winner"] for each in map(json.loads, lines)] == ["A", "tie", "A", "tie"]
    assert rating(two)["agents"][0]["elo"] == pytest.approx(elo_of("WTWT"))


def test_k_start_and_scale_of_the_suite(two: Shop) -> None:
    two.suite(agents=AGENTS, compare={"k": 10, "start": 0, "scale": 200})

    two.run()

    found = rating(two)
    assert (found["k"], found["start"], found["scale"]) == (10, 0, 200)
    assert [each["elo"] for each in found["agents"]] == [5, -5]


def test_stored_runs_are_matched_again(two: Shop) -> None:
    two.suite(agents=AGENTS, **JUDGED)
    two.run()
    (two.path / "asked.txt").unlink()

    two.run("--dialeval-regrade", two.last_run.name)

    assert len(asked(two)) == 4
    assert [each["winner"] for each in matches(two)] == ["A", "tie"]


def test_recordings_of_two_agents(two: Shop) -> None:
    def recorded(answer: str) -> str:
        said = [("user", "Is the lamp in stock?"), ("assistant", answer)]
        messages = [{"role": role, "content": text} for role, text in said]
        return json.dumps({"task_id": "lamp", "messages": messages}) + "\n"

    two.write("good.jsonl", recorded("Hello! It is."))
    two.write("poor.jsonl", recorded("Dunno."))
    sources = [
        {"format": "openai", "path": f"{each}.jsonl", "agent": each} for each in ("good", "poor")
    ]
    two.suite(agents=None, personas=None, transcripts=sources, **JUDGED)

    two.run()

    assert [(each["left"], each["winner"]) for each in matches(two)] == [("good", "A")]


def test_a_budget_that_is_spent_leaves_the_rest_undecided(two: Shop) -> None:
    two.suite(agents=AGENTS, trials=3, **JUDGED)

    two.run("--dialeval-budget=calls=2")

    found = rating(two)
    assert len(asked(two)) <= 2
    assert found["undecided"] >= 4
    assert "budget" in found["why_undecided"][0]


def test_matches_are_made_before_a_fixtures_agent_ends_the_talk(two: Shop) -> None:
    """Its finaliser closes the loop, within the last item's teardown."""
    two.suite(agents=AGENTS, **JUDGED)
    two.suite("zoo", task={"id": "zoo", "max_rounds": 4}, agents=None)
    two.write(
        "conftest.py",
        """
        import pytest

        @pytest.fixture(scope="session")
        def dialeval_agent():
            return lambda: lambda message: "Hello"
        """,
    )

    result = two.run()

    result.assert_outcomes(passed=2, failed=1)
    assert [each["winner"] for each in matches(two)] == ["A", "tie"]


def test_progress_counts_matches() -> None:
    now = Standing(4, 0, 0, {"comparer": 2}, cost=0.5, matches=3)

    assert sentence(now) == "3 matches decided; in flight: comparer 2; $0.50"


def test_a_run_that_was_stopped_compares_nothing(two: Shop) -> None:
    two.suite(agents=dict(reversed(AGENTS.items())), **JUDGED)

    two.run("-x")

    assert asked(two) == []
    assert not (two.last_run / "matches.jsonl").exists()


def test_ctrl_c_while_matches_are_made(two: Shop) -> None:
    slow = model(GREETS).replace(
        "        second =", "        await asyncio.sleep(30)\n        second ="
    )
    two.write("model.py", f"import asyncio\n{slow}")
    two.suite(agents=AGENTS, **JUDGED)
    command = [sys.executable, "-m", "pytest", "-p", "dialeval", "-p", "no:cacheprovider"]
    process = subprocess.Popen(command, cwd=two.path, stdout=subprocess.PIPE, text=True)
    try:
        wait_for(two.path / "asked.txt")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()

    assert process.returncode == 2, out
    assert "Traceback" not in out
    assert two.summary["exit_status"] == 2
    assert two.summary["ratings"]["ratings"][0]["matches"] == 0


def wait_for(path: Path) -> None:
    ends = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < ends, f"{path} never came"
        time.sleep(0.02)


# ---- xdist: the controller makes them


def test_summaries_with_and_without_workers_are_equal(two: Shop) -> None:
    two.suite(
        agents=AGENTS, personas=[persona("zed"), persona("abe", "Hello?")], trials=2, **JUDGED
    )
    two.suite("other", task={"id": "other", "max_rounds": 4}, agents=AGENTS, trials=2)

    two.run()
    alone = two.summary
    (two.path / "asked.txt").unlink()
    distributed(two)
    spread = two.summary

    assert len(asked(two)) == 12
    for each in (alone, spread):
        for key in ("run_id", "created"):
            del each[key]
        for usage in each["usage"]:
            del usage["seconds"]
    assert alone == spread
    assert [each["matches"] for each in alone["ratings"]["ratings"]] == [2, 2, 6, 6]


def test_a_share_of_the_budget_is_kept_for_matches(two: Shop) -> None:
    two.suite(agents=AGENTS, trials=2, **JUDGED)

    distributed(two, "--dialeval-budget=calls=6")

    # Three shares of 2 calls: two workers, whose agents ask no model, and the controller.
    assert len(asked(two)) == 2
    assert (rating(two)["matches"], rating(two)["undecided"]) == (1, 3)
    [budget] = two.summary["budget"]
    assert (budget["limit"], budget["spent"]) == (6, 2)


def test_replies_are_recorded_and_replayed_on_the_controller_too(two: Shop) -> None:
    two.suite(agents=AGENTS, **JUDGED)
    two.run("--dialeval-record=new")
    (two.path / "asked.txt").unlink()
    recorded = rating(two)

    distributed(two)

    assert asked(two) == []
    assert rating(two) == recorded
    [usage] = two.summary["usage"]
    assert (usage["role"], usage["replayed"]) == ("comparer", 4)


def distributed(two: Shop, *arguments: str) -> None:
    options = ("-p", "xdist", "-n", "2", "-p", "dialeval")
    result = two.pytester.runpytest_subprocess(*options, *arguments)
    assert result.ret == 1
