"""Jobs of Harbor as a suite's recordings: each agent under its own name, matches, votes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_dialeval.cli import main
from tests.traces.harbor_jobs import agent, failure, result, single, steps, trajectory, user, write

from .conftest import Shop, rubric
from .test_matches import JUDGED, model

JOB = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "harbor" / "demo-multiturn"
REWARD = {"id": "reward", "dimension": "completion", "recorded": {"field": "reward", "min": 1}}
CORRECT = {
    "id": "correct",
    "dimension": "completion",
    "severity": "soft",
    "recorded": {"field": "correct", "equals": 1},
}


def suite(shop: Shop, *sources: dict[str, str], **sections: Any) -> None:
    """A suite over jobs; its reward alone decides."""
    given = [{"format": "harbor", **each} for each in sources or [{"path": "job"}]]
    wanted = {"rubrics": [REWARD, CORRECT], "scoring": {"pass_on": "reward"}, **sections}
    shop.suite(agents=None, personas=None, transcripts=given, **wanted)


def two_rounds(name: str, second: float) -> dict[str, Any]:
    first = (user("Fix it."), agent(f"{name} has fixed it."))
    both = (*first, user("Test it."), agent(f"{name} has tested it."))
    results = steps(r1={"reward": 1}, r2={"reward": second})
    return {
        "result.json": result(name=name, step_results=results, rewards={"reward": second}),
        "steps/r1/agent/trajectory.json": trajectory(*first),
        "steps/r2/agent/trajectory.json": trajectory(*both),
        "steps/r2/verifier/test-stdout.txt": "1 failed",
    }


@pytest.fixture
def job(shop: Shop) -> Path:
    """Two agents at a task of two steps; beta breaks it in the second."""
    for number in (1, 2):
        write(shop.path / "job" / f"fix__alpha{number}", two_rounds("alpha", 1))
        write(shop.path / "job" / f"fix__beta{number}", two_rounds("beta", 0))
    return shop.path / "job"


# ---- a job that Harbor wrote


@pytest.mark.skipif(not JOB.is_dir(), reason="../shared is not here")
def test_a_real_job(shop: Shop) -> None:
    suite(shop, {"path": str(JOB)}, task={"id": "coding"})

    text = shop.run("-q", "--tb=no", "-r", "N").stdout

    text.fnmatch_lines(
        [
            "12 conversations; *",
            "coding  alpha  3      6 (2 unmeasured) *1.000 / 0.667*",
            "coding  beta   3      6 (2 unmeasured) *0.000*",
            "leaderboard *Elo by score",
            "alpha *1.000 *1055.8",
            "beta *0.000 *944.2",
            "4 matches (alpha - beta 4); *",
            "coding / beta failed: reward 4 of 4, correct 2 of 2",
            "*: Harbor books resumed steps twice in 4 trials *",
            "*: 44 files not read: 13 x config.json, 13 x lock.json, 12 x trial.log, *",
        ]
    )
    assert sum(shop.summary["outcomes"].values()) == 12
    for place, passed in ((0, 2), (1, 0)):
        rubrics = {each["id"]: each for each in shop.agent_figures(agent=place)["rubrics"]}
        correct = rubrics["correct"]
        # Two trials report it; the greetings do not, and call-api was not measured.
        assert (correct["n"], correct["passed"]) == (2, passed)
        assert (correct["not_applicable"], correct["unscored"]) == (2, 2)


# ---- agents


def test_each_agent_goes_under_its_own_name_and_they_meet(shop: Shop, job: Path) -> None:
    suite(shop)

    result = shop.run("-v")

    result.stdout.fnmatch_lines(
        [
            "*::alpha-demo_fix_*-1::reward PASSED*",
            "*::beta-demo_fix_*-2::reward FAILED*",
            "leaderboard *",
            "2 matches (alpha - beta 2); *",
        ]
    )
    assert [each["name"] for each in shop.summary["tasks"][0]["agents"]] == ["alpha", "beta"]


@pytest.mark.parametrize("given", ["source", "option"])
def test_one_agent_of_a_job_can_be_chosen(shop: Shop, job: Path, given: str) -> None:
    suite(shop, {"path": "job", **({"agent": "beta"} if given == "source" else {})})

    shop.run(*(["--dialeval-agent", "beta"] if given == "option" else [])).assert_outcomes(
        failed=4, skipped=2
    )

    [figures] = shop.summary["tasks"][0]["agents"]
    assert (figures["name"], figures["trials"]) == ("beta", 2)


def test_an_agent_that_the_job_does_not_name(shop: Shop, job: Path) -> None:
    suite(shop, {"path": "job", "agent": "alhpa"})

    shop.run().stdout.fnmatch_lines(
        [
            "shop.dialeval.yaml:*: job: it holds no agent 'alhpa'; its agents are alpha, beta "
            "(without `agent:` each goes under its own name); did you mean 'alpha'?"
        ]
    )


def test_an_option_that_names_no_agent_of_the_job(shop: Shop, job: Path) -> None:
    suite(shop)

    shop.run("--dialeval-agent", "betta").stderr.fnmatch_lines(
        ["ERROR: *no suite declares 'betta' (declared: alpha, beta); did you mean 'beta'?"]
    )


def test_the_agent_of_a_job_with_one_can_be_renamed(shop: Shop) -> None:
    for month, reward in (("march", 0), ("april", 1)):
        write(shop.path / month / "fix__a", single(rewards={"reward": reward}))
    suite(shop, *({"path": each, "agent": each} for each in ("march", "april")))

    shop.run()

    assert [each["name"] for each in shop.summary["tasks"][0]["agents"]] == ["march", "april"]


def test_two_agents_of_one_name_in_two_jobs_are_not_pooled(shop: Shop) -> None:
    for each in ("opus", "haiku"):
        write(shop.path / each / "fix__a", single(model=f"anthropic/{each}"))
    suite(shop, {"path": "opus"}, {"path": "haiku"})

    shop.run().stdout.fnmatch_lines(
        [
            "shop.dialeval.yaml:*: haiku: its agent 'alpha' is alpha 1 anthropic/haiku, and that "
            "of another source is alpha 1 anthropic/opus; give each source its `agent:`"
        ]
    )


def test_a_task_that_changed_between_two_jobs_is_said(shop: Shop) -> None:
    for name in ("alpha", "beta"):
        write(shop.path / name / "fix__a", single(name=name, task_checksum=name))
    suite(shop, {"path": "alpha"}, {"path": "beta"})

    shop.run().stdout.fnmatch_lines(
        ["shop.dialeval.yaml: 1 task (demo/fix) changed between the recordings *"]
    )


def test_a_task_that_is_the_same_in_two_jobs_is_not_spoken_of(shop: Shop) -> None:
    for name in ("alpha", "beta"):
        write(shop.path / name / "fix__a", single(name=name))
    suite(shop, {"path": "alpha"}, {"path": "beta"})

    shop.run().stdout.no_fnmatch_line("*changed between the recordings*")


def test_traces_of_an_import_keep_their_agents(shop: Shop, job: Path) -> None:
    found = CliRunner().invoke(
        main, ["import", "harbor", str(job), "--out", str(shop.path / "out")]
    )
    assert (found.exit_code, "4 traces written" in found.output) == (0, True), found.output
    suite(shop, {"format": "dialeval", "path": "out"})

    shop.run().stdout.fnmatch_lines(["2 matches (alpha - beta 2); *"])


def test_a_file_of_another_format_that_names_two_agents_is_split(shop: Shop) -> None:
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    lines = [{"task_id": "a", "agent": each, "messages": said} for each in ("one", "two")]
    shop.write("talks.jsonl", "\n".join(map(json.dumps, lines)))
    suite(
        shop, {"format": "openai", "path": "talks.jsonl"}, rubrics=[rubric("greet")], scoring=None
    )

    shop.run().assert_outcomes(passed=2)

    assert [each["name"] for each in shop.summary["tasks"][0]["agents"]] == ["one", "two"]


# ---- what is measured


def test_a_trial_without_a_valid_reward_is_unmeasured(shop: Shop) -> None:
    limited = failure("ApiRateLimitError", "429")
    write(shop.path / "job" / "a__1", single(rewards={"reward": 0.0}, exception_info=limited))
    suite(shop, rubrics=[REWARD])

    result = shop.run()

    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["unmeasured: ApiRateLimitError: 429 (provider_error)"])
    assert result.ret == 10


def test_a_value_that_a_task_does_not_report_is_no_failure(shop: Shop) -> None:
    for number, rewards in enumerate(({"reward": 1, "correct": 1}, {"reward": 1})):
        write(shop.path / "job" / f"a__{number}", single(task=f"t{number}", rewards=rewards))
    suite(shop)

    shop.run().assert_outcomes(passed=5, skipped=1)

    correct = shop.agent_figures()["rubrics"][1]
    assert (correct["mean"], correct["n"], correct["not_applicable"]) == (1.0, 1, 1)


def test_a_failure_names_the_trials_folder(shop: Shop, job: Path) -> None:
    suite(shop, rubrics=[rubric("tested", "green")], scoring=None)

    shop.run("-k", "beta").stdout.fnmatch_lines(
        ["  turn 4 agent: beta has tested it.", "  transcript: job/fix__beta1"]
    )


# ---- rounds, read again after the run


def test_a_model_compares_each_round_with_what_the_verifier_printed(shop: Shop, job: Path) -> None:
    write(job / "fix__alpha1", {"steps/r2/verifier/test-stdout.txt": "2 passed"})
    write(job / "fix__alpha2", {"steps/r2/verifier/test-stdout.txt": "2 passed"})
    better = '"first" if "2 passed" in text[:second] else "second" if "2 passed" in text else "tie"'
    shop.write("model.py", model(better))
    suite(shop, **JUDGED)

    shop.run()

    lines = (shop.last_run / "matches.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(each) for each in lines]
    rounds = [(each["trial"], each["round"], each["winner"]) for each in found]
    assert sorted(rounds) == [(1, 1, "tie"), (1, 2, "A"), (2, 1, "tie"), (2, 2, "A")]
    assert all(each["same_instruction"] and not each["why"] for each in found)


def votes(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(shop.path)
    return CliRunner().invoke(main, ["votes", "export", "--open"])


def test_people_can_vote_on_each_round(
    shop: Shop, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite(shop)
    shop.run()

    lines = [json.loads(each) for each in votes(shop, monkeypatch).output.splitlines()]

    assert [(each["trial"], each["round"]) for each in lines] == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_a_job_that_has_changed_since_is_noticed(
    shop: Shop, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite(shop)
    shop.run()
    write(job / "fix__beta2", {"steps/r2/verifier/test-stdout.txt": "2 passed"})

    found = votes(shop, monkeypatch)

    assert found.exit_code == 1
    assert "job/fix__beta2: is not what the run graded; run the suite again" in found.output


# ---- bad input


def test_a_job_half_written(shop: Shop, job: Path) -> None:
    (job / "fix__alpha1" / "result.json").write_text('{"task_na', encoding="utf-8")
    (job / "fix__beta1" / "result.json").unlink()
    write(
        job / "fix__beta1",
        {"config.json": {"agent": {"name": "beta"}, "task": {"name": "demo/fix"}}},
    )
    suite(shop)

    result = shop.run("-q", "--tb=short")

    result.stdout.fnmatch_lines(
        [
            "unmeasured: the trial was not finished: it has no result.json (harness_error)",
            "3 conversations; *",
            "job/fix__alpha1: neither result.json nor config.json says whose trial it is; "
            "*result.json:1: the file is cut off*",
        ]
    )
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("empty", "empty: holds no trial; a job's folder has one a trial*"),
        ("clerk.yaml", "clerk.yaml: is a file; 'harbor' reads the folder of a job, or of a trial"),
        ("nowhere", "'nowhere' is not there*"),
        (".", ".: is a folder of jobs; give one of them: 'job'"),
    ],
)
def test_what_is_no_job(shop: Shop, job: Path, path: str, said: str) -> None:
    (shop.path / "empty").mkdir()
    suite(shop, {"path": path})

    result = shop.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"shop.dialeval.yaml:*: {said}"])
    assert ".py:" not in result.stdout.str()
