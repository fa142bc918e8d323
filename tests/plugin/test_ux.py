"""Six judged subscores of work over several rounds, from the suite to the leaderboard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.run import Conversation
from pytest_dialeval.records.transcript import Transcript
from pytest_dialeval.records.ux import RUBRICS
from pytest_dialeval.runs import trial as trials
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.rating import rate_again

from .conftest import Shop, rubric
from .played import calls, forget, verdicts

# Gives each rubric the level that levels.json names for the agent, and quotes its first answer.
CLIENT = """
import json
import re
from pathlib import Path

from pytest_dialeval.records.model import ChatAnswer

HERE = Path(__file__).parent


class Judge:
    async def chat(self, call, *, deadline):
        said = ["judge", call.spec.model, call.case, call.trial, call.purpose]
        with (HERE / "calls.jsonl").open("a") as log:
            log.write(json.dumps(said) + "\\n")
        (HERE / "schema.json").write_text(json.dumps(call.schema))
        given = json.loads((HERE / "levels.json").read_text())
        agent = call.case.split(".")[1]
        text = call.messages[-1]["content"]
        turn, said = re.search(r"turn (\\d+), agent\\n(.*)", text).groups()
        found = []
        for name in re.findall(r"criterion (ux[.]\\w+)", text) or call.purpose.split()[1:2]:
            level = given[agent].get(name.rstrip(","), given[agent]["else"])
            quote = [{"turn_id": int(turn), "quote": said}]
            reply = {"reasoning": "read", "verdict": level, "evidence": quote, "absence": False}
            found.append({"rubric": name.rstrip(","), **reply})
        one = call.schema["title"] == "verdict"
        return ChatAnswer(json.dumps(found[0] if one else {"verdicts": found}), model="m-2026")


judge = Judge()
"""
AGENTS = {
    "clerk": {"use": "scripted", "script": "clerk.yaml"},
    "mute": {"use": "scripted", "script": "mute.yaml"},
}
SAFE = rubric("safe", dimension="safety", keyword=None, **{"not": {"keyword": {"any": ["pin"]}}})


def ux(shop: Shop, levels: Mapping[str, Mapping[str, str]], **sections: Any) -> None:
    """A suite that asks for the six; `levels`: agent -> rubric -> level, `else` for the rest."""
    shop.write("client.py", CLIENT)
    shop.write("levels.json", json.dumps(levels))
    shop.write("mute.yaml", 'otherwise: ["Dunno."]')
    given = {
        "agents": {name: AGENTS[name] for name in levels},
        "models": {"judge": "python:client.py:judge:m"},
        "scoring": {"pass": 0.5, "ux": True},
        "rubrics": [SAFE],
        **sections,
    }
    shop.suite(**given)


def verified(monkeypatch: pytest.MonkeyPatch, words: Mapping[str, Mapping[str, Any]]) -> None:
    """What a verifier said, by agent: conversations of this suite have none of their own."""
    told = trials._told

    def with_checks(planned: PlannedTrial, transcript: Transcript) -> Conversation:
        return replace(told(planned, transcript), checks=words[planned.agent])

    monkeypatch.setattr(trials, "_told", with_checks)


def test_one_call_a_trial_gives_six_verdicts(shop: Shop) -> None:
    ux(
        shop,
        {"clerk": {"else": "mostly", "ux.testing": "not at all", "ux.correction": "did not arise"}},
    )

    result = shop.run("-q")

    assert [each[4] for each in calls(shop)] == ["batch, vote 1"]
    said = {name.split()[1]: each for name, each in verdicts(shop).items()}
    assert {name: said[name].status for name in RUBRICS} == {
        "ux.task_success": "passed",
        "ux.final_requirement": "passed",
        "ux.correction": "not_applicable",
        "ux.testing": "failed",
        "ux.context_keeping": "passed",
        "ux.user_burden": "passed",
    }
    assert said["ux.testing"].evidence[0].quote == "Hello! The lamp is in stock."
    result.assert_outcomes(passed=6, skipped=1)  # the soft failure passes its item, and is shown
    assert shop.summary["verdicts"]["soft_failed"] == 1
    [one] = shop.agent_figures()["rewards"]["trials"]
    assert one["ux_reward"] == one["ranked_reward"] == pytest.approx(4 * 0.7 / 5)
    assert (one["persona"], one["number"], one["why"]) == ("buyer", 1, "")


def test_the_schema_has_the_levels(shop: Shop) -> None:
    ux(shop, {"clerk": {"else": "fully"}})

    shop.run()

    schema = json.loads((shop.path / "schema.json").read_text())
    entry = schema["properties"]["verdicts"]["items"]["properties"]
    assert entry["rubric"]["enum"] == [*RUBRICS]
    assert entry["verdict"]["enum"] == [
        *("fully", "mostly", "partly", "not at all", "did not arise", "cannot_tell")
    ]


def test_they_are_items_like_any_other(shop: Shop) -> None:
    ux(shop, {"clerk": {"else": "fully"}})

    assert [each.rpartition("::")[2] for each in shop.ids()] == ["safe", *RUBRICS, "score"]
    assert [each.rpartition("::")[2] for each in shop.ids("-k", "ux.testing")] == ["ux.testing"]
    [item] = [each for each in shop.items() if each.name == "ux.testing"]
    line = shop.line_of("shop.dialeval.yaml", "scoring")
    assert item.reportinfo()[1] == line - 1
    mark = item.get_closest_marker("dialeval")
    assert mark is not None
    assert (mark.kwargs["severity"], mark.kwargs["method"]) == ("soft", "judge")


def test_of_some_of_the_six_no_reward_is_made(shop: Shop) -> None:
    ux(shop, {"clerk": {"else": "fully"}})

    shop.run("-k", "ux.testing or ux.correction")

    [one] = shop.agent_figures()["rewards"]["trials"]
    assert (one["ux_reward"], one["why"]) == (None, "ux.task_success was not selected")


def test_weights(shop: Shop) -> None:
    levels = {"clerk": {"else": "not at all", "ux.task_success": "fully"}}
    ux(shop, levels, scoring={"ux": {"task_success": 5}})

    shop.run()

    assert shop.agent_figures()["rewards"]["ux_reward"] == {"mean": 0.5, "n": 1}


def test_a_recording_of_the_calls_replays(shop: Shop) -> None:
    ux(shop, {"clerk": {"else": "mostly"}})
    shop.run("--dialeval-record=new")
    forget(shop)
    (shop.path / "levels.json").unlink()

    result = shop.run("--dialeval-record=none")

    assert calls(shop) == []
    result.assert_outcomes(passed=8)
    assert shop.agent_figures()["rewards"]["ux_reward"]["mean"] == pytest.approx(0.7)


def test_without_a_judge_nothing_is_ranked(shop: Shop) -> None:
    ux(shop, {"clerk": {"else": "fully"}, "mute": {"else": "fully"}})

    result = shop.run("--dialeval-no-judge")

    assert calls(shop) == []
    figures = shop.agent_figures()["rewards"]
    assert figures["ux_reward"] == figures["ranked_reward"] == {"mean": None, "n": 0}
    result.stdout.fnmatch_lines(["*1 of 1 trial not ranked: none of the six was graded"])


def test_the_judged_reward_stands_beside_both_words_of_the_verifier(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The better judged agent breaks the work in the end: it stands behind the other one."""
    ux(shop, {"clerk": {"else": "fully"}, "mute": {"else": "mostly"}}, trials=2)
    verified(
        monkeypatch,
        {"clerk": {"1": 1.0, "2": 0.5}, "mute": {"1": 0.0, "2": 1.0}},
    )

    result = shop.run()

    result.stdout.fnmatch_lines(
        [
            "rewards *agent *trials *after round 1 *at the end *ux reward *ranked",
            "shop *clerk *2 *1.000 (n=2) *0.500 (n=2) *1.000 (n=2) *0.000 (n=2)",
            "shop *mute *2 *0.000 (n=2) *1.000 (n=2) *0.700 (n=2) *0.700 (n=2)",
            "leaderboard *tasks *ranked *95 % of ranked *score *Elo by score",
            "mute *1 of 1 *0.700 *too few cases *0.700 *1030.5",
            "clerk *1 of 1 *0.000 *too few cases *1.000 *969.5",
            "mute *2-0-0",
        ]
    )
    rows = shop.summary["ratings"]["leaderboard"]
    assert [(each["agent"], each["ranked"]["value"]) for each in rows] == [
        ("mute", pytest.approx(0.7)),
        ("clerk", 0.0),
    ]
    [stored, *_] = [
        json.loads(each.read_text())["rewards"]
        for each in sorted((shop.last_run / "traces").glob("*.result.json"))
        if "clerk" in each.read_text()
    ]
    assert stored == {
        "verifier_first": 1.0,
        "verifier_last": 0.5,
        "ux": 1.0,
        "ranked": 0.0,
        "why": "",
    }


def test_means_are_over_the_trials_that_have_the_reward(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    ux(shop, {"clerk": {"else": "fully"}, "mute": {"else": "fully"}})
    verified(monkeypatch, {"clerk": {"1": 1.0, "2": None}, "mute": {}})

    result = shop.run()

    clerk, mute = (shop.agent_figures(agent=number)["rewards"] for number in (0, 1))
    assert clerk["verifier_last"] == clerk["ranked_reward"] == {"mean": None, "n": 0}
    assert clerk["verifier_first"] == clerk["ux_reward"] == {"mean": 1.0, "n": 1}
    assert mute["verifier_first"] == {"mean": None, "n": 0}
    assert mute["ranked_reward"] == {"mean": 1.0, "n": 1}
    result.stdout.fnmatch_lines(
        [
            "shop / clerk: 1 of 1 trial not ranked: the verifier could not tell after round 2",
            "mute *1 of 1 *1.000 *1.000",
            "clerk *0 of 1 [*] *- *- *1.000",
            "1 match undecided: clerk, buyer-1: the verifier could not tell after round 2",
        ]
    )


def test_a_verifier_without_subscores_ranks_nobody(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write("mute.yaml", 'otherwise: ["Dunno."]')
    shop.suite(agents=AGENTS)
    verified(monkeypatch, {"clerk": {"1": 1.0, "2": 0.0}, "mute": {"1": 0.0, "2": 1.0}})

    result = shop.run()

    result.stdout.fnmatch_lines(
        [
            "shop *clerk *1 *1.000 (n=1) *0.000 (n=1) *- *-",
            "leaderboard *tasks *score *95 % of score *",
            "clerk *",
        ]
    )
    assert shop.summary["ratings"]["leaderboard"][0]["ranked"] is None


def test_suites_without_either_have_no_rewards(shop: Shop) -> None:
    shop.suite()

    result = shop.run()

    assert shop.agent_figures()["rewards"] is None
    assert not [each for each in result.outlines if each.startswith("rewards ")]
    [path] = (shop.last_run / "traces").glob("*.result.json")
    assert "rewards" not in json.loads(path.read_text())


def test_a_stored_run_is_ranked_anew_from_plan_and_ledger_alone(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    ux(shop, {"clerk": {"else": "fully"}, "mute": {"else": "mostly"}})
    verified(monkeypatch, {"clerk": {"2": 0.0}, "mute": {"2": 1.0}})
    shop.run()
    first = shop.summary["ratings"]

    again = rate_again(RunDirectory(shop.last_run), shop.path)

    assert again.model_dump(mode="json") == first
    assert [each.agent for each in again.leaderboard] == ["mute", "clerk"]


def test_an_agent_that_crashes_is_worth_nothing(shop: Shop) -> None:
    ux(shop, {"clerk": {"else": "fully"}}, agents={"clerk": {"use": "python:broken.py:agent"}})
    shop.write("broken.py", "def agent(message):\n    raise RuntimeError('it broke')\n")

    shop.run()

    assert calls(shop) == []
    assert shop.agent_figures()["rewards"]["ranked_reward"] == {"mean": 0.0, "n": 1}
