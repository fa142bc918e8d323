import json
from pathlib import Path

import pytest

from pytest_dialeval.traces.importers.tau_bench import read_tau_bench
from tests.traces.asking import content, refused

PATH = Path("airline.json")
USER = {"role": "user", "content": "Cancel my flight"}
BYE = {"role": "user", "content": "Thank you!\n\n###STOP###"}
SORRY = {"role": "assistant", "content": "Sorry"}


def record(*traj, **more):
    return {"task_id": 0, "trial": 0, "reward": 1.0, "info": {}, "traj": list(traj), **more}


def transfer(name="transfer_to_human_agents"):
    function = {"name": name, "arguments": "{}"}
    return (
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "name": name, "content": "Transfer successful"},
    )


def read(value):
    return read_tau_bench(content(value), PATH).recordings


def one(*traj, **more):
    return read([record(*traj, **more)])[0].transcript


def refusal(value):
    return refused(read_tau_bench, value, PATH)


def test_a_stop_token_is_a_signal_and_nothing_that_was_said():
    transcript = one(USER, SORRY, BYE)
    assert [each.text for each in transcript.turns] == ["Cancel my flight", "Sorry", "Thank you!"]
    assert transcript.recorded["stop_token"] == "STOP"
    assert (transcript.outcome, transcript.ended_by) == ("completed", "user")


@pytest.mark.parametrize(
    ("text", "left", "token"),
    [
        ("###STOP###", "", "STOP"),
        ("Bye ###TRANSFER###\n", "Bye", "TRANSFER"),
        ("###OUT-OF-SCOPE###", "", "OUT-OF-SCOPE"),
        ("Bye ###STOP### ###STOP###", "Bye", "STOP"),
        ("Bye ###TRANSFER###\n###STOP###", "Bye", "STOP"),
        (" " * 200_000 + "###STOP###" * 20_000, "", "STOP"),
        ("###STOP### and one more thing", "###STOP### and one more thing", "STOP"),
    ],
)
def test_tokens_alone_twice_and_in_the_middle(text, left, token):
    transcript = one(USER, SORRY, {"role": "user", "content": text})
    assert transcript.turns[-1].text == left
    assert transcript.recorded["stop_token"] == token
    assert transcript.ended_by == "user"


def test_a_token_in_the_agents_text_stays():
    transcript = one(USER, {"role": "assistant", "content": "Bye ###STOP###"}, BYE)
    assert transcript.turns[1].text == "Bye ###STOP###"


def test_a_heading_is_no_token():
    text = "### Total\n#### ###stop###"
    assert one({"role": "user", "content": text}).turns[0].text == text


def test_handing_over_ends_a_conversation():
    transcript = one(USER, *transfer())
    assert (transcript.outcome, transcript.ended_by) == ("completed", "agent")
    assert transcript.turns[-1].tool_calls[0].result == "Transfer successful"


@pytest.mark.parametrize("tail", [(USER,), (SORRY,), transfer("book_reservation")])
def test_without_a_signal_the_limit_of_steps_was_reached(tail):
    transcript = one(USER, *tail)
    assert (transcript.outcome, transcript.ended_by) == ("limit_reached", "limit")
    assert "stops without a stop signal" in transcript.reason


@pytest.mark.parametrize("info", [{"error": "429 rate limit", "traceback": "..."}, {}, None, []])
def test_a_run_that_raised_is_unmeasured_and_keeps_its_reward(info):
    transcript = one(reward=0.0, info=info)
    assert (transcript.outcome, transcript.turns) == ("harness_error", ())
    assert transcript.recorded == {"reward": 0.0}
    assert ("429 rate limit" if info else "it has no messages") in transcript.reason


def test_what_is_recorded():
    reward_info = {"reward": 1.0, "info": {"r_actions": 1.0, "gt_data_hash": "ab"}, "actions": []}
    info = {"source": "user", "user_cost": 0.0, "task": {}, "reward_info": reward_info}
    assert one(USER, BYE, reward=0.75, info=info).recorded == {
        "reward": 0.75,
        "source": "user",
        "r_actions": 1.0,
        "stop_token": "STOP",
    }


def test_each_record_is_a_trial_of_its_task_in_a_list_and_in_lines():
    items = [record(USER, BYE), record(USER, BYE, trial=1), record(USER, task_id="x")]
    for file in (
        json.dumps(items).encode(),
        b"\n".join(json.dumps(each).encode() for each in items),
    ):
        found = [(each.task_id, each.trial, each.index) for each in read(file)]
        assert found == [("0", 0, 0), ("0", 1, 1), ("x", 0, 2)]
    assert len({each.sha256 for each in read(items)}) == 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([record(USER), record(USER, task_id=None)], ": 1 of 2 records have no usable task_id"),
        ([record(USER, task_id=True)], ": 1 of 1 records have no usable task_id"),
        ([record(USER, task_id=" ")], ": 1 of 1 records have no"),
        (
            [record(USER, task_id=None)] * 9,
            ": 9 of 9 records have no usable task_id (text or a whole number): "
            "record 0, 1, 2, 3, 4 and 4 more; trials of different tasks would be pooled",
        ),
        (
            [record(USER), record(USER, task_id=1), record(USER)],
            ": record 2: is trial 0 of task '0', and so is airline.json: record 0",
        ),
        (
            [record(USER), record(USER, trial=None)],
            ": record 1: task '0' numbers some of its trials and not others",
        ),
        ([record(USER, trial=1.5)], ": record 0 (task '0'): 'trial' is 1.5"),
        ([record(USER, trial=-1)], ": record 0 (task '0'): 'trial' is -1"),
        ([record(5)], ": record 0 (task '0'): message 0: is 5"),
        ([record(USER), {"task_id": 1}], ": record 1: is an object"),
        ([record(USER), 7], ": record 1: is 7; it needs 'traj'"),
        ([{"task_id": 1, "traj": None}], ": record 0 (task '1'): the messages are null"),
        ({"simulations": []}, ": is not 'tau-bench'; it looks like 'tau2'"),
        ([USER], ": is not 'tau-bench'; it looks like 'openai'"),
        (b"[" + json.dumps(record(USER)).encode(), ":1: the file is cut off"),
        (b"[1]\n[2]", ":2: a second JSON document begins here"),
    ],
)
def test_what_may_not_be_pooled_or_read_is_refused_by_place(value, said):
    assert refusal(value).startswith(said)


DISPLAY = (
    "user: Cancel it.\nNow.\nassistant: None\ntool: Error: no such flight\nassistant: Sorry:\n"
    "- no flight\nuser: Bye ###STOP###"
)


def test_a_few_shot_dialogue_is_a_case_of_its_own():
    content = "\n".join(json.dumps({"messages_display": each}) for each in (DISPLAY, DISPLAY))
    recordings = read(content.encode())
    assert [each.task_id for each in recordings] == ["airline-1", "airline-2"]
    turns = recordings[0].transcript.turns
    assert [(each.speaker, each.round, each.text) for each in turns] == [
        ("user", 1, "Cancel it.\nNow."),
        ("agent", 1, ""),
        ("agent", 1, "Sorry:\n- no flight"),
        ("user", 2, "Bye"),
    ]
    call = turns[1].tool_calls[0]
    assert (call.name, call.result) == ("tool", "Error: no such flight")


@pytest.mark.parametrize(
    ("display", "said"),
    [
        ("Hello", "the dialogue does not begin with 'user: '"),
        ("Hello\nuser: a", "the dialogue does not begin with"),
        ("tool: x\nuser: a", "a tool's result stands before anything that the agent said"),
        (5, "'messages_display' is 5; it must be text"),
        (None, "'messages_display' is null"),
    ],
)
def test_a_few_shot_dialogue_that_is_none(display, said):
    assert f":1: {said}" in refusal(json.dumps({"messages_display": display}).encode())
