"""Known answers of real recordings that nobody here wrote."""

from collections import Counter
from math import comb
from pathlib import Path

import pytest

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.traces.importing import import_recordings
from pytest_dialeval.traces.reader import read_trace
from pytest_dialeval.traces.recordings import read_recording_file, read_recordings

TAU = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "tau"
AIRLINE = "tau1_gpt-4o-airline_50x4.json"
RETAIL = "tau2_gpt-4.1_retail_40x1.json"
TELECOM = "tau2_gpt-4.1_telecom-no-user_5x4.json"
FEW_SHOT = "tau1_few-shot_airline.jsonl"

pytestmark = pytest.mark.skipif(not TAU.is_dir(), reason="../shared is not here")


def calls(recordings):
    return [
        call for each in recordings for turn in each.transcript.turns for call in turn.tool_calls
    ]


def successes(recordings):
    counts = Counter({each.task_id: 0 for each in recordings})
    for each in recordings:
        counts[each.task_id] += each.transcript.recorded["reward"] == 1.0
    return counts


def pass_hat(recordings, trials):
    counts = successes(recordings).values()
    return [
        round(sum(comb(each, k) / comb(trials, k) for each in counts) / len(counts), 4)
        for k in range(1, trials + 1)
    ]


def test_airline_counts_and_published_figures():
    recordings = read_recordings("tau-bench", TAU / AIRLINE)
    assert len(recordings) == 200
    assert {each.trial for each in recordings} == {0, 1, 2, 3}
    histogram = Counter(successes(recordings).values())
    assert [histogram[count] for count in range(5)] == [14, 12, 10, 4, 10]
    assert pass_hat(recordings, 4) == [0.42, 0.2733, 0.22, 0.2]
    by_trial = Counter(each.trial for each in recordings if each.transcript.recorded["reward"])
    assert [by_trial[number] for number in range(4)] == [21, 22, 20, 21]


def test_airline_messages():
    recordings = read_recordings("tau-bench", TAU / AIRLINE)
    speakers = Counter(turn.speaker for each in recordings for turn in each.transcript.turns)
    assert speakers == {"agent": 2454, "user": 1490}
    results = [each.result for each in calls(recordings)]
    assert len(results) == 1164 and None not in results
    assert results.count("") == 92
    # 200 system messages are nobody's turns: 2 454 + 1 490 + 1 164 + 200 = 5 308
    assert sum(speakers.values()) + len(results) + 200 == 5308
    silent = [
        turn
        for each in recordings
        for turn in each.transcript.turns
        if turn.speaker == "agent" and not turn.text
    ]
    assert len(silent) == 1074 and all(turn.tool_calls for turn in silent)


def test_airline_endings():
    recordings = read_recordings("tau-bench", TAU / AIRLINE)
    assert Counter(each.transcript.ended_by for each in recordings) == {
        "user": 147,
        "agent": 48,
        "limit": 5,
    }
    tokens = [each.transcript.recorded.get("stop_token") for each in recordings]
    assert Counter(tokens) == {"STOP": 147, None: 53}
    said = "".join(
        turn.text for each in recordings for turn in each.transcript.turns if turn.speaker == "user"
    )
    assert "###" not in said


def test_airline_first_conversation():
    turns = read_recordings("tau-bench", TAU / AIRLINE)[0].transcript.turns
    assert [(each.id, each.speaker, each.round) for each in turns[:6]] == [
        (1, "user", 1),
        (2, "agent", 1),
        (3, "user", 2),
        (4, "agent", 2),
        (5, "user", 3),
        (6, "agent", 3),
    ]
    call = turns[5].tool_calls[0]
    assert (call.name, call.arguments) == ("get_user_details", {"user_id": "mia_li_3668"})
    assert call.result.startswith('{"name": {"first_name": "Mia"')


def test_few_shot_dialogues():
    recordings = read_recordings("tau-bench", TAU / FEW_SHOT)
    assert len(recordings) == 19
    assert len({each.task_id for each in recordings}) == 19
    speakers = Counter(turn.speaker for each in recordings for turn in each.transcript.turns)
    assert speakers == {"agent": 222, "user": 136}
    assert len(calls(recordings)) == 105


def test_retail():
    file = read_recording_file("tau2", TAU / RETAIL)
    assert len(file.recordings) == len({each.task_id for each in file.recordings}) == 40
    rewards = [each.transcript.recorded["reward"] for each in file.recordings]
    assert sum(rewards) / 40 == pytest.approx(0.85)
    assert file.notes == ()
    speakers = Counter(turn.speaker for each in file.recordings for turn in each.transcript.turns)
    assert speakers == {"agent": 516, "user": 290}
    assert len(calls(file.recordings)) == 299
    tokens = Counter(each.transcript.recorded["stop_token"] for each in file.recordings)
    assert tokens == {"STOP": 38, "TRANSFER": 2}
    assert {each.agent for each in file.recordings} == {"gpt-4.1"}


def test_retail_costs_add_up():
    for each in read_recordings("tau2", TAU / RETAIL):
        costs = [
            turn.usage.cost_usd
            for turn in each.transcript.turns
            if turn.speaker == "agent" and turn.usage and turn.usage.cost_usd
        ]
        assert sum(costs) == pytest.approx(each.transcript.recorded["agent_cost"])


def test_telecom_agent_alone():
    file = read_recording_file("tau2", TAU / TELECOM)
    assert len(file.recordings) == 20 and file.notes == ()
    assert pass_hat(file.recordings, 4) == [0.8, 0.8, 0.8, 0.8]
    turns = [turn for each in file.recordings for turn in each.transcript.turns]
    assert {(turn.speaker, turn.round, turn.text) for turn in turns} == {("agent", 0, "")}
    results = [each.result for each in calls(file.recordings)]
    assert len(results) == 192 and None not in results
    assert {each.transcript.ended_by for each in file.recordings} == {"agent"}


@pytest.mark.parametrize(
    ("form", "name", "looks"),
    [
        ("tau-bench", RETAIL, "tau2"),
        ("tau2", AIRLINE, "tau-bench"),
        ("openai", TELECOM, "tau2"),
        ("openai", FEW_SHOT, "tau-bench"),
        ("dialeval", AIRLINE, "tau-bench"),
    ],
)
def test_a_file_given_under_another_format(form, name, looks):
    with pytest.raises(TranscriptError, match=f"it looks like '{looks}'"):
        read_recordings(form, TAU / name)


def test_every_recording_survives_the_way_through_a_trace(tmp_path):
    report = import_recordings("tau2", [TAU / RETAIL, TAU / TELECOM], tmp_path)
    recordings = [*read_recordings("tau2", TAU / RETAIL), *read_recordings("tau2", TAU / TELECOM)]
    assert len(report.written) == 60 and report.skipped == ()
    for path, recording in zip(report.written, recordings, strict=True):
        assert read_trace(path).transcript == recording.transcript
