"""`dialogue.expect.judge` in a test's body, and what is asked ahead for other trials."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

from .conftest import Shop, told
from .played import CLIENT, calls, judged, play, verdicts

HEAD = """
from pathlib import Path
from pytest_dialeval import dialogue_case

HERE = Path(__file__).parent

"""


def body(shop: Shop, *lines: str, trials: int = 1, rubrics: str = "") -> None:
    """A function with that body on the clerk's conversations."""
    if not (shop.path / "client.py").exists():
        play(shop, rubrics=[])
    text = f'{HEAD}@dialogue_case("shop.dialeval.yaml", trials={trials}{rubrics})\n'
    text += "def test_body(dialogue):\n" + "".join(f"    {each}\n" for each in lines)
    shop.write("test_body.py", text)


def ask(word: str) -> str:
    return f"verdict = dialogue.expect.judge('the agent says \"{word}\"')"


def test_met_passes_and_gives_the_verdict(shop: Shop) -> None:
    body(
        shop,
        ask("Hello"),
        'assert (verdict.status, verdict.score, verdict.reason) == ("passed", 1.0, "read")',
        'assert [(each.turn, each.quote) for each in verdict.evidence] == [(2, "Hello")]',
    )
    shop.run("test_body.py").assert_outcomes(passed=1)
    assert [each[-1] for each in calls(shop)] == ["rubric expect.judge, vote 1"]


def test_not_met_fails_with_the_turns(shop: Shop) -> None:
    body(shop, ask("tractor"))
    result = shop.run("test_body.py")
    result.assert_outcomes(failed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["E*judge: read", '*expected: the agent says "tractor"'])


def test_cannot_tell_is_unmeasured(shop: Shop) -> None:
    body(shop, ask("why?"))
    case = shop.junit("test_body.py")["test_body[buyer-1]"]
    assert [each.tag for each in told(case)] == ["error"]
    assert shop.summary["exit_status"] == 10
    [verdict] = verdicts(shop).values()
    assert (verdict.status, verdict.reason) == ("unscored", "the judge cannot tell: read")


def test_without_a_judge_it_is_unmeasured(shop: Shop) -> None:
    play(shop, models=None, rubrics=[])
    body(shop, ask("Hello"))
    result = shop.run("test_body.py")
    result.assert_outcomes(errors=1)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*no judge is configured*"])


def test_without_a_judge_by_choice_it_is_skipped(shop: Shop) -> None:
    body(shop, ask("Hello"))
    result = shop.run("test_body.py", "--dialeval-no-judge", "-rs")
    result.assert_outcomes(skipped=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["SKIPPED*no judge*"])
    assert calls(shop) == []


def test_a_judge_that_fails_is_unmeasured(shop: Shop) -> None:
    play(shop, rubrics=[])
    shop.write(
        "client.py", CLIENT.replace("text = call", 'raise RuntimeError("no")\n        text = call')
    )
    body(shop, ask("Hello"))
    result = shop.run("test_body.py")
    result.assert_outcomes(errors=1)
    assert result.ret == 10
    assert "Traceback" not in result.stdout.str()


def test_a_judge_that_never_answers_is_unmeasured(shop: Shop) -> None:
    play(shop, rubrics=[])
    line = "        reply = self"
    hanging = CLIENT.replace(line, f"        await asyncio.sleep(600)\n{line}")
    shop.write("client.py", hanging)
    body(shop, ask("Hello"))
    result = shop.run("test_body.py", "--dialeval-timeout=0.3")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the judge gave no verdict within 0.3 s (limits.timeout)*"])


def test_judged_rubrics_of_the_decorator_are_items_of_their_own(shop: Shop) -> None:
    play(shop, rubrics=[judged("greet"), judged("never", "tractor")])
    body(shop, ask("lamp"), rubrics=', rubrics=["greet", "never"]')
    shop.run("test_body.py").assert_outcomes(passed=2, failed=1)
    assert sorted(each[-1] for each in calls(shop)) == [
        "rubric expect.judge, vote 1",
        "rubric greet, vote 1",
        "rubric never, vote 1",
    ]


# ---- ahead

# Each body looks at what the judge was asked before the body itself began.
LOOK = 'log = (HERE / "calls.jsonl")'
SEEN = "before = [__import__('json').loads(each)[3] for each in log.read_text().splitlines()]"


def test_what_one_body_asked_is_asked_before_the_next_one_runs(shop: Shop) -> None:
    """The first body waits until all other trials were judged by its criterion."""
    body(
        shop,
        LOOK,
        "if dialogue.trial > 1:",
        f"    {SEEN}",
        "    assert dialogue.trial in before",
        ask("Hello"),
        "import time",
        "for _ in range(400):",
        f"    {SEEN}",
        "    if len(before) == 6:",
        "        break",
        "    time.sleep(0.01)",
        "assert sorted(before) == [1, 2, 3, 4, 5, 6]",
        trials=6,
    )
    shop.run("test_body.py").assert_outcomes(passed=6)
    assert len(calls(shop)) == 6


def test_each_criterion_is_asked_once_a_trial(shop: Shop) -> None:
    body(shop, ask("Hello"), ask("lamp"), ask("Hello"), trials=3)
    shop.run("test_body.py").assert_outcomes(passed=3)
    asked = [each[3] for each in calls(shop)]
    assert sorted(asked) == [1, 1, 2, 2, 3, 3]


def test_the_verdict_is_the_same_ahead_or_not(shop: Shop) -> None:
    body(shop, ask("lamp"), ask("tractor"), trials=4)
    shop.run("test_body.py").assert_outcomes(failed=4)
    ahead = verdicts(shop)
    shop.run("test_body.py", "--dialeval-ahead=0", "--dialeval-concurrency=1")
    assert verdicts(shop) == ahead


def test_what_is_asked_ahead_is_of_its_own_trial(shop: Shop) -> None:
    """The agent greets in odd trials alone: no verdict is taken from a neighbour."""
    shop.write(
        "agent.py",
        """
        count = 0

        class Clerk:
            def __init__(self):
                global count
                count += 1
                self.odd = count % 2

            def reply(self, message):
                return "Hello!" if self.odd else "Good day."
        """,
    )
    play(shop, rubrics=[], agents={"own": {"use": "python:agent.py:Clerk"}})
    body(
        shop,
        "says = 'Hello!' in [each.text for each in dialogue.turns]",
        "try:",
        f"    {ask('Hello')}",
        "except AssertionError:",
        "    assert not says",
        "else:",
        "    assert says",
        trials=6,
    )
    shop.run("test_body.py").assert_outcomes(passed=6)


def test_another_attempt_is_judged_by_its_own_conversation(shop: Shop) -> None:
    if find_spec("pytest_rerunfailures") is None:
        pytest.skip("pytest-rerunfailures is not installed")
    shop.write(
        "agent.py",
        """
        from pathlib import Path

        HERE = Path(__file__).parent

        class Clerk:
            def __init__(self):
                self.first = not (HERE / "seen").exists()
                (HERE / "seen").touch()

            def reply(self, message):
                return "Good day." if self.first else "Hello!"
        """,
    )
    play(shop, rubrics=[], agents={"own": {"use": "python:agent.py:Clerk"}})
    body(shop, ask("Hello"))
    options = ("-p", "dialeval", "-p", "pytest_rerunfailures", "--reruns=1")
    result = shop.pytester.runpytest_subprocess(*options, "test_body.py")
    result.stdout.fnmatch_lines(["*1 passed, 1 rerun*"])
    assert len(calls(shop)) == 2


def test_parameters_tell_criteria_apart(shop: Shop) -> None:
    body(
        shop,
        ask("Hello"),
        "dialogue.expect.judge('the agent says \"Hello\"', votes=3)",
    )
    shop.run("test_body.py").assert_outcomes(passed=1)
    assert sorted(each[-1] for each in calls(shop)) == [
        "rubric expect.judge, vote 1",
        "rubric expect.judge, vote 1",
        "rubric expect.judge, vote 2",
        "rubric expect.judge, vote 3",
    ]


def test_a_body_replays_what_was_recorded(shop: Shop) -> None:
    body(shop, ask("Hello"), ask("lamp"), trials=3)
    shop.run("test_body.py", "--dialeval-record=new").assert_outcomes(passed=3)
    asked = json.dumps(calls(shop))
    shop.run("test_body.py", "-k", "buyer-2").assert_outcomes(passed=1)
    shop.run("test_body.py").assert_outcomes(passed=3)
    assert json.dumps(calls(shop)) == asked
