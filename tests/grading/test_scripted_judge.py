"""Verdicts from YAML, and what is wrong with the YAML."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dialeval.errors import SuiteError
from pytest_dialeval.grading.grade import Dialogue, compile_rubrics, grade
from pytest_dialeval.grading.scripted_judge import ScriptedJudge
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.matching.matcher import matcher_from_function
from pytest_dialeval.records.rubric import Trigger
from pytest_dialeval.records.transcript import Transcript
from pytest_dialeval.records.verdict import Evidence, Verdict

from .samples import PROBE, TASK, asked, judge_rubric, run, talk

SCRIPT = """\
verdicts:
  opening.greeting: {verdict: met, evidence: [{quote: hello}]}
  flow.explain:
    - when: {keyword: {any: [free]}}
      verdict: met
      reasoning: it names the price
      evidence: [{turn: 2, quote: free of charge}]
    - {verdict: not_met, absence: true}
  flow.confirm:
    verdict: met
    evidence: [{turn: 2, quote: goodbye}]
    again: {verdict: not_met, absence: true, reasoning: it was not said}
  flow.stubborn: {verdict: met, evidence: [{turn: 9, quote: goodbye}]}
  tone: {verdict: cannot_tell, reasoning: too short}
  price: {fault: the endpoint is down}
  only.free: {when: {keyword: {any: [free]}}, verdict: met, evidence: [{quote: free}]}
"""
FREE = talk("user: Hi", "agent: Hello, it is free of charge.")
DEAR = talk("user: Hi", "agent: Hello, it is ten dollars.")


@pytest.fixture
def judge(tmp_path: Path) -> ScriptedJudge:
    (tmp_path / "judge.yaml").write_text(SCRIPT, encoding="utf-8")
    return ScriptedJudge.from_file(tmp_path / "judge.yaml")


def decide(
    judge: ScriptedJudge, name: str, transcript: Transcript, trigger: Trigger | None = None
) -> Verdict:
    (compiled,) = compile_rubrics([judge_rubric(name, trigger=trigger)], builtin_matchers())
    return run(grade(compiled, Dialogue(transcript, TASK), judge))


def test_a_quote_is_found_where_it_stands(judge: ScriptedJudge) -> None:
    verdict = decide(judge, "opening.greeting", FREE)
    assert (verdict.status, verdict.evidence) == ("passed", (Evidence(2, "Hello", 0),))
    assert verdict.reason == "the script says so"


def test_the_first_reply_that_holds_is_given(judge: ScriptedJudge) -> None:
    free, dear = decide(judge, "flow.explain", FREE), decide(judge, "flow.explain", DEAR)
    assert (free.status, free.reason) == ("passed", "it names the price")
    assert free.evidence == (Evidence(2, "free of charge", 13),)
    assert (dear.status, dear.evidence, dear.searched) == ("failed", (), (2,))


def test_the_reply_when_asked_again(judge: ScriptedJudge) -> None:
    verdict = decide(judge, "flow.confirm", FREE)
    assert (verdict.status, verdict.reason) == ("failed", "it was not said")
    assert verdict.details == {"refused": ["the quote 'goodbye' does not stand in turn 2"]}


def test_the_same_reply_again_stays_refused(judge: ScriptedJudge) -> None:
    verdict = decide(judge, "flow.stubborn", FREE)
    assert (verdict.status, verdict.fault) == ("unscored", "judge_error")
    assert verdict.reason.endswith(": there is no turn 9; turns are 1 to 2, twice")


def test_cannot_tell_and_faults(judge: ScriptedJudge) -> None:
    assert decide(judge, "tone", FREE).reason == "the judge cannot tell: too short"
    assert decide(judge, "price", FREE).reason == "the endpoint is down"


def test_what_the_script_does_not_know_is_unscored(judge: ScriptedJudge) -> None:
    verdict = decide(judge, "flow.explian", FREE)
    assert (verdict.status, verdict.fault) == ("unscored", "judge_error")
    assert "unknown rubric 'flow.explian'; did you mean 'flow.explain'?" in verdict.reason
    assert decide(judge, "only.free", DEAR).reason.endswith("no reply for 'only.free' holds")


def test_a_scripted_quote_that_stands_nowhere(judge: ScriptedJudge) -> None:
    verdict = decide(judge, "opening.greeting", talk("user: Hi", "agent: Good day"))
    assert verdict.reason == "the scripted quote 'hello' stands in no turn"


def test_quotes_are_looked_for_behind_the_trigger(judge: ScriptedJudge) -> None:
    from pytest_dialeval.records.transcript import Turn

    transcript = asked(Turn(4, "agent", "Hello again"))
    assert decide(judge, "opening.greeting", transcript).evidence[0].turn == 2
    assert decide(judge, "opening.greeting", transcript, PROBE).evidence[0].turn == 4


def test_matchers_of_the_user_may_be_used(tmp_path: Path) -> None:
    def short(view: object, *, words: int) -> bool:
        return all(len(each.text.split()) <= words for each in view.searched())

    path = tmp_path / "judge.yaml"
    path.write_text("verdicts: {tone: {when: {short: 4}, verdict: met, absence: true}}\n")
    matchers = {"short": matcher_from_function("short", short)}
    judge = ScriptedJudge.from_file(path, matchers)
    assert decide(judge, "tone", talk("agent: Hello there")).status == "passed"
    assert decide(judge, "tone", FREE).status == "unscored"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the file is empty"),
        ("verdicts: [\n", 2, "not valid YAML"),
        (
            "verdict: {}\nverdicts: {}\n",
            1,
            "'verdict' of a judge script; did you mean 'verdicts'?",
        ),
        ("verdicts:\n  a: {verdict: mett}\n", 2, "did you mean 'met'?"),
        ("verdicts:\n  a:\n    verdict: met\n    reason: x\n", 4, "'reason'"),
        ("verdicts:\n  a: {reasoning: x}\n", 2, "exactly one of 'verdict' and 'fault'"),
        ("verdicts:\n  a: {verdict: met, fault: x}\n", 2, "exactly one of"),
        ("verdicts:\n  a:\n    verdict: met\n    again: {absence: true}\n", 4, "exactly one of"),
        ("verdicts:\n  a:\n  - verdict: met\n    when: {keywrd: x}\n", 4, "'keywrd'"),
        ("verdicts:\n  a:\n  - verdict: met\n    when: {keyword: {an: x}}\n", 4, "'an'"),
        ("verdicts:\n  a:\n  - verdict: met\n    evidence: [{turn: 0, quote: x}]\n", 4, "turn"),
        ("verdicts:\n  b: {verdict: met}\n  a: []\n", 3, "'a' needs a reply"),
        ("verdicts:\n  a:\n", 2, "a scripted reply must be a mapping"),
        ("verdicts:\n  a: {verdict: met}\n  a: {verdict: met}\n", 3, "duplicate key 'a'"),
    ],
)
def test_mistakes_are_named_with_their_line(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    path = tmp_path / "judge.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError) as caught:
        ScriptedJudge.from_file(path)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (str(path), line)
    assert message in problem.text


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    path = tmp_path / "judge.yaml"
    path.write_text("verdicts:\n  b: {fault: 3}\n  a:\n  - {verdict: x}\n", encoding="utf-8")
    with pytest.raises(SuiteError) as caught:
        ScriptedJudge.from_file(path)
    assert [each.line for each in caught.value.problems] == [2, 4]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="can't be read: No such file"):
        ScriptedJudge.from_file(tmp_path / "none.yaml")
