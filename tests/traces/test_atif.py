import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.transcript import Artifact, ToolCall, Usage
from pytest_dialeval.traces.importers.atif import disagreement, read_trajectory
from tests.traces.conversations import json_values
from tests.traces.harbor_jobs import agent, metrics, trajectory, user


def only(step):
    (found,) = read_trajectory(trajectory(step)).steps
    return found


def test_messages_calls_results_and_usage():
    step = agent("I look.", "ls", metrics={**metrics(10, 0.25), "cached_tokens": 4})
    found = only(step)
    assert (found.source, found.text) == ("agent", "I look.")
    assert found.calls == (ToolCall("bash", {"command": "ls"}, "c0", "ok"),)
    assert found.usage == Usage(10, 4, 1, 0.25)
    turn = found.turn(3, 2)
    assert (turn.id, turn.speaker, turn.round, turn.usage) == (3, "agent", 2, found.usage)


def test_unknown_usage_is_not_zero():
    assert only(agent()).usage is None
    assert only(agent(metrics={"prompt_tokens": "many", "cost_usd": True})).usage is None
    assert only(agent(metrics={"cost_usd": 0})).usage == Usage(cost_usd=0)


@pytest.mark.parametrize(
    ("extra", "failed"),
    [
        ({"exit_code": 1}, True),
        ({"exit_code": 0}, False),
        ({"is_error": True}, True),
        (None, False),
    ],
)
def test_a_call_has_failed_where_its_result_says_so(extra, failed):
    step = agent("", "ls")
    step["observation"]["results"][0]["extra"] = extra
    assert only(step).calls[0].error is failed


def test_a_result_without_an_id_belongs_to_the_only_call():
    step = agent("", "ls")
    del step["observation"]["results"][0]["source_call_id"]
    assert only(step).calls[0].result == "ok"


def test_a_result_that_answers_no_call_is_kept():
    step = agent("", observation={"results": [{"content": "the screen"}]})
    assert only(step).artifacts == (Artifact("observation", "the screen"),)


def test_a_call_without_a_result_has_none():
    step = agent("", "ls")
    step["observation"] = None
    assert only(step).calls[0].result is None


def test_parts_of_text_and_pictures():
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image", "source": {"media_type": "image/png", "path": "images/1.png"}},
        {"type": "text", "text": "here"},
    ]
    found = only(user(parts))
    assert found.text == "look\nhere"
    assert found.artifacts == (Artifact("image", "images/1.png", "image/png"),)


def test_copied_context_is_marked_and_odd_steps_are_named():
    odd = (None, {"source": "tool"}, {"source": ["agent"]}, {"source": {}})
    found = read_trajectory(trajectory(user(is_copied_context=True), *odd))
    assert [each.copied for each in found.steps] == [True]
    assert [each.split(" is ")[0] for each in found.odd] == [f"step {n}" for n in (2, 3, 4, 5)]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "a trajectory is an object with steps"),
        ({"steps": {}}, "a trajectory is an object with steps"),
        ({"steps": []}, "holds no step"),
        ({"steps": [1]}, "holds no step"),
    ],
)
def test_what_is_no_trajectory(document, said):
    with pytest.raises(TranscriptError, match=said):
        read_trajectory(document)


def test_totals_may_be_of_all_steps_or_of_the_own_part():
    steps = [user(), agent(metrics=metrics(10)), user("and?"), agent(metrics=metrics(30))]
    for total, said in (
        (40, ""),
        (30, ""),
        (35, "total_prompt_tokens is 35, its steps add up to 40"),
    ):
        found = read_trajectory(trajectory(*steps, final_metrics={"total_prompt_tokens": total}))
        assert said in disagreement(found, found.steps[2:])
        assert bool(said) == bool(disagreement(found, found.steps[2:]))


def test_steps_without_figures_disagree_with_nothing():
    found = read_trajectory(trajectory(user(), agent(), final_metrics={"total_cost_usd": 3}))
    assert disagreement(found, found.steps) == ""


@given(
    st.fixed_dictionaries(
        {"source": st.sampled_from(["system", "user", "agent"])},
        optional={
            key: json_values | st.lists(json_values, max_size=2)
            for key in ("message", "tool_calls", "observation", "metrics", "is_copied_context")
        },
    )
)
def test_any_step_can_be_read(step):
    found = only(step)
    assert isinstance(found.text, str) and found.key[0] == step["source"]
