"""One rubric on one dialogue, with real matchers and with bad ones."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.errors import NotMeasured, SpecError
from pytest_dialeval.grading.grade import (
    CompiledRubric,
    Dialogue,
    compile_rubrics,
    grade,
    grade_by_rule,
)
from pytest_dialeval.grading.judge import JudgeQuestion, JudgeReply
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.matching.matcher import matcher_from_function
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.rubric import Rubric, Trigger
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.transcript import (
    OUTCOMES,
    UNMEASURED_OUTCOMES,
    Outcome,
    Transcript,
    Turn,
)
from pytest_dialeval.records.verdict import DIMENSIONS, Evidence, MatcherResult, Verdict

from .samples import PROBE, TASK, asked, judge_rubric, rubric, run, talk


def half(view: View) -> float:
    return 0.5


def almost(view: View) -> float:
    return 1 - 0.9


def unasked(view: View) -> None:
    return None


def seen(view: View, *, word: str) -> MatcherResult:
    """Where the word stands after the trigger."""
    for turn in view.searched("agent"):
        if word in turn.text:
            return MatcherResult(
                1.0, "it is there", word, (Evidence(turn.id, word, turn.text.index(word)),)
            )
    return MatcherResult(0.0, "it is missing", word, searched=tuple(t.id for t in view.searched()))


def unseen(view: View, *, word: str) -> MatcherResult:
    found = seen(view, word=word)
    return MatcherResult(1 - found.score, found.reason, "", found.evidence, found.searched)


def lying(view: View) -> MatcherResult:
    return MatcherResult(1.0, evidence=(Evidence(2, "never said"),))


def broken(view: View) -> bool:
    raise KeyError("a\nb")


def stuck(view: View) -> bool:
    raise NotMeasured("the price list is not there")


def wild(view: View) -> float:
    return 3.0


def garbage(view: View) -> bool:
    return "yes"


def not_a_number(view: View) -> float:
    return float("nan")


MATCHERS = {
    **builtin_matchers(),
    **{
        each.__name__: matcher_from_function(each.__name__, each)
        for each in (
            half,
            almost,
            unasked,
            seen,
            unseen,
            lying,
            broken,
            stuck,
            wild,
            garbage,
            not_a_number,
        )
    },
}


def compiled(given_rubric: Rubric) -> CompiledRubric:
    return compile_rubrics([given_rubric], MATCHERS)[0]


def decide(given_rubric: Rubric, transcript: Transcript) -> Verdict:
    return grade_by_rule(compiled(given_rubric), Dialogue(transcript, TASK))


TALK = talk("user: Hello", "agent: Hello, how can I help?")
HELLO = rubric("greeting", params={"any": ["hello"]})


def test_a_real_matcher_passes_with_evidence() -> None:
    verdict = decide(HELLO, TALK)
    assert (verdict.rubric, verdict.status, verdict.score) == ("greeting", "passed", 1.0)
    assert verdict.evidence[0] == Evidence(2, "Hello", 0)
    assert (verdict.triggered_at, verdict.fault) == (None, None)


def test_a_real_matcher_fails_and_names_what_it_searched() -> None:
    verdict = decide(rubric(params={"any": ["goodbye"]}), TALK)
    assert (verdict.status, verdict.score, verdict.evidence) == ("failed", 0.0, ())
    assert verdict.searched == (2,)
    assert verdict.reason and verdict.expected


def test_bad_parameters_are_refused_when_compiling() -> None:
    with pytest.raises(SpecError, match="keyword"):
        compile_rubrics([rubric(params={"anny": ["hello"]})], MATCHERS)
    with pytest.raises(SpecError, match="keyword"):
        when = Trigger(when=MatcherSpec("keyword", {"anny": ["hello"]}))
        compile_rubrics([rubric(method="half", trigger=when)], MATCHERS)


@pytest.mark.parametrize(("least", "status"), [(1.0, "failed"), (0.51, "failed"), (0.5, "passed")])
def test_a_ratio_passes_at_its_min_and_keeps_its_score(least: float, status: str) -> None:
    verdict = decide(rubric(method="half", min=least), TALK)
    assert (verdict.status, verdict.score) == (status, 0.5)


def test_rounding_does_not_decide() -> None:
    # 1 - .9 is a little less than .1
    assert decide(rubric(method="almost", min=0.1), TALK).status == "passed"


def test_safety_is_boolean_whatever_its_min() -> None:
    verdict = decide(rubric("s", "safety", "half", min=0.5), TALK)
    assert (verdict.status, verdict.score) == ("failed", 0.0)
    assert decide(rubric("s", "safety", "seen", {"word": "help"}), TALK).score == 1.0


def test_a_question_that_did_not_arise_is_not_applicable() -> None:
    verdict = decide(rubric(method="unasked"), TALK)
    assert (verdict.status, verdict.score) == ("not_applicable", None)


LATER = Turn(4, "agent", "Yes, you can.", round=2)


@pytest.mark.parametrize(
    ("trigger", "reason"),
    [
        (Trigger(probe="fee"), "the probe 'fee' was not said"),
        (Trigger(state="angry"), "the user was never in the state 'angry'"),
        (Trigger(user_keyword=("fee", "price")), "the user never said 'fee' or 'price'"),
        (Trigger(when=MatcherSpec("keyword", {"any": ["sorry"]})), "keyword never matched"),
    ],
)
def test_an_untriggered_rubric_does_not_count(trigger: Trigger, reason: str) -> None:
    verdict = decide(rubric(method="broken", trigger=trigger), asked(LATER))
    assert (verdict.status, verdict.triggered_at) == ("not_applicable", None)
    assert verdict.reason == f"its trigger never fired: {reason}"


@pytest.mark.parametrize(
    ("trigger", "turn"),
    [
        (Trigger(probe="refund"), 3),
        (Trigger(state="start"), 1),
        (Trigger(user_keyword=("REFUND",)), 3),
        (Trigger(when=MatcherSpec("keyword", {"any": ["how can"]})), 2),
    ],
)
def test_a_trigger_narrows_what_is_searched(trigger: Trigger, turn: int) -> None:
    verdict = decide(rubric(method="seen", params={"word": "Yes"}, trigger=trigger), asked(LATER))
    assert (verdict.status, verdict.triggered_at) == ("passed", turn)
    assert verdict.evidence == (Evidence(4, "Yes", 0),)


def test_then_all_searches_everything() -> None:
    hello = {"word": "Hello"}
    after = decide(rubric(method="seen", params=hello, trigger=PROBE), asked(LATER))
    assert (after.status, after.searched) == ("failed", (4,))
    all_turns = Trigger(probe="refund", then="all")
    everything = decide(rubric(method="seen", params=hello, trigger=all_turns), asked(LATER))
    assert (everything.status, everything.triggered_at) == ("passed", 3)


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("broken", "matcher 'broken' raised KeyError: 'a\\nb'"),
        ("stuck", "the price list is not there"),
        ("lying", "matcher 'lying' quotes 'never said', which does not stand in turn 2"),
        ("wild", "matcher 'wild' raised ValueError: matcher 'wild' gave the score 3.0"),
        ("garbage", "matcher 'garbage' raised TypeError: matcher 'garbage' answered 'yes'"),
        ("not_a_number", "matcher 'not_a_number'"),
    ],
)
def test_a_matcher_that_fails_is_no_failure_of_the_agent(method: str, reason: str) -> None:
    verdict = decide(rubric(method=method), TALK)
    assert (verdict.status, verdict.score, verdict.fault) == ("unscored", None, "harness_error")
    assert verdict.reason.startswith(reason)
    assert "\n" not in verdict.reason


def test_a_trigger_that_fails_is_no_failure_of_the_agent() -> None:
    trigger = Trigger(when=MatcherSpec("broken"))
    verdict = decide(rubric(method="half", trigger=trigger), TALK)
    assert (verdict.status, verdict.fault) == ("unscored", "harness_error")
    assert verdict.reason.startswith("the trigger's matcher raised KeyError")


@pytest.mark.parametrize("outcome", sorted(UNMEASURED_OUTCOMES))
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_a_void_conversation_is_not_graded(outcome: Outcome, dimension: str) -> None:
    transcript = talk("user: Hello", "agent: Hello", outcome=outcome, reason="the disk is full")
    verdict = decide(rubric(dimension=dimension, method="half"), transcript)
    assert (verdict.status, verdict.fault, verdict.reason) == (
        "unscored",
        outcome,
        "the disk is full",
    )


def test_a_void_conversation_without_a_reason_names_its_outcome() -> None:
    verdict = decide(HELLO, Transcript(outcome="cancelled"))
    assert verdict.reason == "the conversation ended with cancelled"


def test_a_trace_that_was_cut_off_is_not_graded() -> None:
    transcript = talk("user: Hello", "agent: Hello", finished=False)
    verdict = decide(HELLO, transcript)
    assert (verdict.status, verdict.fault) == ("unscored", "harness_error")
    assert verdict.reason == "the trace breaks off before the end"


def test_reaching_the_limit_is_graded() -> None:
    assert decide(HELLO, talk("user: Hi", "agent: Hello", outcome="limit_reached")).score == 1.0


CRASH = {"outcome": "agent_error", "reason": "ValueError: boom"}


@pytest.mark.parametrize("dimension", ["completion", "robustness"])
def test_after_a_crash_what_counted_has_failed(dimension: str) -> None:
    # the greeting was said; the trial is over all the same
    transcript = talk("user: Hello", "agent: Hello", "user: Why?", **CRASH)
    verdict = decide(rubric("g", dimension, params={"any": ["hello"]}), transcript)
    assert (verdict.status, verdict.score, verdict.fault) == ("failed", 0.0, None)
    assert verdict.reason == "the agent failed: ValueError: boom"
    assert verdict.evidence == (Evidence(3, "Why?"),)


def test_after_a_crash_what_was_triggered_has_failed_and_the_rest_does_not_count() -> None:
    transcript = Transcript(asked().turns, **CRASH)
    triggered = decide(rubric(method="half", trigger=PROBE), transcript)
    assert (triggered.status, triggered.triggered_at) == ("failed", 3)
    other = decide(rubric(method="half", trigger=Trigger(probe="fee")), transcript)
    assert other.status == "not_applicable"


def test_a_crash_before_any_word() -> None:
    verdict = decide(HELLO, Transcript(outcome="agent_error"))
    assert (verdict.status, verdict.evidence, verdict.searched) == ("failed", (), ())
    assert verdict.reason == "the agent failed: no reason was recorded"


def test_a_crash_after_a_wordless_turn_names_the_turn() -> None:
    verdict = decide(HELLO, Transcript((Turn(1, "agent"),), **CRASH))
    assert (verdict.evidence, verdict.searched) == ((), (1,))


def test_a_long_last_turn_is_quoted_in_part() -> None:
    verdict = decide(HELLO, talk("user: " + "x" * 5000, **CRASH))
    assert verdict.evidence == (Evidence(1, "x" * 200),)


def test_safety_is_judged_on_the_turns_that_exist() -> None:
    transcript = talk("user: Hello", "agent: I promise a refund", "user: Sure?", **CRASH)
    breach = decide(rubric("s", "safety", "unseen", {"word": "promise"}), transcript)
    assert (breach.status, breach.score) == ("failed", 0.0)
    assert breach.evidence == (Evidence(2, "promise", 2),)
    clean = decide(rubric("s", "safety", "unseen", {"word": "guarantee"}), transcript)
    assert clean.status == "passed"


def test_a_crash_is_never_a_breach() -> None:
    # what the agent was still to say can't be missed
    transcript = talk("user: Hello", "agent: I promise a refund", "user: Sure?", **CRASH)
    verdict = decide(rubric("s", "safety", "seen", {"word": "terms apply"}), transcript)
    assert (verdict.status, verdict.score) == ("not_applicable", None)
    assert verdict.reason == "the agent failed before it could be decided (it is missing)"
    whole = talk("user: Hello", "agent: I promise a refund")
    assert decide(rubric("s", "safety", "seen", {"word": "terms apply"}), whole).status == "failed"


JUDGED = judge_rubric("polite")


class Yes:
    """Says that everything is met, in the agent's last words."""

    def __init__(self, verdict: str = "met") -> None:
        self.verdict = verdict
        self.questions: list[JudgeQuestion] = []

    async def __call__(self, question: JudgeQuestion) -> JudgeReply:
        self.questions.append(question)
        turn = question.searched()[-1]
        return JudgeReply(self.verdict, "so it is", ((turn.id, turn.text),))


def judge_it(given_rubric: Rubric, transcript: Transcript, judge: object) -> Verdict:
    return run(grade(compiled(given_rubric), Dialogue(transcript, TASK), judge))


def test_the_judge_decides_what_is_his() -> None:
    judge = Yes()
    verdict = judge_it(JUDGED, TALK, judge)
    assert (verdict.rubric, verdict.status, verdict.score) == ("polite", "passed", 1.0)
    assert (verdict.reason, verdict.expected) == ("so it is", "the agent is polite")
    assert verdict.evidence == (Evidence(2, "Hello, how can I help?"),)
    (question,) = judge.questions
    assert (question.rubric, question.criterion) == ("polite", "the agent is polite")
    assert (question.turns, question.task, question.after) == (TALK.turns, TASK, None)


def test_without_a_judge_nothing_is_known() -> None:
    for verdict in (judge_it(JUDGED, TALK, None), decide(JUDGED, TALK)):
        assert (verdict.status, verdict.fault) == ("unscored", "judge_error")
        assert verdict.reason == "no judge is configured"


def test_a_rule_never_asks_the_judge() -> None:
    judge = Yes()
    assert judge_it(HELLO, TALK, judge) == decide(HELLO, TALK)
    assert judge.questions == []


def test_the_judge_is_asked_only_where_it_must_be() -> None:
    judge = Yes()
    fee = judge_rubric(trigger=Trigger(probe="fee"))
    assert judge_it(fee, asked(LATER), judge).status == "not_applicable"
    assert judge_it(JUDGED, talk("user: Hello", outcome="provider_error"), judge).fault == (
        "provider_error"
    )
    assert judge_it(JUDGED, talk("user: Hello", "agent: Hi", **CRASH), judge).status == "failed"
    assert judge.questions == []
    # and without a judge too: these are known without him
    assert judge_it(fee, asked(LATER), None).status == "not_applicable"


def test_a_trigger_narrows_what_the_judge_may_quote() -> None:
    judge = Yes()
    verdict = judge_it(judge_rubric(trigger=PROBE), asked(LATER), judge)
    assert (verdict.status, verdict.triggered_at) == ("passed", 3)
    assert judge.questions[0].after == 3
    assert judge_it(judge_rubric(trigger=PROBE), asked(LATER), None).triggered_at == 3


def test_the_judge_on_safety_after_a_crash() -> None:
    transcript = talk("user: Hello", "agent: I promise a refund", "user: Sure?", **CRASH)
    polite = judge_rubric("s", dimension="safety")
    assert judge_it(polite, transcript, Yes("not_met")).status == "failed"
    assert judge_it(polite, transcript, Yes()).status == "passed"

    async def nowhere(question: JudgeQuestion) -> JudgeReply:
        return JudgeReply("not_met", "nowhere", absence=True)

    assert judge_it(polite, transcript, nowhere).status == "not_applicable"


texts = st.text(max_size=30)
turns = st.lists(
    st.tuples(st.sampled_from(["agent", "user"]), texts, st.sampled_from([None, "refund"])),
    max_size=6,
).map(
    lambda rows: tuple(
        Turn(number, speaker, text, probe=probe)
        for number, (speaker, text, probe) in enumerate(rows, start=1)
    )
)
rubrics = st.builds(
    rubric,
    st.just("r"),
    st.sampled_from(DIMENSIONS),
    st.sampled_from([each for each in MATCHERS if each not in builtin_matchers()]),
    st.just({}),
    trigger=st.sampled_from([None, PROBE, Trigger(user_keyword=("a",))]),
    min=st.floats(0, 1),
).map(lambda each: each if each.spec.method not in ("seen", "unseen") else HELLO)


@given(rubrics, turns, st.sampled_from(OUTCOMES), st.booleans())
def test_every_verdict_is_whole(
    given_rubric: Rubric, given_turns: tuple[Turn, ...], outcome: Outcome, finished: bool
) -> None:
    transcript = Transcript(given_turns, outcome, finished=finished)
    verdict = decide(given_rubric, transcript)
    assert (verdict.score is not None) == (verdict.status in ("passed", "failed"))
    assert (verdict.fault is not None) == (verdict.status == "unscored")
    assert verdict.reason or verdict.status in ("passed", "failed")
    if outcome in UNMEASURED_OUTCOMES:
        assert verdict.fault == outcome
    for each in verdict.evidence:
        assert each.stands_in(transcript.turn(each.turn))


def test_ten_thousand_verdicts_cost_little() -> None:
    """Outside of the matchers: the share of this room alone."""
    transcript = talk(*["user: Hello", "agent: Hello, how can I help?"] * 6)
    dialogues = [Dialogue(transcript, TASK) for _ in range(2500)]
    ready = compile_rubrics(
        [
            rubric("a", method="seen", params={"word": "help"}),
            rubric("b", "safety", "unseen", {"word": "promise"}),
            rubric("c", "robustness", "half", min=0.5),
            rubric("d", method="half", trigger=PROBE),
        ],
        MATCHERS,
    )
    matching = 0.0
    start = time.process_time()
    verdicts = [grade_by_rule(each, dialogue) for dialogue in dialogues for each in ready]
    graded = time.process_time() - start
    view = View(transcript.turns)
    start = time.process_time()
    for each in [each.check for each in ready[:3]] * 2500:
        each(view)
    matching = time.process_time() - start
    assert len(verdicts) == 10_000
    assert graded - matching < 0.5
