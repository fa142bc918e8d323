"""`--dialeval-no-judge`: judged rubrics are skipped, the rest is scored, and that is said."""

from __future__ import annotations

import pytest

from .conftest import Shop, rubric
from .played import calls, judged, play

RUBRICS = [judged("greet"), judged("safe", dimension="safety"), rubric("rule"), rubric("no", "x")]


def test_judged_rubrics_are_skipped_with_the_reason(shop: Shop) -> None:
    play(shop, rubrics=RUBRICS)
    result = shop.run("--dialeval-no-judge", "-rs")
    result.assert_outcomes(passed=1, failed=1, skipped=2)
    assert result.ret == 1
    line = shop.line_of("shop.dialeval.yaml", '"id": "greet"')
    result.stdout.fnmatch_lines([f"SKIPPED * shop.dialeval.yaml:{line}: no judge*"])
    assert calls(shop) == []


def test_scores_are_of_rules_alone_and_say_so(shop: Shop) -> None:
    play(shop, rubrics=[judged("greet", "tractor"), rubric("rule")], scoring={"pass": 1.0})
    result = shop.run("--dialeval-no-judge")
    assert result.ret == 0
    assert shop.agent_figures()["task_score_mean"] == 1.0
    assert shop.agent_figures()["unmeasured"] == 0
    assert shop.agent_figures()["models"] == {}
    result.stdout.fnmatch_lines(
        ["judged rubrics are left out (--dialeval-no-judge): scores are of rules alone"]
    )
    assert shop.run().ret == 1


@pytest.mark.parametrize(("value", "skipped"), [("1", 1), ("true", 1), ("0", 0), ("no", 0)])
def test_by_variable(shop: Shop, monkeypatch: pytest.MonkeyPatch, value: str, skipped: int) -> None:
    play(shop)
    monkeypatch.setenv("DIALEVAL_NO_JUDGE", value)
    result = shop.run()
    result.assert_outcomes(passed=1 - skipped, skipped=skipped)
    said = [each for each in result.outlines if "judged rubrics are left out" in each]
    assert len(said) == skipped


def test_by_the_project_file(shop: Shop) -> None:
    play(shop)
    shop.write("pyproject.toml", "[tool.dialeval]\nno_judge = true\n")
    shop.run().assert_outcomes(skipped=1)


def test_a_wrong_variable(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    play(shop)
    monkeypatch.setenv("DIALEVAL_NO_JUDGE", "maybe")
    result = shop.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert [each for each in result.errlines if each] == [
        "ERROR: DIALEVAL_NO_JUDGE: 'maybe' is neither true nor false"
    ]


def test_a_hooks_judge_is_not_asked_either(shop: Shop) -> None:
    play(shop, models=None)
    shop.write(
        "conftest.py",
        """
        async def own(question):
            raise AssertionError("nobody may ask")

        def pytest_dialeval_judges(config):
            return {"default": own}
        """,
    )
    shop.run("--dialeval-no-judge").assert_outcomes(skipped=1)


def test_nothing_is_talked_over_a_recording_that_only_a_judge_grades(shop: Shop) -> None:
    shop.write(
        "talk.jsonl",
        '{"messages": [{"role": "user", "content": "Lamp?"}, '
        '{"role": "assistant", "content": "Hello! It is."}]}\n',
    )
    source = {"format": "openai", "path": "talk.jsonl", "agent": "old"}
    play(shop, agents=None, personas=None, transcripts=[source])
    shop.run("--dialeval-no-judge").assert_outcomes(skipped=1)
    assert calls(shop) == []


def test_in_a_decorated_function(shop: Shop) -> None:
    play(shop)
    shop.write(
        "test_body.py",
        """
        from pytest_dialeval import dialogue_case

        @dialogue_case("shop.dialeval.yaml", rubrics=["greet"])
        def test_rules(dialogue):
            dialogue.expect.keyword(any=["Hello"])

        @dialogue_case("shop.dialeval.yaml")
        def test_judge(dialogue):
            dialogue.expect.judge('the agent says "Hello"')
        """,
    )
    shop.run("test_body.py", "--dialeval-no-judge").assert_outcomes(passed=1, skipped=2)
    assert calls(shop) == []
