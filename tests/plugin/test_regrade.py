"""`--dialeval-regrade RUN`: today's rubrics over the conversations of that run; nobody talks."""

from __future__ import annotations

import json
import shutil

import pytest

from .conftest import Shop, persona, rubric
from .played import calls, forget, judged, play, usage, verdicts

AGENT = """
from pathlib import Path

HERE = Path(__file__).parent


class Clerk:
    def reply(self, message):
        with (HERE / "talks").open("a") as log:
            log.write("x")
        return "Hello! The lamp is in stock."
"""


def talks(shop: Shop) -> int:
    path = shop.path / "talks"
    return len(path.read_text("utf-8")) if path.exists() else 0


def held(shop: Shop, **sections: object) -> None:
    """A run with two trials of two turns each, by an agent that counts."""
    shop.write("agent.py", AGENT)
    given = {"agents": {"own": {"use": "python:agent.py:Clerk"}}, "trials": 2, **sections}
    play(shop, **given)
    shop.run()
    assert talks(shop) == 4
    forget(shop)
    (shop.path / "talks").unlink()


def mend(shop: Shop, **sections: object) -> None:
    given = {"agents": {"own": {"use": "python:agent.py:Clerk"}}, "trials": 2, **sections}
    play(shop, **given)


def regrade(shop: Shop, *arguments: str) -> pytest.RunResult:
    return shop.run("--dialeval-regrade", shop.last_run.name, *arguments)


def test_verdicts_change_with_the_rubrics_and_nobody_talks(shop: Shop) -> None:
    held(shop)
    mend(shop, rubrics=[judged("greet", "tractor"), rubric("rule", "stock")])
    result = regrade(shop)
    result.assert_outcomes(failed=2, passed=2)
    assert result.ret == 1
    assert talks(shop) == 0
    assert len(calls(shop)) == 2  # the judge is asked anew


def test_the_same_rubrics_give_the_same_verdicts(shop: Shop) -> None:
    held(shop)
    before = verdicts(shop)
    assert regrade(shop).ret == 0
    assert verdicts(shop) == before
    assert talks(shop) == 0


def test_a_new_run_with_figures_of_its_own(shop: Shop) -> None:
    held(shop)
    old = shop.last_run
    result = regrade(shop)
    assert len(shop.runs) == 2
    assert shop.last_run != old
    assert shop.summary["settings"]["regrade"]["value"] == old.name
    assert shop.agent_figures()["trials"] == 2
    assert usage(shop)["calls"] == 2
    result.stdout.fnmatch_lines([f"settings: regrade = {old.name} (--dialeval-regrade)"])
    assert not list((shop.last_run / "traces").glob("*.jsonl"))  # they stay where they are


def test_by_its_folder_wherever_it_was_moved(shop: Shop) -> None:
    held(shop)
    shutil.move(shop.last_run, shop.path / "kept")
    assert shop.run("--dialeval-regrade", "kept").ret == 0
    assert talks(shop) == 0


def test_a_regraded_run_by_rules_takes_nothing_of_models(shop: Shop) -> None:
    held(shop, models=None, rubrics=[rubric("rule")])
    assert regrade(shop).ret == 0
    assert shop.summary["usage"] == []
    assert calls(shop) == []


def test_recorded_replies_are_used_again(shop: Shop) -> None:
    shop.write("agent.py", AGENT)
    mend(shop)
    shop.run("--dialeval-record=new")
    forget(shop)
    assert regrade(shop).ret == 0
    assert calls(shop) == []
    figure = usage(shop)
    assert figure["replayed"] == 2
    assert (figure["calls"], figure["tries"], figure["input_tokens"]) == (0, 0, 0)


@pytest.mark.slow
def test_by_two_workers(shop: Shop) -> None:
    held(shop)
    mend(shop, rubrics=[judged("greet", "tractor"), rubric("rule", "stock")])
    options = ("-p", "xdist", "-n", "2", "-p", "dialeval")
    result = shop.pytester.runpytest_subprocess(*options, "--dialeval-regrade", shop.last_run.name)
    result.assert_outcomes(failed=2, passed=2)
    assert talks(shop) == 0
    assert shop.agent_figures()["trials"] == 2


def test_a_body_runs_again_over_the_stored_conversation(shop: Shop) -> None:
    shop.write("agent.py", AGENT)
    mend(shop)
    body = """
        from pytest_dialeval import dialogue_case

        @dialogue_case("shop.dialeval.yaml", rubrics=["greet"])
        def test_body(dialogue):
            dialogue.expect.keyword(any=["{word}"])
            dialogue.expect.judge('the agent says "{word}"')
        """
    shop.write("test_body.py", body.format(word="lamp"))
    shop.run("test_body.py").assert_outcomes(passed=4)
    first = shop.last_run.name
    (shop.path / "talks").unlink()
    regrade(shop, "test_body.py").assert_outcomes(passed=4)
    shop.write("test_body.py", body.format(word="tractor"))
    shop.run("test_body.py", "--dialeval-regrade", first).assert_outcomes(failed=2, passed=2)
    assert talks(shop) == 0


def test_the_agents_fixture_is_not_needed(shop: Shop) -> None:
    bring = """
        import pytest

        @pytest.fixture
        def dialeval_agent():
            {does}
        """
    shop.suite(agents=None)
    shop.write("conftest.py", bring.format(does='return lambda: lambda message: "Hello!"'))
    assert shop.run().ret == 0
    shop.write("conftest.py", bring.format(does='raise RuntimeError("not today")'))
    assert regrade(shop).ret == 0


def test_a_program_is_not_started(shop: Shop) -> None:
    shop.write(
        "agent.py",
        """
        import json, pathlib, sys
        pathlib.Path("started").touch()
        for line in sys.stdin:
            print(json.dumps({"reply": "Hello!"}), flush=True)
        """,
    )
    shop.suite(agents={"own": {"use": "command:python agent.py"}})
    shop.run()
    (shop.path / "started").unlink(missing_ok=True)
    regrade(shop)
    assert not (shop.path / "started").exists()


def test_what_the_run_does_not_have_is_unmeasured(shop: Shop) -> None:
    held(shop)
    old = shop.last_run.name
    mend(shop, trials=3)
    result = regrade(shop)
    result.assert_outcomes(passed=2, errors=1)
    assert result.ret == 10
    result.stdout.fnmatch_lines(
        [f"unmeasured: *run {old} has no trace of shop.own.buyer-3*: it was never held there*"]
    )
    assert talks(shop) == 0


def test_another_persona_alone_is_missing(shop: Shop) -> None:
    held(shop)
    mend(shop, personas=[persona("other")])
    regrade(shop).assert_outcomes(errors=2)
    assert talks(shop) == 0


def test_a_trace_that_is_broken_or_gone_voids_its_trial_alone(shop: Shop) -> None:
    held(shop)
    run = shop.last_run
    first, second = sorted((run / "traces").glob("*.jsonl"))
    first.unlink()
    result = regrade(shop)
    result.assert_outcomes(passed=1, errors=1)
    assert "Traceback" not in result.stdout.str()
    second.write_text("nonsense\n", encoding="utf-8")
    result = shop.run("--dialeval-regrade", run.name)
    result.assert_outcomes(errors=2)
    assert "Traceback" not in result.stdout.str()


def test_a_conversation_that_failed_is_failed_again(shop: Shop) -> None:
    shop.write("agent.py", "def own(message):\n    raise RuntimeError('broken')\n")
    shop.suite(agents={"own": {"use": "python:agent.py:own"}})
    shop.run().assert_outcomes(failed=1)
    shop.write("agent.py", "def own(message):\n    return 'Hello!'\n")
    regrade(shop).assert_outcomes(failed=1)
    assert shop.summary["outcomes"]["agent_error"] == 1


def test_suites_of_recordings_are_graded_as_ever(shop: Shop) -> None:
    held(shop)
    talk = {"messages": [{"role": "user", "content": "Lamp?"}]}
    talk["messages"].append({"role": "assistant", "content": "Hello!"})
    shop.write("talk.jsonl", json.dumps(talk) + "\n")
    source = {"format": "openai", "path": "talk.jsonl", "agent": "old"}
    play(shop, "old", agents=None, personas=None, transcripts=[source])
    regrade(shop).assert_outcomes(passed=3)
    assert talks(shop) == 0


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_that_is_not_there_is_one_line(shop: Shop, workers: int) -> None:
    held(shop)
    known = shop.last_run.name
    given = ("--dialeval-regrade", known[:-1])
    if workers:
        result = shop.pytester.runpytest_subprocess(
            "-p", "xdist", "-n", str(workers), "-p", "dialeval", *given
        )
    else:
        result = shop.run(*given)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = f"{result.stdout.str()}\n{result.stderr.str()}"
    [line] = [each for each in text.splitlines() if "there is no run" in each]
    assert f"ERROR: --dialeval-regrade: there is no run '{known[:-1]}'" in line
    assert f"did you mean '{known}'?" in line
    assert len(shop.runs) == 1


def test_the_last_run_is_named_where_no_name_is_near(shop: Shop) -> None:
    held(shop)
    result = shop.run("--dialeval-regrade", "yesterday")
    result.stderr.fnmatch_lines(
        [f"*no run 'yesterday'*; the last one there is {shop.last_run.name} (only*"]
    )


def test_without_a_value(shop: Shop) -> None:
    held(shop)
    result = shop.run("--dialeval-regrade")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--dialeval-regrade: expected one argument*"])


def test_a_run_without_a_ledger_is_one_line(shop: Shop) -> None:
    held(shop)
    (shop.last_run / "ledger.main.jsonl").unlink()
    result = regrade(shop)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --dialeval-regrade: *the ledger is gone*"])
