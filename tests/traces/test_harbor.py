import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.transcript import Artifact, ToolCall
from pytest_dialeval.traces.importers import harbor_evidence, harbor_files
from pytest_dialeval.traces.importing import import_recordings
from pytest_dialeval.traces.reader import read_trace
from pytest_dialeval.traces.recordings import read_recording_file, read_recordings
from tests.traces.conversations import json_values
from tests.traces.harbor_jobs import (
    agent,
    failure,
    metrics,
    result,
    single,
    steps,
    trajectory,
    user,
    write,
)


@pytest.fixture
def job(tmp_path):
    return tmp_path / "job"


def read(job):
    return read_recording_file("harbor", job)


def only(job):
    (found,) = read(job).recordings
    return found


def turns(recording):
    return [(each.round, each.speaker, each.text) for each in recording.transcript.turns]


def artifacts(recording):
    return {each.name: each.text for turn in recording.transcript.turns for each in turn.artifacts}


CUMULATIVE = {
    "steps/r1/agent/trajectory.json": trajectory(user("1"), agent("a")),
    "steps/r1/verifier/test-stdout.txt": "1 passed",
    "steps/r2/agent/trajectory.json": trajectory(user("1"), agent("a"), user("2"), agent("b")),
    "steps/r2/verifier/test-stdout.txt": "1 failed",
    "steps/r2/verifier/ctrf.json": {"results": {}},
    "steps/r2/artifacts/fix.patch": "-a\n+b\n",
}
MULTI = {
    "result.json": result(step_results=steps(r1={"reward": 1}, r2={"reward": 0.5})),
    **CUMULATIVE,
}


# ---- what is read


def test_a_trial_is_a_recording_whose_file_is_its_folder(job):
    write(job / "fix__a", single())
    found = only(job)
    assert (found.task_id, found.agent, found.trial) == ("demo/fix", "alpha", None)
    assert (found.path, found.index, found.alone) == (str(job / "fix__a"), 0, True)
    assert turns(found) == [(1, "user", "fix it"), (1, "agent", "done")]
    assert found.transcript.recorded["reward"] == 1.0


def test_a_trial_alone_is_the_same_as_in_its_job(job):
    write(job / "fix__a", MULTI)
    write(job / "fix__b", single(name="beta"))
    assert read(job / "fix__a").recordings == read(job).recordings[:1]


def test_each_step_is_a_round_and_no_turn_counts_twice(job):
    write(job / "fix__a", MULTI)
    found = only(job)
    assert turns(found) == [
        (1, "user", "1"),
        (1, "agent", "a"),
        (2, "user", "2"),
        (2, "agent", "b"),
    ]
    assert found.transcript.recorded["r1.reward"] == 1
    assert found.transcript.recorded["r2.reward"] == 0.5


def test_evidence_of_a_round_is_at_the_agents_last_turn_in_it(job):
    write(job / "fix__a", MULTI)
    _, first, _, second = only(job).transcript.turns
    assert first.artifacts == (Artifact("verifier/test-stdout.txt", "1 passed"),)
    assert second.artifacts == (
        Artifact("verifier/ctrf.json", '{"results": {}}', "application/json"),
        Artifact("verifier/test-stdout.txt", "1 failed"),
        Artifact("artifacts/fix.patch", "-a\n+b\n", "text/x-diff"),
    )


def test_steps_are_in_the_order_of_the_result(job):
    files = {
        "result.json": result(step_results=steps(second={}, first={})),
        "steps/second/agent/trajectory.json": trajectory(user("1"), agent("a")),
        "steps/first/agent/trajectory.json": trajectory(user("2"), agent("b")),
    }
    write(job / "fix__a", files)
    assert [each[::2] for each in turns(only(job))] == [(1, "1"), (1, "a"), (2, "2"), (2, "b")]


def test_one_file_has_a_round_for_each_message_and_leaves_copies_out(job):
    said = (
        {"source": "system", "message": "You are an agent."},
        user("old", is_copied_context=True),
        user("1"),
        agent("a", "ls"),
        agent("b"),
        user("2"),
        agent("c"),
    )
    write(job / "fix__a", single(*said))
    found = only(job)
    assert turns(found) == [
        (1, "user", "1"),
        (1, "agent", "a"),
        (1, "agent", "b"),
        (2, "user", "2"),
        (2, "agent", "c"),
    ]
    assert found.transcript.turns[1].tool_calls == (
        ToolCall("bash", {"command": "ls"}, "c0", "ok"),
    )


def test_a_trajectory_that_goes_on_in_another_file(job):
    files = single(user("1"), agent("a"))
    files["agent/trajectory.json"]["continued_trajectory_ref"] = "trajectory.cont-1.json"
    following = trajectory(user("1", is_copied_context=True), agent("b"), user("2"), agent("c"))
    write(job / "fix__a", {**files, "agent/trajectory.cont-1.json": following})
    assert [each[2] for each in turns(only(job))] == ["1", "a", "b", "2", "c"]


@pytest.mark.parametrize("name", ["trajectory.json", "../../../secret.json", "gone.json"])
def test_a_reference_leads_nowhere_else(job, name):
    files = single()
    files["agent/trajectory.json"]["continued_trajectory_ref"] = name
    write(job.parent, {"secret.json": trajectory(user("SECRET"))})
    write(job / "fix__a", files)
    assert "SECRET" not in str(turns(only(job)))


def test_a_simulated_user_is_named(job):
    messages = [
        {"User": {"content": [{"Text": "Hi, please fix it."}]}},
        "Resume",
        {
            "Agent": {
                "content": [
                    {"Thinking": {"text": "hm"}},
                    {"ToolUse": {"id": "t", "name": "Bash", "input": {"command": "ls"}}},
                    {"Text": "Done."},
                ],
                "tool_results": {"t": {"is_error": True, "content": {"Text": "no such file"}}},
            }
        },
    ]
    files = {
        "result.json": result(
            config={"user_agent": {"name": "claude-code"}}, agent_result={"cost_usd": 2.0}
        ),
        "user-agent/trajectory.json": trajectory(user("play a user"), agent("acpx prompt Hi")),
        "agent/bridge-trajectory.json": {"session": {"state": {"messages": messages}}},
    }
    write(job / "fix__a", files)
    found = read(job)
    recording = found.recordings[0]
    assert turns(recording) == [(1, "user", "Hi, please fix it."), (1, "agent", "Done.")]
    assert recording.transcript.turns[1].tool_calls == (
        ToolCall("Bash", {"command": "ls"}, "t", "no such file", error=True),
    )
    recorded = recording.transcript.recorded
    assert (recorded["simulated_user"], recorded["user.cost_usd"]) == ("claude-code", 2.0)
    assert "cost_usd" not in recorded
    assert any("1 trial (fix__a) had a simulated user" in each for each in found.notes)


def test_a_simulated_user_without_a_bridge_is_read_from_the_agents_file(job):
    write(job / "fix__a", {**single(), "user-agent/log.txt": "", "agent/bridge-trajectory.json": 1})
    found = read(job)
    assert len(turns(found.recordings[0])) == 2
    assert any("a bridge's export has session.state.messages" in each for each in found.notes)


# ---- agents and tasks


def agents(job):
    return {Path(each.path).name: each.agent for each in read(job).recordings}


def test_agents_have_names_as_short_as_tell_them_apart(job):
    write(job / "fix__a", single(name="claude-code", model="anthropic/opus"))
    assert agents(job) == {"fix__a": "claude_code"}
    write(job / "fix__b", single(name="claude-code", model="anthropic/haiku"))
    assert agents(job) == {"fix__a": "claude_code_opus", "fix__b": "claude_code_haiku"}
    write(job / "fix__c", single(name="claude-code", model="bedrock/haiku"))
    assert agents(job)["fix__c"] == "claude_code_bedrock_haiku"
    assert agents(job)["fix__b"] == "claude_code_anthropic_haiku"


@pytest.mark.parametrize("name", ["退款", "x" * 60])
def test_names_that_are_no_words_are_slugs(job, name):
    write(job / "fix__a", single(name=name))
    write(job / "fix__b", single(name="beta"))
    assert all(0 < len(each) <= 40 for each in agents(job).values())
    assert len(set(agents(job).values())) == 2


def test_tasks_of_one_name_and_two_contents_are_not_pooled(job):
    write(job / "fix__a", single(task_checksum="a" * 64))
    write(job / "fix__b", single(task_checksum="b" * 64))
    assert {each.task_id for each in read(job).recordings} == {
        "demo/fix@aaaaaaaa",
        "demo/fix@bbbbbbbb",
    }


def test_trials_are_in_the_order_in_which_they_began(job):
    write(job / "fix__a", single(started_at="2026-01-02"))
    write(job / "fix__b", single(started_at="2026-01-01"))
    write(job / "fix__c", {"config.json": {"agent": {"name": "alpha"}}})
    assert list(agents(job)) == ["fix__b", "fix__a", "fix__c"]


def test_the_digest_changes_with_what_was_read_and_with_nothing_else(job):
    trial = write(job / "fix__a", MULTI)
    before = only(job).sha256
    write(trial, {"trial.log": "not read"})
    assert only(job).sha256 == before
    write(trial, {"steps/r1/verifier/test-stdout.txt": "2 passed"})
    assert only(job).sha256 != before
    write(trial, MULTI)
    assert only(job).sha256 == before
    trial.rename(job / "fix__b")
    assert only(job).sha256 != before


# ---- half-written, and worse


def test_a_trial_that_is_not_finished_is_unmeasured_and_keeps_what_was_said(job):
    write(job / "fix__a", {"config.json": {"agent": {"name": "alpha"}}, **CUMULATIVE})
    found = only(job)
    assert (found.task_id, found.agent) == ("fix", "alpha")
    assert found.transcript.outcome == "harness_error"
    assert found.transcript.reason == "the trial was not finished: it has no result.json"
    assert len(found.transcript.turns) == 4


def test_a_trial_that_is_not_finished_is_of_the_others_agent_and_task(job):
    plan = {"agent": {"name": "alpha", "model_name": "m/a-1"}, "task": {"path": "tasks/fix"}}
    write(job / "fix__a", single(config=plan))
    write(job / "fix__b", single(name="alpha", model="m/a-2", task="other/fix", task_checksum="d"))
    write(job / "fix__c", {"config.json": plan})
    found = {Path(each.path).name: (each.task_id, each.agent) for each in read(job).recordings}
    assert found["fix__a"] == found["fix__c"] == ("demo/fix", "alpha_a_1")
    assert found["fix__b"] == ("other/fix", "alpha_a_2")


def test_a_trial_that_could_be_of_two_agents_is_of_neither(job):
    write(job / "fix__a", single(name="alpha", model="m/a-1"))
    write(job / "fix__b", single(name="alpha", model="m/a-2"))
    write(job / "fix__c", {"config.json": {"agent": {"name": "alpha"}}})
    assert len(set(agents(job).values())) == 3


def test_a_step_without_a_trajectory_is_said(job):
    files = {name: each for name, each in MULTI.items() if name != "steps/r1/agent/trajectory.json"}
    write(job / "fix__a", files)
    found = read(job)
    assert [each[0] for each in turns(found.recordings[0])] == [1, 1, 2, 2]
    name = job / "fix__a" / "steps/r1/agent/trajectory.json"
    assert f"{name}: is not there; later steps may hold what was said" in found.notes


def test_a_message_as_long_as_a_log_is_cut(job):
    write(job / "fix__a", single(exception_info=failure("SandboxBuildFailedError", "x" * 9_000)))
    reason = only(job).transcript.reason
    assert "[7,000 of 9,000 characters left out]" in reason and len(reason) < 2_100


def test_numbers_beyond_all_bounds(job):
    files = single(user(), agent(metrics=metrics(10**400)), rewards={"reward": 10**400, "ok": 1})
    files["agent/trajectory.json"]["final_metrics"] = {"total_prompt_tokens": 10**500}
    write(job / "fix__a", files)
    assert "reward" not in only(job).transcript.recorded


@pytest.mark.parametrize(
    ("text", "said"),
    [('{"task_na', "cut off"), ("", "is empty"), ("[]", "a trial's result is an object")],
)
def test_a_result_that_cannot_be_read(job, text, said):
    write(job / "fix__a", {"result.json": text, "config.json": {"agent": {"name": "alpha"}}})
    write(job / "fix__b", single(started_at="2026-01-01"))
    found = read(job)
    assert [each.transcript.outcome for each in found.recordings] == ["completed", "harness_error"]
    reason = found.recordings[1].transcript.reason
    assert reason == "the trial was not finished: result.json cannot be read"
    assert (
        found.notes[0].startswith(f"{job / 'fix__a' / 'result.json'}:") and said in found.notes[0]
    )


def test_a_trial_of_nobody_is_named_and_the_others_are_read(job):
    write(job / "fix__a", {"result.json": '{"task_na'})
    write(job / "fix__b", single())
    found = read(job)
    assert len(found.recordings) == 1
    assert found.notes[0].startswith(
        f"{job / 'fix__a'}: neither result.json nor config.json says whose trial it is; "
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "is empty"), ('{"steps": [', "cut off"), ({"steps": []}, "holds no step")],
)
def test_a_bad_trajectory_loses_nothing_but_itself(job, text, said):
    files = {**MULTI, "steps/r1/agent/trajectory.json": text}
    write(job / "fix__a", files)
    found = read(job)
    # The second step's trajectory holds the first one's too.
    assert turns(found.recordings[0]) == [
        (1, "user", "1"),
        (1, "agent", "a"),
        (2, "user", "2"),
        (2, "agent", "b"),
    ]
    assert found.recordings[0].transcript.turns[1].artifacts[0].text == "1 passed"
    [note] = [each for each in found.notes if "r1/agent/trajectory.json" in each]
    assert said in note


def test_a_reward_without_a_trajectory_can_be_asked_for(job):
    files = {"result.json": result(), "verifier/test-stdout.txt": "ok"}
    write(job / "fix__a", files)
    found = read(job)
    assert found.recordings[0].transcript.outcome == "completed"
    assert turns(found.recordings[0]) == [(1, "agent", "")]
    assert artifacts(found.recordings[0]) == {"verifier/test-stdout.txt": "ok"}
    assert any("1 trial (fix__a) left no trajectory" in each for each in found.notes)


def test_a_step_that_is_not_there_is_named(job):
    write(job / "fix__a", {**MULTI, "result.json": result(step_results=steps(r1={}, r3={}))})
    found = read(job)
    assert any("step 'r3' has no folder in steps/" in each for each in found.notes)
    assert {each[0] for each in turns(found.recordings[0])} == {1, 3}


def test_keys_that_nobody_knows_are_passed_over(job):
    files = single(future={"a": [1]}, schema_version=9)
    files["agent/trajectory.json"] |= {"schema_version": "ATIF-v9", "more": {}}
    write(job / "fix__a", files)
    assert len(only(job).transcript.turns) == 2


# ---- folders that are no job, or a hostile one


def test_steps_cannot_lead_out_of_the_trial(job):
    write(job.parent, {"agent/trajectory.json": trajectory(user("SECRET"))})
    names = steps(**{"../../..": {"reward": 1}, "..": {}, "/etc": {}})
    write(job / "fix__a", {**single(), "result.json": result(step_results=names)})
    assert "SECRET" not in str(only(job))


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no symbolic links here")
def test_links_are_listed_and_not_followed(job):
    outside = write(job.parent / "outside", {**single(), "verifier/key": "SECRET"})
    trial = write(job / "fix__a", single())
    (trial / "verifier").symlink_to(outside / "verifier")
    (trial / "agent" / "fix.patch").symlink_to(outside / "verifier" / "key")
    (trial / "loop").symlink_to(trial)
    (job / "fix__b").symlink_to(outside)
    found = read(job)
    assert "SECRET" not in str(found.recordings) and len(found.recordings) == 1
    for name in ("fix__a/verifier", "fix__a/agent/fix.patch", "fix__a/loop", "fix__b"):
        assert f"{job / name}: is a symbolic link, which is not followed" in found.notes


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_not_waited_for(job):
    trial = write(job / "fix__a", {**single(), "verifier/test-stdout.txt": "ok"})
    os.mkfifo(trial / "verifier" / "pipe")
    assert f"{trial / 'verifier' / 'pipe'}: is no regular file" in read(job).notes


def test_a_huge_file_is_not_read(job, monkeypatch):
    monkeypatch.setattr(harbor_files, "MOST_BYTES", 1_000)
    write(job / "fix__a", {**single(), "verifier/test-stdout.txt": "x" * 1_001})
    found = read(job)
    said = "is 1,001 bytes; at most 1,000 are read"
    assert artifacts(found.recordings[0]) == {"verifier/test-stdout.txt": f"[{said}]"}
    assert f"{job / 'fix__a' / 'verifier' / 'test-stdout.txt'}: {said}" in found.notes


def test_files_beyond_a_bound_are_not_looked_at(job, monkeypatch):
    monkeypatch.setattr(harbor_files, "MOST_FILES", 3)
    write(job / "fix__a", {**single(), **{f"artifacts/x/{n}": "" for n in range(5)}})
    found = read(job)
    assert len(turns(found.recordings[0])) == 2
    assert any("beyond 3 files" in each for each in found.notes)


def test_artifacts_beyond_a_bound_are_listed(job, monkeypatch):
    monkeypatch.setattr(harbor_evidence, "MOST_ARTIFACTS", 2)
    write(job / "fix__a", {**single(), **{f"artifacts/{n}": "" for n in range(4)}})
    found = read(job)
    assert list(artifacts(found.recordings[0])) == ["artifacts/0", "artifacts/1"]
    assert sum("beyond 2 artifacts" in each for each in found.notes) == 2


def test_long_texts_are_cut_with_a_mark_and_binaries_are_named(job):
    long = "a" * 15_000 + "b" * 15_000
    files = {
        "verifier/test-stdout.txt": long,
        "artifacts/app": b"\0\1",
        "artifacts/x": b"caf\xe9!" * 9,
    }
    write(job / "fix__a", {**single(), **files})
    found = artifacts(only(job))
    cut = found["verifier/test-stdout.txt"]
    assert cut == "a" * 10_000 + "\n[10,000 of 30,000 characters left out]\n" + "b" * 10_000
    assert found["artifacts/app"].startswith("[binary: 2 bytes, sha256 b413f47d")
    assert found["artifacts/x"].startswith("[binary") or "\ufffd" in found["artifacts/x"]


def test_names_of_artifacts_cannot_reach_the_terminal(job):
    write(job / "fix__a", {**single(), "artifacts/\x1b[31mred\n.txt": "x"})
    assert list(artifacts(only(job))) == ["artifacts/red .txt"]


def test_what_holds_no_trial(job):
    job.mkdir()
    for name in ("none", "a file"):
        with pytest.raises(TranscriptError) as caught:
            read_recordings("harbor", job)
        assert str(caught.value).startswith(f"{job}: holds no trial; a job's folder has one"), name
        write(job, {"notes/x.txt": ""})


def test_a_folder_of_jobs_names_them(job):
    write(job / "monday" / "fix__a", single())
    write(job / "monday", {"result.json": {}, "config.json": {}})
    with pytest.raises(TranscriptError, match="is a folder of jobs; give one of them: 'monday'"):
        read_recordings("harbor", job)


def test_a_file_is_no_job(job):
    write(job / "fix__a", single())
    with pytest.raises(TranscriptError, match="reads the folder of a job, or of a trial"):
        read_recordings("harbor", job / "fix__a" / "result.json")


def test_a_trial_that_hardly_began_can_be_given(job):
    write(job, {"config.json": {"task": {"name": "fix"}, "agent": {"name": "alpha"}}})
    assert only(job).transcript.outcome == "harness_error"


def test_where_no_trial_can_be_read_the_first_says_why(job):
    write(job / "a__1", {"trial.log": ""})
    write(job / "b__1", {"trial.log": ""})
    with pytest.raises(
        TranscriptError, match=r"no trial can be read: .*a__1: neither.*1 trial more"
    ):
        read_recordings("harbor", job)


# ---- notes


def test_every_file_is_listed_in_an_import_and_summed_up_in_a_run(job):
    for name in ("a", "b"):
        write(job / f"fix__{name}", {**single(), "trial.log": "", "agent/raw.jsonl": ""})
    write(job, {"job.log": ""})
    found = read(job)
    assert found.notes == (f"{job}: 5 files not read: 2 x raw.jsonl, 2 x trial.log, job.log",)
    assert set(found.details) == {
        f"{job / name}: is not read"
        for name in (
            *("job.log", "fix__a/agent/raw.jsonl", "fix__a/trial.log"),
            *("fix__b/agent/raw.jsonl", "fix__b/trial.log"),
        )
    }


def test_many_problems_are_bounded_in_a_run_and_whole_in_an_import(job):
    for number in range(15):
        write(job / f"fix__{number:02}", {**single(), "agent/trajectory.json": ""})
    found = read(job)
    problems = [each for each in found.notes if "is empty" in each]
    assert len(problems) == 10
    assert f"{job}: 5 more such notes; `dialeval import` lists them all" in found.notes
    assert sum("is empty" in each for each in found.details) == 15


def test_an_agent_that_broke_down_with_a_reward_is_named(job):
    broke = failure("NonZeroAgentExitCodeError", "exit 1")
    write(job / "fix__a", single(exception_info=broke))
    found = read(job)
    assert found.recordings[0].transcript.outcome == "agent_error"
    assert any("1 trial (fix__a) ended with an error of the agent's own" in n for n in found.notes)


def test_sums_that_disagree_are_said(job):
    files = single(user(), agent(metrics=metrics(10)))
    files["agent/trajectory.json"]["final_metrics"] = {"total_prompt_tokens": 11}
    write(job / "fix__a", files)
    assert any("final_metrics.total_prompt_tokens is 11" in each for each in read(job).notes)


def test_tokens_that_harbor_books_twice_are_said(job):
    results = steps(r1={}, r2={})
    for each, tokens in zip(results, (10, 30), strict=True):
        each["agent_result"] = {"n_input_tokens": tokens}
    first = (user("1"), agent("a", metrics=metrics(10)))
    both = (*first, user("2"), agent("b", metrics=metrics(20)))
    files = {
        "result.json": result(step_results=results),
        "steps/r1/agent/trajectory.json": trajectory(*first),
        "steps/r2/agent/trajectory.json": trajectory(*both),
    }
    write(job / "fix__a", files)
    [note] = read(job).notes
    assert "Harbor books resumed steps twice in 1 trial (fix__a: " in note
    assert "add up to 40 input tokens, its turns to 30" in note


# ---- import


def test_an_import_keeps_agents_apart_and_everything_survives(job, tmp_path):
    for name in ("alpha", "beta"):
        write(
            job / f"fix__{name}1",
            {**MULTI, "result.json": {**MULTI["result.json"], **result(name=name)}},
        )
        write(job / f"fix__{name}2", single(name=name))
    report = import_recordings("harbor", [job], tmp_path / "out")
    assert report.skipped == ()
    recordings = read(job).recordings
    for path, recording in zip(report.written, recordings, strict=True):
        trace = read_trace(path)
        assert trace.transcript == recording.transcript
        assert trace.header["agent"] == recording.agent
    assert sorted(each.name.split("-", 1)[1] for each in report.written) == [
        *("alpha-1.jsonl", "alpha-2.jsonl", "beta-1.jsonl", "beta-2.jsonl"),
    ]
    again = read_recordings("dialeval", tmp_path / "out")
    assert {(each.agent, each.trial) for each in again} == {
        (name, number) for name in ("alpha", "beta") for number in (1, 2)
    }


NAMES = [
    *MULTI,
    "agent/trajectory.json",
    "agent/bridge-trajectory.json",
    "user-agent/x",
    "config.json",
]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from(NAMES), json_values.map(json.dumps) | st.binary(max_size=30))
)
def test_any_content_of_any_file_raises_nothing_but_transcript_errors(tmp_path_factory, files):
    job = tmp_path_factory.mktemp("job")
    write(job / "fix__a", files)
    write(job / "fix__b", single())
    found = read(job)
    for recording in found.recordings:
        numbers = [each.id for each in recording.transcript.turns]
        assert numbers == list(range(1, len(numbers) + 1))
        rounds = [each.round for each in recording.transcript.turns]
        assert rounds == sorted(rounds)
