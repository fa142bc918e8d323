import json
from pathlib import Path

import pytest

from pytest_dialeval.records.transcript import ToolCall, Usage
from pytest_dialeval.traces.importers.tau2 import read_tau2
from tests.traces.asking import content, refused

PATH = Path("results.json")


def say(role, content, **more):
    return {"role": role, "content": content, "tool_calls": None, **more}


def call(name, requestor="assistant", identity="c1", **arguments):
    return {"id": identity, "name": name, "arguments": arguments, "requestor": requestor}


def result(content, requestor="assistant", identity="c1", error=False):
    return {
        "id": identity,
        "role": "tool",
        "content": content,
        "requestor": requestor,
        "error": error,
    }


TALK = [say("assistant", "Hi!"), say("user", "Bye ###STOP###")]


def simulation(messages=TALK, **more):
    return {
        "id": "u-1",
        "task_id": "5",
        "trial": 0,
        "termination_reason": "user_stop",
        "reward_info": {"reward": 1.0},
        "messages": messages,
        **more,
    }


def results(*simulations, **info):
    return {"info": info, "tasks": [], "simulations": list(simulations)}


def read_file(value):
    return read_tau2(content(value), PATH)


def one(*args, **more):
    return read_file(results(simulation(*args, **more))).recordings[0].transcript


def refusal(value):
    return refused(read_tau2, value, PATH)


def test_the_object_the_list_and_the_lines():
    items = [simulation(), simulation(trial=1), simulation(task_id="6")]
    lines = b"\n".join(json.dumps(each).encode() for each in items)
    for value in (results(*items), items, lines):
        found = [(each.task_id, each.trial) for each in read_file(value).recordings]
        assert found == [("5", 0), ("5", 1), ("6", 0)]


def test_the_agent_is_named_as_in_the_file():
    value = results(simulation(), agent_info={"implementation": "llm_agent", "llm": "gpt-4.1"})
    assert read_file(value).recordings[0].agent == "gpt-4.1"
    assert read_file([simulation()]).recordings[0].agent is None


def test_tools_of_the_agent_and_of_the_user():
    turns = one(
        [
            say("assistant", "Toggle it", cost=0.004, usage={"prompt_tokens": 9}),
            {**say("user", None), "tool_calls": [call("toggle", "user", on=True)]},
            result("on", "user", error=True),
            {
                **say("assistant", "Looking"),
                "tool_calls": [call("look"), call("close", identity="c2")],
            },
            result("found"),
            result("", identity="c2"),
            say("user", "###TRANSFER###"),
        ]
    ).turns
    assert [(each.speaker, each.round, each.text) for each in turns] == [
        ("agent", 0, "Toggle it"),
        ("user", 1, ""),
        ("agent", 1, "Looking"),
        ("user", 2, ""),
    ]
    assert turns[1].tool_calls == (ToolCall("toggle", {"on": True}, "c1", "on", True),)
    assert [each.result for each in turns[2].tool_calls] == ["found", ""]


def test_equal_ids_of_agent_and_user_are_told_apart_by_who_called():
    turns = one(
        [
            {**say("user", "I do"), "tool_calls": [call("mine", "user")]},
            {**say("assistant", "Me too"), "tool_calls": [call("yours")]},
            result("of the user", "user"),
            result("of the agent"),
        ]
    ).turns
    assert turns[0].tool_calls[0].result == "of the user"
    assert turns[1].tool_calls[0].result == "of the agent"


def test_unknown_costs_are_not_zero():
    messages = [
        say("assistant", "a", cost=0.004, usage={"prompt_tokens": 9, "completion_tokens": 4}),
        say("user", "b", cost=0.0, usage={"prompt_tokens": 9, "completion_tokens": 4}),
        say("assistant", "c", cost=0.0, usage=None),
        say("assistant", "d", cost=None),
        say("assistant", "e", cost=0.1, generation_time_seconds=1.5),
    ]
    transcript = one(messages, agent_cost=0.0, user_cost=None)
    assert [each.usage for each in transcript.turns] == [
        Usage(9, None, 4, 0.004),
        Usage(9, None, 4, None),
        None,
        None,
        Usage(cost_usd=0.1),
    ]
    assert transcript.turns[4].latency == 1.5
    assert not {"agent_cost", "user_cost"} & set(transcript.recorded)


def test_what_is_recorded():
    transcript = one(
        duration=60.0,
        seed=7,
        agent_cost=0.02,
        policy="p" * 1000,
        ticks=None,
        reward_info={
            "reward": 0.0,
            "db_check": {"db_match": False, "db_reward": 0.0},
            "env_assertions": [],
            "action_checks": [{"action_match": True}, {"action_match": False}],
            "communicate_checks": [{"met": True}],
            "nl_assertions": None,
            "reward_basis": None,
            "reward_breakdown": {"DB": 0.0},
        },
    )
    assert transcript.recorded == {
        "reward": 0.0,
        "db_match": False,
        "db_reward": 0.0,
        "reward_breakdown.DB": 0.0,
        "action_checks": 0.5,
        "communicate_checks": 1.0,
        "termination_reason": "user_stop",
        "duration": 60.0,
        "seed": 7,
        "agent_cost": 0.02,
        "stop_token": "STOP",
    }


@pytest.mark.parametrize(
    ("termination", "outcome", "ended_by"),
    [
        ("user_stop", "completed", "user"),
        ("agent_stop", "completed", "agent"),
        ("max_steps", "limit_reached", "limit"),
        ("timeout", "limit_reached", "limit"),
        ("too_many_errors", "agent_error", ""),
        ("agent_error", "agent_error", ""),
        ("user_error", "simulator_error", ""),
        ("infrastructure_error", "provider_error", ""),
        ("context_window_exceeded", "provider_error", ""),
        ("unexpected_error", "harness_error", ""),
        ("abducted", "harness_error", ""),
        (["user_stop"], "harness_error", ""),
        (None, "completed", ""),
    ],
)
def test_whose_an_ending_is(termination, outcome, ended_by):
    transcript = one(termination_reason=termination)
    assert (transcript.outcome, transcript.ended_by) == (outcome, ended_by)
    assert bool(transcript.reason) == (termination not in ("user_stop", "agent_stop"))


def test_a_placeholder_of_a_run_that_never_was_is_an_unmeasured_trial():
    transcript = one(
        [],
        termination_reason="infrastructure_error",
        reward_info=None,
        info={"error": "ConnectionError: refused"},
    )
    assert (transcript.outcome, transcript.turns) == ("provider_error", ())
    assert transcript.reason == "termination_reason: infrastructure_error: ConnectionError: refused"
    assert "reward" not in transcript.recorded


def test_no_messages_where_there_should_be_some_measure_nothing():
    assert one([]).outcome == "harness_error"
    assert one(None, termination_reason=None).outcome == "harness_error"
    assert one([], termination_reason="max_steps").outcome == "harness_error"
    assert one([], termination_reason="agent_error").outcome == "agent_error"


def test_an_agent_alone_hangs_up_by_the_token():
    solo = [
        {**say("assistant", None), "tool_calls": [call("look")]},
        result("found"),
        {**say("assistant", None), "tool_calls": [call("fix")]},
        result("done"),
        say("assistant", "###STOP###"),
    ]
    transcript = one(solo, termination_reason="agent_stop")
    assert [(each.speaker, each.round, each.text) for each in transcript.turns] == [
        ("agent", 0, "")
    ] * 3
    assert transcript.recorded["stop_token"] == "STOP"
    assert one(solo, termination_reason="max_steps").turns[-1].text == "###STOP###"


def test_what_the_file_says_and_does_not_hold_is_noted():
    value = results(simulation(), simulation(trial=1), simulation(task_id="6"), num_trials=2)
    assert read_file(value).notes == (
        "results.json: info.num_trials says 2, but 1 of 2 tasks differ ('6' has 1)",
    )
    value["tasks"] = [{"id": "5"}, {"id": "6"}, {"id": "7"}, {"id": None}, 3]
    assert read_file(value).notes[1] == "results.json: 1 of 3 tasks have no simulation ('7')"
    assert read_file(results(simulation(), num_trials=1)).notes == ()
    assert read_file(results(simulation())).notes == ()


def without_ids(count):
    bad = {key: each for key, each in simulation().items() if key not in ("task_id", "trial")}
    return results(*[bad] * count)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (without_ids(50), ": 50 of 50 simulations have no usable task_id"),
        (results(simulation(), simulation(task_id="")), ": 1 of 2 simulations have no"),
        (
            results(simulation(), simulation(task_id="6"), simulation()),
            ": simulation 2: is trial 0 of task '5', and so is results.json: simulation 0",
        ),
        (results(simulation(trial="0")), ": simulation 0 (task '5'): 'trial' is '0'"),
        (results(), ": 'simulations' is a list ([]); it must be a filled list"),
        (results(5), ": simulation 0: is 5"),
        ({"simulations": {"a": 1}}, ": 'simulations' is an object"),
        (
            {"info": {}, "tasks": [], "simulations": [], "simulation_index": [{"id": "a"}]},
            ": is tau2's form in a folder",
        ),
        (
            results(simulation(None, ticks=[{"t": 0}])),
            ": simulation 0 (task '5'): is a voice run (ticks, no messages)",
        ),
        (
            results(simulation([say("user", "UklGRg==", is_audio=True)])),
            ": simulation 0 (task '5'): message 0: is audio",
        ),
        ([{"task_id": 0, "traj": []}], ": is not 'tau2'; it looks like 'tau-bench'"),
        ([say("user", "a")], ": is not 'tau2'; it looks like 'openai'"),
        ([{"task_id": 1, "messages": TALK}], ": is not 'tau2'; it looks like 'openai'"),
        ({"messages": TALK}, ": is not 'tau2'; it looks like 'openai': read it with that format"),
        (
            json.dumps(results(simulation())).encode() * 2,
            ":1: a second JSON document begins here",
        ),
        (json.dumps(results(simulation())).encode()[:-5], ":1: the file is cut off"),
    ],
)
def test_what_may_not_be_pooled_or_read_is_refused_by_place(value, said):
    assert refusal(value).startswith(said)


def test_both_forms_of_the_same_trial_number_need_the_same_task():
    trials = read_file(results(simulation(), simulation(task_id=5, trial=1))).recordings
    assert [(each.task_id, each.trial) for each in trials] == [("5", 0), ("5", 1)]
