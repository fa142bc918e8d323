import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.records.transcript import UNMEASURED_OUTCOMES
from pytest_dialeval.traces.importers import harbor_policy
from pytest_dialeval.traces.importers.harbor_outcome import ending
from pytest_dialeval.traces.importers.harbor_policy import has_valid_reward, whose
from pytest_dialeval.traces.importers.harbor_result import read_result, recorded
from tests.traces.conversations import json_values
from tests.traces.harbor_jobs import failure, result, steps


def read(**keys):
    return read_result(result(**keys), None, "fix__abcdefg")


def test_the_table_names_each_of_harbors_exceptions_once():
    names = [each for _, group in harbor_policy._GROUPS for each in group]
    assert len(names) == len(set(names)) == 58


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("ApiRateLimitError", "provider_error"),
        ("Timeout", "provider_error"),
        ("SandboxBuildFailedError", "harness_error"),
        ("RewardFileNotFoundError", "harness_error"),
        ("AuthenticationError", "harness_error"),
        ("CancelledError", "cancelled"),
    ],
)
def test_an_invalid_reward_is_no_zero(kind, outcome):
    found = read(rewards={"reward": 0.0}, exception_info=failure(kind), reward_valid=False)
    assert ending(found) == (outcome, "", f"{kind}: why")
    assert outcome in UNMEASURED_OUTCOMES
    values = recorded(found)
    assert "reward" not in values and values["invalid.reward"] == 0.0
    assert values["reward_valid"] is False and values["exception_type"] == kind


@pytest.mark.parametrize("rewards", [{"reward": 1.0}, {"reward": 0.0}])
@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("AgentTimeoutError", "limit_reached"),
        ("ContextWindowExceededError", "limit_reached"),
        ("NonZeroAgentExitCodeError", "agent_error"),
        ("AgentSafetyRefusalError", "agent_error"),
        ("SomethingNobodyKnowsError", "completed"),
    ],
)
def test_a_valid_reward_is_kept_whatever_the_agent_did(kind, outcome, rewards):
    found = read(rewards=rewards, exception_info=failure(kind))
    assert found.valid and ending(found)[0] == outcome
    assert ending(found)[2] == f"{kind}: why"
    assert recorded(found)["reward"] == rewards["reward"]


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("AgentTimeoutError", "agent_error"),
        ("NonZeroAgentExitCodeError", "agent_error"),
        ("SomethingNobodyKnowsError", "harness_error"),
    ],
)
def test_without_a_reward_the_agents_own_failure_is_its_own(kind, outcome):
    assert ending(read(rewards=None, exception_info=failure(kind)))[0] == outcome


def test_what_the_file_says_goes_before_what_is_derived():
    limited = failure("ApiRateLimitError")
    assert not read(exception_info=limited).valid
    assert read(exception_info=limited, reward_valid=True).valid
    assert not read(reward_valid=False).valid
    assert read(exception_info={**limited, "policy": {"has_valid_reward": True}}).valid
    assert not read(exception_info=failure("X", policy={"has_valid_reward": False})).valid


def test_overrides_of_the_job_are_followed():
    config = {"override_error_policy": {"ApiRateLimitError": {"has_valid_reward": True}}}
    assert read(exception_info=failure("ApiRateLimitError"), config=config).valid
    assert has_valid_reward("ApiError", [{}, {"has_valid_reward": True}])
    assert has_valid_reward("X", [{"has_valid_reward": None}])


def test_a_step_that_could_not_be_measured_voids_the_trial_and_not_the_steps_before():
    results = steps(r1={"reward": 1}, r2={"reward": 0})
    results[1]["exception_info"] = failure("ApiError", "down")
    found = read(step_results=results, rewards={"reward": 0.5})
    assert ending(found) == ("provider_error", "", "step r2: ApiError: down")
    values = recorded(found)
    assert (values["r1.reward"], values["invalid.r2.reward"]) == (1, 0)
    assert "r2.reward" not in values and values["invalid.reward"] == 0.5


def test_what_makes_the_reward_invalid_is_said_whatever_came_before_it():
    results = steps(r1={"reward": 1}, r2={"reward": 0})
    results[0]["exception_info"] = failure("AgentTimeoutError", "slow")
    results[1]["exception_info"] = failure("ApiError", "down")
    assert ending(read(step_results=results))[::2] == ("provider_error", "step r2: ApiError: down")


def test_a_job_without_a_verifier_has_conversations_all_the_same():
    config = {"verifier": {"disable": True}}
    assert ending(read(rewards=None, config=config))[::2] == (
        "completed",
        "the job ran no verifier",
    )
    assert ending(read(rewards=None))[0] == "harness_error"
    assert ending(read(reward_valid=False))[0] == "harness_error"


def test_rewards_are_finite_numbers_of_any_schema():
    odd = {"reward": 1, "ok": True, "nan": float("nan"), "text": "1", "none": None}
    assert read(rewards=odd).rewards == {"reward": 1, "ok": True}
    assert read_result({**result(), "verifier_result": {"reward": 0.5}}, None, "").rewards == {
        "reward": 0.5
    }


def test_a_trial_that_was_not_finished_is_known_by_its_plan():
    config = {"task": {"path": "tasks/fix"}, "agent": {"name": "alpha", "model_name": "m"}}
    found = read_result(None, config, "x__abcdefg")
    assert (found.task, found.agent.name, found.agent.model, found.valid) == (
        "fix",
        "alpha",
        "m",
        False,
    )
    assert read_result(None, None, "fix__abcdefg") is None
    assert read_result(None, {"agent": {"name": "alpha"}}, "fix__abcdefg").task == "fix"


def test_classes():
    assert (whose("AgentTimeoutError"), whose("X")) == ("limit", "unknown")


@given(json_values | st.dictionaries(st.sampled_from(list(result())), json_values), json_values)
def test_any_document_is_read_or_refused(document, config):
    found = read_result(document, config, "fix__abcdefg")
    if found is not None:
        assert ending(found)[0] and recorded(found) is not None
