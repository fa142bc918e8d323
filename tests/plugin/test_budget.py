"""A budget: within it calls are made, beyond it none, and what is left out is said."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Shop, persona, rubric
from .played import CLIENT, JUDGE, calls, judged, play, usage

PRICE = f'[tool.dialeval.prices]\n"{JUDGE}" = {{input = 1000, output = 10000}}\n'


def run(shop: Shop, budget: str, *arguments: str) -> pytest.RunResult:
    # One conversation after the other, so that no two calls are in flight at once.
    return shop.run("--dialeval-ahead=0", f"--dialeval-budget={budget}", *arguments)


def standing(shop: Shop) -> dict[str, Any]:
    return {each["name"]: each for each in shop.summary["budget"]}


# ---- used up


def test_beyond_the_calls_nobody_is_asked(shop: Shop) -> None:
    play(shop, trials=5, rubrics=[judged("greet"), rubric("rule")])
    result = run(shop, "calls=2")
    result.assert_outcomes(passed=7, errors=3)
    assert result.ret == 10
    assert len(calls(shop)) == 2
    assert usage(shop)["calls"] == 2
    result.stdout.fnmatch_lines(
        [
            "unmeasured: the budget of calls=2 is used up; budget: calls 2 of 2, 0 left*",
            "budget: calls 2 of 2, 0 left",
            "shop / clerk: 3 of 5 trials unmeasured*",
        ]
    )
    assert standing(shop)["calls"] == {"name": "calls", "limit": 2, "spent": 2, "left": 0}


def test_beyond_the_tokens(shop: Shop) -> None:
    play(shop, trials=5)
    # A call is expected to take 1024 tokens of output and a good thousand of input; it takes 110.
    run(shop, "tokens=3000").assert_outcomes(passed=5)
    run(shop, "tokens=1000").assert_outcomes(errors=5)
    assert len(calls(shop)) == 5
    assert standing(shop)["tokens"]["left"] == 1000


def test_beyond_the_minutes(shop: Shop) -> None:
    play(shop, trials=3)
    result = run(shop, "minutes=0")
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(["unmeasured: the budget of minutes=0 is used up*"])
    assert calls(shop) == []


def test_beyond_the_money(shop: Shop) -> None:
    play(shop, trials=5)
    shop.write("pyproject.toml", PRICE)
    # 0.1 in and 0.1 out a call; expected are 10.24 out and a little more.
    result = run(shop, "usd=14")
    result.assert_outcomes(passed=5)
    assert usage(shop)["cost_usd"] == pytest.approx(1.0)
    assert standing(shop)["usd"] == {"name": "usd", "limit": 14, "spent": 1.0, "left": 13.0}
    run(shop, "usd=5").assert_outcomes(errors=5)
    assert len(calls(shop)) == 5


def test_a_share_is_kept_for_the_judge(shop: Shop) -> None:
    play(shop, trials=4)
    run(shop, "calls=4,judge=50%").assert_outcomes(passed=4)
    assert len(calls(shop)) == 4  # its own share, and what nobody else used


def test_others_leave_the_judges_share(shop: Shop) -> None:
    """Of 6 calls the user may take 3: the first conversation's two lines, and one more."""
    other = "python:client.py:other:fake-2"
    play(shop, models={"user": other, "judge": JUDGE}, trials=3)
    run(shop, "calls=6,judge=50%").assert_outcomes(passed=1, errors=2)
    assert [each[0] for each in calls(shop)] == ["other", "other", "judge", "other"]
    assert standing(shop)["calls"]["left"] == 2


def test_failed_tries_are_counted(shop: Shop) -> None:
    play(shop, trials=4)
    failing = CLIENT.replace(
        "        return ChatAnswer(",
        "        if call.trial < 3:\n"
        "            from pytest_dialeval.errors import ProviderFault\n"
        '            raise ProviderFault("500", status=500, tries=1)\n'
        "        return ChatAnswer(",
        1,
    )
    shop.write("client.py", failing)
    run(shop, "calls=3").assert_outcomes(passed=1, errors=3)
    assert (usage(shop)["calls"], usage(shop)["failed"]) == (1, 2)
    assert standing(shop)["calls"]["left"] == 0


def test_replayed_calls_cost_nothing(shop: Shop) -> None:
    play(shop, trials=3)
    shop.run("--dialeval-record=new")
    result = run(shop, "calls=0,usd=0")
    result.assert_outcomes(passed=3)
    assert usage(shop)["replayed"] == 3
    assert {name: each["left"] for name, each in standing(shop).items()} == {"calls": 0, "usd": 0}


def test_within_it_nothing_is_left_out(shop: Shop) -> None:
    play(shop, trials=3)
    result = run(shop, "calls=1e3,tokens=1e6,minutes=30")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["budget: calls 3 of 1000, 997 left; tokens 330 of 1e+06,*"])


def test_the_project_file_sets_one(shop: Shop) -> None:
    play(shop, trials=3)
    shop.write("pyproject.toml", '[tool.dialeval]\nbudget = "calls=1"\nahead = 0\n')
    shop.run().assert_outcomes(passed=1, errors=2)


# ---- workers


@pytest.mark.slow
def test_workers_share_it(shop: Shop) -> None:
    play(shop, trials=12)
    result = shop.pytester.runpytest_subprocess(
        "-p", "xdist", "-n", "2", "-p", "dialeval", "--dialeval-budget=calls=5"
    )
    assert result.ret == 10
    made = len(calls(shop))
    assert 3 <= made <= 5  # a worker may not use what another one leaves
    assert usage(shop)["calls"] == made
    assert standing(shop)["calls"] == {
        "name": "calls",
        "limit": 5,
        "spent": made,
        "left": 5 - made,
    }
    assert shop.agent_figures()["unmeasured"] == 12 - made


# ---- what cannot be


def test_money_without_a_price(shop: Shop) -> None:
    play(shop)
    result = run(shop, "usd=5")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [each for each in result.errlines if each.strip()]
    assert line.startswith(
        f"ERROR: --dialeval-budget: usd=5 cannot be kept: the price of '{JUDGE}'"
    )
    assert "[tool.dialeval.prices]" in line
    assert calls(shop) == []
    assert shop.runs == []


CRASHING = """
import os
from pathlib import Path

LOG = Path(__file__).with_name("held.txt")

async def answer(message):
    with LOG.open("a") as log:
        log.write("x")
    if LOG.stat().st_size == 3:
        os._exit(1)
    return "Hello!"
"""


@pytest.mark.slow
def test_who_replaces_a_lost_worker_has_what_that_one_left(shop: Shop) -> None:
    shop.write("conftest.py", "import pytest_dialeval.plugin.calling as it\nit.NOTED = 0.0\n")
    shop.write("agent.py", CRASHING)
    agents = {"one": {"use": "python:agent.py:answer"}}
    play(shop, trials=6, agents=agents, personas=[persona("buyer", "Hi")])
    shop.pytester.runpytest_subprocess(
        "-p", "xdist", "-n", "1", "-p", "dialeval", "--dialeval-budget=calls=3"
    )
    assert len(calls(shop)) == 3
    assert usage(shop)["calls"] == 3
    assert standing(shop)["calls"]["left"] == 0


@pytest.mark.slow
def test_money_without_a_price_under_xdist(shop: Shop) -> None:
    play(shop)
    result = shop.pytester.runpytest_subprocess(
        "-p", "xdist", "-n", "2", "-p", "dialeval", "--dialeval-budget=usd=5"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str() + result.stderr.str()
    assert text.count("cannot be kept") == 1
    assert calls(shop) == []
    assert shop.runs == []


def test_a_price_is_asked_only_of_models_that_may_be_called(shop: Shop) -> None:
    play(shop, rubrics=[rubric("greet")])
    assert run(shop, "usd=5").ret == 0
    play(shop)
    assert run(shop, "usd=5", "--dialeval-no-judge").ret == 0


def test_the_judge_of_a_body_needs_a_price_too(shop: Shop) -> None:
    play(shop, rubrics=[])
    shop.write(
        "test_body.py",
        """
        from pytest_dialeval import dialogue_case

        @dialogue_case("shop.dialeval.yaml")
        def test_body(dialogue):
            dialogue.expect.judge('the agent says "Hello"')
        """,
    )
    assert run(shop, "usd=5", "test_body.py").ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("tokns=4", "'tokns' is no limit; did you mean 'tokens'?"),
        ("calls=many", "'many' is not a number of 0 or more"),
        ("calls=1.5", "'1.5' is not a whole number"),
        ("judge=20%", "names no limit"),
        ("calls=3,calls=4", "stands there twice"),
        ("calls=3,judge=2", "a share from 0 to 1"),
    ],
)
def test_a_wrong_budget(shop: Shop, given: str, said: str) -> None:
    play(shop)
    result = run(shop, given)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [each for each in result.errlines if said in each]
    assert len(lines) == 1
    assert "--dialeval-budget" in lines[0]
