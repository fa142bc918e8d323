"""What a project brings by hooks: matchers, judges, simulated users."""

from __future__ import annotations

import pytest

from .conftest import Shop, rubric

JUDGED = {"id": "kind", "dimension": "robustness", "judge": "the clerk was kind"}
MATCHERS = """
from pytest_dialeval import Evidence, Matcher, MatcherResult

def loud(view, *, least: int = 1) -> bool:
    return sum("!" in turn.text for turn in view.searched()) >= least

def share(view, *, word: str) -> float:
    turns = view.searched()
    return sum(word in turn.text for turn in turns) / len(turns)

def never(view):
    return None

def quoting(view, *, word: str):
    for turn in view.searched():
        if word in turn.text:
            found = Evidence(turn.id, word, turn.text.index(word))
            return MatcherResult(1.0, f"turn {turn.id} has it", evidence=(found,))
    return MatcherResult(0.0, "it is nowhere", searched=tuple(t.id for t in view.searched()))

def lying(view):
    return MatcherResult(0.0, "made up", evidence=(Evidence(2, "never said"),))

def broken(view):
    raise KeyError("oh no")

def pytest_dialeval_matchers(config):
    return {each.__name__: each for each in (loud, share, never, quoting, lying, broken)}
"""


def one(shop: Shop, method: str, value: object, **keys: object) -> pytest.RunResult:
    shop.write("conftest.py", MATCHERS)
    own = rubric("own", keyword=None, **{method: value}, **keys)
    shop.suite(rubrics=[rubric("greet"), own])
    return shop.run("-rs")


@pytest.mark.parametrize(
    ("method", "value", "outcome"),
    [
        ("loud", {}, "passed"),
        ("loud", {"least": 2}, "failed"),
        ("share", {"word": "lamp"}, "failed"),  # 1 of 2 turns
        ("never", {}, "skipped"),
        ("quoting", {"word": "lamp"}, "passed"),
        ("quoting", {"word": "tractor"}, "failed"),
        ("not", {"loud": {"least": 2}}, "passed"),
        ("all", [{"loud": {}}, {"keyword": ["lamp"]}], "passed"),
        ("any", [{"loud": {"least": 2}}, {"quoting": {"word": "lamp"}}], "passed"),
    ],
)
def test_a_function_is_a_matcher(shop: Shop, method: str, value: object, outcome: str) -> None:
    counts = one(shop, method, value).parseoutcomes()

    expected = {"passed": 2} if outcome == "passed" else {"passed": 1, outcome: 1}
    assert counts == expected


def test_a_ratio_of_a_users_matcher_is_kept(shop: Shop) -> None:
    one(shop, "share", {"word": "lamp"}, min=0.5).assert_outcomes(passed=2)

    assert shop.agent_figures()["rubrics"][1]["mean"] == 0.5


def test_a_users_evidence_is_marked(shop: Shop) -> None:
    one(shop, "not", {"quoting": {"word": "lamp"}}).stdout.fnmatch_lines(
        ["  turn 2 agent: Hello! The >>lamp<< is in stock."]
    )


def test_evidence_that_does_not_stand_leaves_the_rubric_unscored(shop: Shop) -> None:
    result = one(shop, "lying", {})

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["unmeasured: *'lying'* (harness_error)"])


def test_a_matcher_that_raises_leaves_the_rubric_unscored(shop: Shop) -> None:
    result = one(shop, "broken", {})

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["unmeasured: *broken*KeyError*oh no* (harness_error)"])
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"lest": 1}, "*'lest'*did you mean 'least'?*"),
        ({"least": "many"}, "*'many'*"),
    ],
)
def test_parameters_are_checked_when_the_suite_is_read(
    shop: Shop, value: object, said: str
) -> None:
    result = one(shop, "loud", value)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"shop.dialeval.yaml:{said}"])


def test_a_users_ratio_cannot_guard_safety(shop: Shop) -> None:
    result = one(shop, "share", {"word": "x"}, dimension="safety")

    result.stdout.fnmatch_lines(["shop.dialeval.yaml:*a safety rubric must be met or not met*"])


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("{'keyword': lambda view: True}", "*pytest_dialeval_matchers: 'keyword' is given twice*"),
        ("{'mine': 7}", "*pytest_dialeval_matchers: matcher 'mine' is 7*"),
        ("{'mine': lambda: True}", "*matcher 'mine' must take the view*"),
    ],
)
def test_matchers_that_cannot_be_are_one_message(shop: Shop, code: str, said: str) -> None:
    shop.suite()
    shop.write("conftest.py", f"def pytest_dialeval_matchers(config):\n    return {code}\n")

    result = shop.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([said])
    assert "pytest_dialeval/" not in result.stdout.str()


FOLDER = """
from pathlib import Path
from pytest_dialeval import ScriptedJudge

def own(view) -> bool:
    return {answer}

def pytest_dialeval_matchers(config):
    return {{"own": own}}

def pytest_dialeval_agents(config):
    return {{"here": lambda message: "Hello from {name}"}}

def pytest_dialeval_judges(config):
    return {{"default": ScriptedJudge.from_file(Path(__file__).with_name("judge.yaml"))}}
"""


def test_what_a_folders_conftest_brings_serves_that_folder_alone(shop: Shop) -> None:
    for name, answer, found in (("a", True, "met"), ("b", False, "not_met")):
        shop.write(f"{name}/conftest.py", FOLDER.format(name=name, answer=answer))
        reply = f"{{verdict: {found}, evidence: [{{quote: from {name}}}]}}"
        shop.write(f"{name}/judge.yaml", f"verdicts: {{kind: {reply}}}\n")
        rubrics = [rubric("said", f"from {name}"), rubric("ruled", keyword=None, own={}), JUDGED]
        shop.suite(f"{name}/shop", agents=None, rubrics=rubrics)

    result = shop.run("-rA")

    assert [each for each in result.outlines if each.startswith(("PASSED", "FAILED"))] == [
        "PASSED a/shop.dialeval.yaml::buyer-1::said",
        "PASSED a/shop.dialeval.yaml::buyer-1::ruled",
        "PASSED a/shop.dialeval.yaml::buyer-1::kind",
        "PASSED b/shop.dialeval.yaml::buyer-1::said",
        *[each for each in result.outlines if each.startswith("FAILED b/")],
    ]
    result.assert_outcomes(passed=4, failed=2)


def test_what_a_parent_folders_conftest_brings_serves_below(shop: Shop) -> None:
    shop.write("conftest.py", MATCHERS)
    shop.write("deep/down/clerk.yaml", "otherwise: ['Hello!']\n")
    shop.suite("deep/down/shop", rubrics=[rubric("own", keyword=None, loud={})])

    shop.run().assert_outcomes(passed=1)


def test_a_name_given_by_a_folder_and_its_parent_is_refused(shop: Shop) -> None:
    shop.write("conftest.py", MATCHERS)
    shop.write("deep/conftest.py", MATCHERS)
    shop.write("deep/clerk.yaml", "otherwise: ['Hello!']\n")
    shop.suite("deep/shop")

    result = shop.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["pytest_dialeval_matchers: 'loud' is given twice*"])


JUDGE = """
from pathlib import Path
from pytest_dialeval import ScriptedJudge

def pytest_dialeval_judges(config):
    return {"default": ScriptedJudge.from_file(Path(__file__).with_name("judge.yaml"))}
"""


def judged(shop: Shop, reply: str, **keys: object) -> pytest.RunResult:
    shop.write("conftest.py", JUDGE)
    shop.write("judge.yaml", f"verdicts: {{kind: {reply}}}\n")
    shop.suite(rubrics=[rubric("greet"), {**JUDGED, **keys}])
    return shop.run()


def test_a_judge_that_finds_it_met(shop: Shop) -> None:
    result = judged(shop, "{verdict: met, evidence: [{quote: in stock}]}")

    result.assert_outcomes(passed=2)


def test_a_judge_that_finds_it_not_met_fails_with_its_quote(shop: Shop) -> None:
    result = judged(
        shop, "{verdict: not_met, reasoning: it is curt, evidence: [{quote: in stock}]}"
    )

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*it is curt*",
            "  rubric: kind (robustness, judge, weight 1)",
            "*turn 2*The lamp is >>in stock<<.*",
        ]
    )


def test_a_soft_judge_rubric_does_not_raise(shop: Shop) -> None:
    result = judged(shop, "{verdict: not_met, evidence: [{quote: in stock}]}", severity="soft")

    assert result.parseoutcomes() == {"passed": 1, "soft": 1}


@pytest.mark.parametrize(
    "reply",
    [
        "{verdict: cannot_tell}",
        "{verdict: met, evidence: [{turn: 2, quote: nobody said this}]}",
        "{verdict: not_met, evidence: [{turn: 1, quote: lamp}]}",
        "{verdict: met, evidence: [{turn: 99, quote: lamp}]}",
        "{verdict: met}",
        "{fault: the line is dead}",
    ],
    ids=["cannot_tell", "made_up", "wrong_speaker", "no_such_turn", "no_evidence", "fault"],
)
def test_a_judge_that_cannot_be_trusted_leaves_it_unmeasured(shop: Shop, reply: str) -> None:
    result = judged(shop, reply)

    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["unmeasured: * (judge_error)"])


def test_a_judge_asked_again_may_do_better(shop: Shop) -> None:
    result = judged(
        shop,
        "{verdict: met, evidence: [{turn: 2, quote: made up}], "
        "again: {verdict: met, evidence: [{turn: 2, quote: in stock}]}}",
    )

    result.assert_outcomes(passed=2)


def test_any_async_callable_is_a_judge(shop: Shop) -> None:
    shop.write(
        "conftest.py",
        """
        from pytest_dialeval import JudgeReply

        async def judge(question):
            [first, *_] = question.searched()
            assert question.criterion == "the clerk was kind"
            return JudgeReply("met", "so it is", ((first.id, first.text[:5]),))

        def pytest_dialeval_judges(config):
            return {"mine": judge}
        """,
    )
    shop.suite(rubrics=[JUDGED])

    shop.run().assert_outcomes(passed=1)


def test_a_judge_that_raises_is_no_failure_of_the_agent(shop: Shop) -> None:
    shop.write(
        "conftest.py",
        "async def judge(question):\n    raise OSError('no line')\n\n"
        "def pytest_dialeval_judges(config):\n    return {'mine': judge}\n",
    )
    shop.suite(rubrics=[JUDGED, rubric("greet")])

    result = shop.run()

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["unmeasured: *no line* (judge_error)"])


def test_several_judges_need_a_default(shop: Shop) -> None:
    shop.write(
        "conftest.py",
        "async def judge(question): ...\n\n"
        "def pytest_dialeval_judges(config):\n    return {'one': judge, 'two': judge}\n",
    )
    shop.suite(rubrics=[JUDGED])

    result = shop.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["unmeasured: *2 judges (one, two); call one of them 'default'*"])
    result.stdout.no_fnmatch_line("*During handling*")
    assert "pytest_dialeval/" not in result.stdout.str()


SIMULATOR = """
from pytest_dialeval.conversation.user import Line

class Parrot:
    unsaid = ()

    def __init__(self, task, persona, draw, matchers):
        self.persona, self.heard, self.leaving = persona, None, False

    def hear(self, turn):
        self.heard = turn.text
        self.leaving = "Goodbye" in turn.text

    async def speak(self):
        {speak}

def pytest_dialeval_simulators(config):
    return {{"parrot": Parrot}}
"""


def test_a_simulator_plays_all_personas(shop: Shop) -> None:
    shop.write("conftest.py", SIMULATOR.format(speak="return Line(self.heard or 'lamp?')"))
    shop.suite(rubrics=[rubric("bye", "Goodbye")])

    shop.run()

    said = [each["text"] for each in shop.traces()[0] if each.get("speaker") == "user"]
    assert said == ["lamp?", *["Hello! The lamp is in stock."] * 3]


@pytest.mark.parametrize("speak", ["raise OSError('no model')", "return Line('  ')"])
def test_a_simulator_that_fails_voids_the_trial_and_never_the_agent(shop: Shop, speak: str) -> None:
    shop.write("conftest.py", SIMULATOR.format(speak=speak))
    shop.suite(rubrics=[rubric("greet"), rubric("bye", "Goodbye")])

    result = shop.run()

    result.assert_outcomes(errors=2)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["unmeasured: * (simulator_error)"])
    assert shop.summary["outcomes"]["simulator_error"] == 1


def test_every_hook_is_documented_with_an_example() -> None:
    from pytest_dialeval.plugin import hookspecs

    names = [each for each in dir(hookspecs) if each.startswith("pytest_dialeval_")]

    assert len(names) == 4
    for name in names:
        assert f"def {name}(config):" in str(getattr(hookspecs, name).__doc__)


def test_a_judge_that_never_answers_gives_no_verdict(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("nice", keyword=None, judge="it was nice")])
    shop.write(
        "conftest.py",
        """
        import asyncio

        async def silent(question):
            await asyncio.Event().wait()

        def pytest_dialeval_judges(config):
            return {"silent": silent}
        """,
    )
    result = shop.run("--dialeval-timeout=0.5")
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*the judge gave no verdict within 0.5 s (limits.timeout)*"])


def test_a_hook_that_gives_no_mapping_is_one_line(shop: Shop) -> None:
    shop.suite(agents=None)
    shop.write("conftest.py", "def pytest_dialeval_agents(config):\n    return [1]\n")
    result = shop.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*pytest_dialeval_agents: [[]1] is no mapping from name*"])
