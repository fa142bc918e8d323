"""Conversations that exist already: each recorded task id a case, each recording a trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Shop, rubric

USER = {"role": "user", "content": "Is the lamp in stock?"}
GOOD = {"role": "assistant", "content": "Hello! It is."}
BAD = {"role": "assistant", "content": "What now?"}
REWARD = {
    "id": "reward",
    "dimension": "completion",
    "recorded": {"field": "reward", "min": 1},
}


def talk(answer: dict[str, str], **keys: Any) -> dict[str, Any]:
    return {"traj": [USER, answer], **keys}


def transcripts(shop: Shop, *sources: dict[str, str], **sections: Any) -> None:
    shop.suite(agents=None, personas=None, transcripts=list(sources), **sections)


def tau_bench(shop: Shop, *talks: dict[str, Any], **sections: Any) -> None:
    shop.write("talks.json", json.dumps(talks))
    transcripts(shop, {"format": "tau-bench", "path": "talks.json"}, **sections)


def test_recordings_are_graded(shop: Shop) -> None:
    tau_bench(shop, talk(GOOD, task_id=1, reward=1), talk(BAD, task_id=2, reward=0))

    result = shop.run()

    result.assert_outcomes(passed=1, failed=1)
    assert shop.agent_figures()["name"] == "recorded"
    assert (shop.agent_figures()["cases"], shop.agent_figures()["trials"]) == (2, 2)


def test_a_failure_names_file_and_place_of_the_recording(shop: Shop) -> None:
    tau_bench(shop, talk(GOOD, task_id=1, reward=1), talk(BAD, task_id=2, reward=0))

    shop.run().stdout.fnmatch_lines(
        [
            "  turn 2 agent: What now?",
            "  transcript: talks.json#1",
            "  repeat: pytest shop.dialeval.yaml::2-1::greet",
        ]
    )


def test_no_trace_is_written_only_the_place_and_a_digest(shop: Shop) -> None:
    tau_bench(shop, talk(GOOD, task_id=1, reward=1))

    shop.run().assert_outcomes(passed=1)

    assert list((shop.last_run / "traces").glob("*.jsonl")) == []
    [path] = (shop.last_run / "traces").glob("*.result.json")
    conversation = json.loads(path.read_text(encoding="utf-8"))["conversation"]
    assert conversation["recording"] == "talks.json#0"
    assert len(conversation["sha256"]) == 64
    assert conversation["trace"] is None


def test_recorded_rewards_decide_a_trial_alone(shop: Shop) -> None:
    tau_bench(
        shop,
        talk(GOOD, task_id=1, reward=1),
        talk(BAD, task_id=1, reward=1),
        talk(GOOD, task_id=2, reward=0),
        talk(GOOD, task_id=2, reward=0),
        rubrics=[REWARD, rubric("greet", severity="soft")],
        scoring={"pass_on": "reward"},
    )

    shop.run()

    curve = shop.agent_figures()["pass_hat_k"]
    assert (curve["1"]["value"], curve["2"]["value"]) == (0.5, 0.5)
    assert [each["pass_rate"] for each in shop.agent_figures()["personas"]] == [1.0, 0.0]


def test_a_value_that_is_not_recorded_is_no_failure_of_the_agent(shop: Shop) -> None:
    tau_bench(
        shop,
        talk(GOOD, task_id=1, reward=1),
        rubrics=[rubric("greet"), {**REWARD, "recorded": {"field": "rewrad", "min": 1}}],
    )

    result = shop.run()

    assert result.parseoutcomes().get("failed") is None


def test_cases_with_fewer_trials_leave_the_mean_and_it_is_said(shop: Shop) -> None:
    tau_bench(
        shop,
        *(talk(GOOD, task_id=task, reward=1) for task in (1, 1, 1, 2, 2, 2, 3)),
    )

    result = shop.run()

    result.stdout.fnmatch_lines(["shop / recorded: Pass^2..3 over 2 of 3 cases"])
    curve = shop.agent_figures()["pass_hat_k"]
    assert [(each["cases"], each["of_cases"]) for each in curve.values()] == [
        (3, 3),
        (2, 3),
        (2, 3),
    ]


def test_trials_are_numbered_as_the_file_numbers_them(shop: Shop) -> None:
    tau_bench(
        shop,
        talk(BAD, task_id=1, trial=1, reward=0),
        talk(GOOD, task_id=1, trial=0, reward=1),
    )

    result = shop.run("-v")

    result.stdout.fnmatch_lines(["*::1-1::greet PASSED*", "*::1-2::greet FAILED*"])


def test_openai_chat_messages(shop: Shop) -> None:
    lines = [
        {"task_id": "a", "messages": [USER, GOOD]},
        {"task_id": "b", "messages": [USER, BAD]},
    ]
    shop.write("talks.jsonl", "\n".join(map(json.dumps, lines)))
    transcripts(shop, {"format": "openai", "path": "talks.jsonl"})

    shop.run().assert_outcomes(passed=1, failed=1)


def tau2(*tasks: str | None) -> dict[str, Any]:
    simulations = []
    for number, task in enumerate(tasks):
        simulation = {
            "id": str(number),
            "task_id": task,
            "trial": 0,
            "reward_info": {"reward": 1.0},
            "termination_reason": "user_stop",
            "messages": [{**USER, "turn_idx": 0}, {**GOOD, "turn_idx": 1}],
        }
        simulations.append({k: v for k, v in simulation.items() if v is not None})
    return {"simulations": simulations}


def test_tau2_simulations(shop: Shop) -> None:
    shop.write("talks.json", json.dumps(tau2("x", "y")))
    transcripts(shop, {"format": "tau2", "path": "talks.json"}, rubrics=[rubric("greet"), REWARD])

    shop.run().assert_outcomes(passed=4)


def test_simulations_without_task_ids_are_refused_not_pooled(shop: Shop) -> None:
    shop.write("talks.json", json.dumps(tau2("x", None)))
    transcripts(shop, {"format": "tau2", "path": "talks.json"})

    result = shop.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*talks.json*task_id*"])


def test_our_own_traces_are_graded_again(shop: Shop) -> None:
    shop.suite(trials=2)
    shop.run().assert_outcomes(passed=2)
    folder = shop.last_run / "traces"
    [first, second] = sorted(folder.glob("*.jsonl"))
    sources = [{"format": "dialeval", "path": str(each)} for each in (first, second)]
    transcripts(shop, *sources, rubrics=[rubric("tractor", "tractor"), rubric("greet")])

    shop.run().assert_outcomes(passed=2, failed=2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "*talks.json*empty*"),
        ("[", "*talks.json*"),
        ('{"a": 1}', "*talks.json*"),
        ('[{"task_id": 1, "reward": 1, "traj": 7}]', "*talks.json*"),
    ],
    ids=["empty", "truncated", "mixed_up", "wrong_type"],
)
def test_files_that_cannot_be_read_are_one_message(shop: Shop, text: str, said: str) -> None:
    shop.write("talks.json", text)
    transcripts(shop, {"format": "tau-bench", "path": "talks.json"})

    result = shop.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([said])
    assert "Traceback" not in result.stdout.str()
    assert ".py:" not in result.stdout.str()


def test_a_file_that_is_not_there(shop: Shop) -> None:
    transcripts(shop, {"format": "tau-bench", "path": "nowhere.json"})

    shop.run().stdout.fnmatch_lines(["shop.dialeval.yaml:*nowhere.json*"])


def test_an_unknown_format(shop: Shop) -> None:
    shop.write("talks.json", "[]")
    transcripts(shop, {"format": "tau_bench", "path": "talks.json"})

    shop.run().stdout.fnmatch_lines(["shop.dialeval.yaml:*'tau_bench'*did you mean 'tau-bench'?*"])


def test_recorded_judge_rubrics_are_unmeasured_without_a_judge(shop: Shop) -> None:
    judged = {"id": "kind", "dimension": "robustness", "judge": "the agent was kind"}
    tau_bench(shop, talk(GOOD, task_id=1, reward=1), rubrics=[rubric("greet"), judged])

    result = shop.run()

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["unmeasured: no judge is configured (judge_error)"])


def test_recorded_judge_rubrics_with_a_judge(shop: Shop) -> None:
    judged = {"id": "kind", "dimension": "robustness", "judge": "the agent was kind"}
    tau_bench(
        shop,
        *(talk(GOOD, task_id=task, reward=1) for task in (1, 2)),
        rubrics=[rubric("greet"), judged],
    )
    shop.write("judge.yaml", "verdicts: {kind: {verdict: met, evidence: [{quote: Hello}]}}\n")
    shop.write(
        "conftest.py",
        "from pytest_dialeval import ScriptedJudge\n\n"
        "def pytest_dialeval_judges(config):\n"
        "    return {'default': ScriptedJudge.from_file('judge.yaml')}\n",
    )

    shop.run().assert_outcomes(passed=4)


def test_the_summary_needs_few_cases_to_be_honest(shop: Shop) -> None:
    tau_bench(shop, *(talk(GOOD, task_id=task, reward=1) for task in range(9)))

    shop.run().stdout.fnmatch_lines(["shop *recorded *9 *", "no interval of Pass^1: too few cases"])
    assert shop.agent_figures()["pass_hat_k"]["1"]["low"] is None


def test_ten_cases_have_an_interval(shop: Shop) -> None:
    tau_bench(
        shop, *(talk(GOOD if task % 2 else BAD, task_id=task, reward=1) for task in range(10))
    )

    shop.run()

    first = shop.agent_figures()["pass_hat_k"]["1"]
    # Wilson's interval of 5 in 10, by hand.
    assert (round(first["low"], 3), round(first["high"], 3)) == (0.237, 0.763)


def shared(name: str) -> Path:
    path = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "tau" / name
    if not path.is_file():
        pytest.skip("../shared is not here")
    return path
