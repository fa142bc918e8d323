"""Known answers of a job that Harbor 0.26 itself wrote."""

from collections import Counter
from pathlib import Path

import pytest

from pytest_dialeval.records.transcript import UNMEASURED_OUTCOMES
from pytest_dialeval.traces.recordings import read_recording_file, read_recordings

JOB = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "harbor" / "demo-multiturn"

pytestmark = pytest.mark.skipif(not JOB.is_dir(), reason="../shared is not here")


@pytest.fixture(scope="module")
def job():
    return read_recording_file("harbor", JOB)


def of(job, task, agent):
    return [each for each in job.recordings if (each.task_id, each.agent) == (task, agent)]


def test_twelve_trials_of_two_agents_and_four_unmeasured(job):
    assert len(job.recordings) == 12
    counts = Counter((each.task_id, each.agent) for each in job.recordings)
    assert counts == {
        (f"demo/{task}", agent): 2
        for task in ("fix-add", "greeting", "call-api")
        for agent in ("alpha", "beta")
    }
    outcomes = [(each.agent, each.transcript.outcome) for each in job.recordings]
    assert Counter(outcomes) == {
        ("alpha", "completed"): 4,
        ("beta", "completed"): 4,
        ("alpha", "provider_error"): 2,
        ("beta", "harness_error"): 2,
    }


def test_three_rounds_counted_once_each(job):
    for agent, turns in (("alpha", {1: 4, 2: 3, 3: 3}), ("beta", {1: 3, 2: 2, 3: 3})):
        for each in of(job, "demo/fix-add", agent):
            assert Counter(turn.round for turn in each.transcript.turns) == turns
            spoken = [turn.round for turn in each.transcript.turns if turn.speaker == "user"]
            assert spoken == [1, 2, 3]


def test_rewards_of_rounds_and_of_the_trial(job):
    for agent, rewards in (("alpha", [1, 1, 1, 1]), ("beta", [1, 0.5, 0, 0])):
        for each in of(job, "demo/fix-add", agent):
            recorded = each.transcript.recorded
            names = ("r1.reward", "r2.reward", "r3.reward", "reward")
            assert [recorded[name] for name in names] == rewards
            assert recorded["r1.correct"] == 1


def test_an_invalid_reward_is_no_zero(job):
    for each in of(job, "demo/call-api", "alpha"):
        assert "reward" not in each.transcript.recorded
        assert each.transcript.reason == "ApiRateLimitError: 429 too many requests"
    void = [each for each in job.recordings if each.transcript.outcome in UNMEASURED_OUTCOMES]
    assert len(void) == 4 and {each.task_id for each in void} == {"demo/call-api"}


def test_correct_is_known_of_those_that_report_it(job):
    known = [each.agent for each in job.recordings if "correct" in each.transcript.recorded]
    assert Counter(known) == {"alpha": 2, "beta": 2}


def test_the_verifiers_output_is_at_the_end_of_its_round(job):
    (first, _) = of(job, "demo/fix-add", "beta")
    last = first.transcript.turns[-1]
    found = {each.name: each.text for each in last.artifacts}
    assert "AssertionError" in found["verifier/test-stdout.txt"]
    assert found["verifier/reward.json"] == '{"reward": 0.0, "correct": 0, "removed": 1}\n'


def test_tokens_are_counted_once_though_harbor_counts_them_twice(job):
    (first, _) = of(job, "demo/fix-add", "beta")
    usage = [turn.usage for turn in first.transcript.turns if turn.usage]
    assert sum(each.input_tokens for each in usage) == 3_800  # final_metrics of the last step
    assert sum(each.cost_usd for each in usage) == pytest.approx(0.0055)
    assert any("Harbor books resumed steps twice in 4 trials" in each for each in job.notes)


def test_every_file_that_was_not_read_is_listed(job):
    files = {each.relative_to(JOB).as_posix() for each in JOB.rglob("*") if each.is_file()}
    unread = {
        each.removesuffix(": is not read").removeprefix(f"{JOB}/")
        for each in job.details
        if each.endswith(": is not read")
    }
    assert unread <= files and len(unread) == 44
    assert all(
        each.endswith((".log", "lock.json", "config.json", "exception.txt"))
        or each == "result.json"
        for each in unread
    )


def test_a_trial_alone(job):
    for each in job.recordings:
        (alone,) = read_recordings("harbor", Path(each.path))
        assert alone == each
