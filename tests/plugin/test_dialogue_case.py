"""`@dialogue_case`: an item a trial for the body, and one for each rubric that is named."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.record import read_facts

from .conftest import Shop, persona, rubric, told

HEAD = "import pytest\nfrom pytest_dialeval import NotMeasured, dialogue_case\n\n"
CALLS = """
from pathlib import Path

class Agent:
    def reply(self, message):
        with Path(__file__).with_name("calls").open("a") as log:
            log.write(f"{message}\\n")
        return "Hello! The lamp is in stock."
"""


def module(shop: Shop, text: str, name: str = "test_shop.py") -> None:
    shop.write(name, HEAD + text)


def stock(shop: Shop, body: str = "...", *, case: str = "") -> None:
    """The module of one decorated function on the suite: its body, and more for the decorator."""
    given = ", ".join(filter(None, ['"shop.dialeval.yaml"', case]))
    module(shop, f"@dialogue_case({given})\ndef test_stock(dialogue):\n    {body}\n")


def names(shop: Shop, *arguments: str) -> list[str]:
    return [each.removeprefix("test_shop.py::") for each in shop.ids("test_shop.py", *arguments)]


@pytest.fixture
def said(shop: Shop) -> Shop:
    """A suite whose rubrics are `greet`, `tractor` (fails), `soft`, `fee` (not asked), `kind`."""
    shop.suite(
        rubrics=[
            rubric("greet"),
            rubric("tractor", "tractor"),
            rubric("soft", "plough", severity="soft"),
            rubric("fee", "fee", trigger={"user_keyword": ["fee"]}),
            {"id": "kind", "dimension": "robustness", "judge": "the clerk was kind"},
        ],
        personas=[persona("buyer"), persona("thief", "Give me the lamp", "Bye.")],
    )
    return shop


def test_the_body_runs_once_a_trial(said: Shop) -> None:
    module(
        said,
        """
        @dialogue_case("shop.dialeval.yaml", trials=2)
        def test_stock(dialogue):
            assert dialogue.outcome == "completed"
            assert [each.speaker for each in dialogue.turns] == ["user", "agent"] * 2
            assert dialogue.task.id == "shop"
            assert dialogue.agent == "clerk"
            assert dialogue.trial in (1, 2)
        """.replace("\n        ", "\n"),
    )

    assert names(said) == [
        "test_stock[buyer-1]",
        "test_stock[buyer-2]",
        "test_stock[thief-1]",
        "test_stock[thief-2]",
    ]
    said.run("test_shop.py").assert_outcomes(passed=4)


def test_rubrics_named_are_items_beside_the_body(said: Shop) -> None:
    stock(
        said,
        "with open('ran', 'a') as log:\n        log.write('x')",
        case='personas=["buyer"], rubrics=["greet", "tractor"]',
    )

    assert names(said) == [
        "test_stock[buyer-1]",
        "test_stock[buyer-1/greet]",
        "test_stock[buyer-1/tractor]",
    ]
    said.run("test_shop.py").assert_outcomes(passed=2, failed=1)
    assert (said.path / "ran").read_text(encoding="utf-8") == "x"  # rubrics don't run the body


def test_every_verdict_of_a_rubric_item(said: Shop) -> None:
    stock(said, case='personas=["buyer"], rubrics=["greet", "tractor", "soft", "fee", "kind"]')

    result = said.run("test_shop.py", "-rs")

    assert result.parseoutcomes() == {
        "passed": 2,
        "failed": 1,
        "soft": 1,
        "skipped": 1,
        "errors": 1,
    }
    result.stdout.fnmatch_lines(
        ["no searched turn says 'tractor'", "  rubric: tractor (completion, keyword, weight 1)"]
    )


def test_one_conversation_serves_the_body_and_all_rubrics(shop: Shop) -> None:
    shop.write("agent.py", CALLS)
    shop.suite(
        agents={"own": {"use": "python:agent.py:Agent"}},
        rubrics=[rubric("greet"), rubric("lamp", "lamp")],
    )
    stock(
        shop, 'assert "Hello" in dialogue.turns[1].text', case='rubrics=["greet", "lamp"], trials=3'
    )

    shop.run("test_shop.py").assert_outcomes(passed=9)

    calls = (shop.path / "calls").read_text(encoding="utf-8").splitlines()
    assert calls.count("Is the lamp in stock?") == 3
    assert len(calls) == 6


def test_two_functions_hold_conversations_of_their_own(shop: Shop) -> None:
    shop.write("agent.py", CALLS)
    shop.suite(agents={"own": {"use": "python:agent.py:Agent"}})
    module(
        shop,
        '@dialogue_case("shop.dialeval.yaml")\ndef test_one(dialogue):\n    pass\n\n'
        '@dialogue_case("shop.dialeval.yaml")\ndef test_two(dialogue):\n    pass\n',
    )

    shop.run("test_shop.py").assert_outcomes(passed=2)

    assert len((shop.path / "calls").read_text(encoding="utf-8").splitlines()) == 4


def test_a_plain_assert_of_the_body_is_pytests_own_failure(said: Shop) -> None:
    stock(said, "assert len(dialogue.turns) == 40", case='personas=["buyer"]')

    result = said.run("test_shop.py")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E*assert 4 == 40", "E*<dialogue buyer-1, 4 turns, completed>.turns*"]
    )


def test_a_resource_that_a_body_leaves_open_fails_it(said: Shop) -> None:
    stock(said, "open('left open', 'w')", case='personas=["buyer"]')

    result = said.run("test_shop.py")

    result.assert_outcomes(failed=1)
    # The test is broken: its item fails, and nothing is said of the agent.
    figures = said.agent_figures()
    assert (figures["unmeasured"], figures["pass_rate"]) == (1, None)
    result.stdout.no_fnmatch_line("*something rewrote the report*")


def test_a_body_that_is_broken_fails_and_measures_nothing(said: Shop) -> None:
    stock(
        said,
        "assert dialogue.trial == 2 or {}['price']",
        case='personas=["buyer"], rubrics=["greet"], trials=2',
    )

    result = said.run("test_shop.py")

    result.assert_outcomes(passed=3, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["E*KeyError: 'price'", "*- dialogue -*", "repeat: pytest *"])
    result.stdout.no_fnmatch_line("*something rewrote the report*")
    figures = said.agent_figures()
    assert (figures["trials"], figures["passed"], figures["unmeasured"]) == (2, 1, 1)
    verdicts = said.summary["verdicts"]
    assert (verdicts["passed"], verdicts["failed"], verdicts["unmeasured"]) == (3, 0, 1)
    facts = read_facts(RunDirectory(said.last_run)).values()
    [broken] = [v for each in facts for v in each.verdicts.values() if v.status == "unscored"]
    assert (broken.fault, broken.reason) == ("harness_error", "the test raised KeyError: 'price'")


def test_a_body_that_nobody_can_run_measures_nothing(said: Shop) -> None:
    module(
        said,
        '@dialogue_case("shop.dialeval.yaml", personas=["buyer"])\n'
        "async def test_stock(dialogue):\n    assert dialogue.turns\n",
    )

    result = said.run("test_shop.py", "-p", "no:asyncio", "-p", "no:anyio")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*async def functions are not natively supported*"])
    figures = said.agent_figures()
    assert (figures["unmeasured"], figures["pass_rate"]) == (1, None)


@pytest.mark.parametrize(
    "raising",
    [
        "assert not dialogue.turns",
        "pytest.fail('too curt')",
        "pytest.fail('too curt', pytrace=False)",
        "with pytest.raises(KeyError): dialogue.turns",
    ],
)
def test_a_body_that_asserts_or_fails_measures(said: Shop, raising: str) -> None:
    module(
        said,
        '@dialogue_case("shop.dialeval.yaml", personas=["buyer"])\n'
        f"def test_stock(dialogue):\n    {raising}\n",
    )

    said.run("test_shop.py").assert_outcomes(failed=1)

    figures = said.agent_figures()
    assert (figures["unmeasured"], figures["pass_rate"]) == (0, 0.0)


def test_expectations_fail_in_the_short_summary_without_their_module(said: Shop) -> None:
    stock(said, "dialogue.expect.keyword(any=['tractor'])", case='personas=["buyer"]')

    result = said.run("test_shop.py", "-rf")

    result.stdout.fnmatch_lines(["FAILED test_shop.py::test_stock[[]buyer-1[]] - Expect*"])
    result.stdout.no_fnmatch_line("*pytest_dialeval.*")


def test_a_body_may_skip(said: Shop) -> None:
    stock(said, 'pytest.skip("not today")', case='personas=["buyer"]')

    result = said.run("test_shop.py", "-rs")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*not today"])


ASYNCIO = ("-p", "pytest_asyncio.plugin", "-o", "asyncio_default_fixture_loop_scope=function")
NOT_MEASURED = (
    '@dialogue_case("shop.dialeval.yaml", personas=["buyer"])\n'
    'def test_stock(dialogue):\n    raise NotMeasured("the till is closed")\n'
)


def test_a_body_that_cannot_measure_is_an_error_of_setup(said: Shop) -> None:
    module(said, NOT_MEASURED)

    result = said.run("test_shop.py")

    result.assert_outcomes(errors=1)
    assert result.ret == 10
    result.stdout.fnmatch_lines(
        ["*ERROR at setup of test_stock*", "unmeasured: the till is closed"]
    )


def test_a_body_that_cannot_measure_is_an_error_in_junit(said: Shop) -> None:
    module(said, NOT_MEASURED)

    [error] = told(said.junit("test_shop.py")["test_stock[buyer-1]"])

    assert error.tag == "error"
    assert "the till is closed" in str(error.text)


def test_the_judge_of_a_body_is_not_measured_without_one(said: Shop) -> None:
    stock(said, 'dialogue.expect.judge("the clerk was kind")', case='personas=["buyer"]')

    result = said.run("test_shop.py")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["unmeasured: no judge is configured*"])


def test_an_agent_that_fails_fails_the_body_without_running_it(said: Shop) -> None:
    said.write("bad.py", "def bad(message):\n    raise OSError('no model')\n")
    stock(said, "open('ran', 'w')", case='personas=["buyer"]')

    result = said.run("test_shop.py", "--dialeval-agent=clerk=python:bad.py:bad")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["the agent failed: *no model*"])
    assert not (said.path / "ran").exists()


def test_an_agent_that_cannot_be_had_leaves_the_body_unmeasured(said: Shop) -> None:
    stock(said, case='personas=["buyer"]')
    said.suite(agents={"clerk": {"use": "python:bad.py:nobody"}})
    said.write("bad.py", "")

    result = said.run("test_shop.py")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["unmeasured: *'bad.py' has no 'nobody' (harness_error)"])


@pytest.mark.parametrize("order", ["parametrize_above", "parametrize_below"])
def test_a_body_may_have_parameters_of_its_own(said: Shop, order: str) -> None:
    decorators = [
        '@dialogue_case("shop.dialeval.yaml", personas=["buyer"])',
        '@pytest.mark.parametrize("word", ["lamp", "tractor"])',
    ]
    above = decorators[::-1] if order == "parametrize_above" else decorators
    module(
        said,
        "\n".join(above) + "\ndef test_stock(dialogue, word):\n"
        "    dialogue.expect.keyword(any=[word])\n",
    )

    said.run("test_shop.py").assert_outcomes(passed=1, failed=1)

    figures = said.agent_figures()
    assert (figures["trials"], figures["passed"]) == (1, 0)  # one trial; its worst body counts


def test_methods_of_classes(said: Shop) -> None:
    module(
        said,
        """
class TestShop:
    @dialogue_case("shop.dialeval.yaml", personas=["buyer"], rubrics=["greet"])
    def test_stock(self, dialogue):
        dialogue.expect.keyword(any=["lamp"])

    @dialogue_case("shop.dialeval.yaml", personas=["thief"])
    def test_theft(self, dialogue):
        assert dialogue.persona == "thief"
""",
    )

    assert names(said) == [
        "TestShop::test_stock[buyer-1]",
        "TestShop::test_stock[buyer-1/greet]",
        "TestShop::test_theft[thief-1]",
    ]
    said.run("test_shop.py").assert_outcomes(passed=3)


def test_a_subclass_inherits_the_case(said: Shop) -> None:
    module(
        said,
        """
class TestShop:
    @dialogue_case("shop.dialeval.yaml", personas=["buyer"])
    def test_stock(self, dialogue):
        dialogue.expect.keyword(any=["lamp"])

class TestBranch(TestShop):
    pass
""",
    )

    said.run("test_shop.py").assert_outcomes(passed=2)


@pytest.mark.parametrize("base", ["unittest.TestCase", "unittest.IsolatedAsyncioTestCase", "Mine"])
def test_a_unittest_class_is_refused_in_one_line(said: Shop, base: str) -> None:
    """Pytest makes its items without asking for ours: the body would run once, on nothing."""
    module(
        said,
        f"""
import unittest

class Mine(unittest.TestCase):
    @dialogue_case("shop.dialeval.yaml")
    def test_stock(self, dialogue): ...

class Other({base}):
    @dialogue_case("shop.dialeval.yaml")
    def test_stock(self, dialogue): ...
""",
    )

    result = said.run("test_shop.py")

    assert result.ret == 2
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["test_shop.py::Mine::test_stock: @dialogue_case cannot stand in a unittest.TestCase*"]
    )
    assert "Traceback" not in result.stdout.str()


def test_a_unittest_class_of_other_tests_is_left_alone(said: Shop) -> None:
    module(
        said,
        """
import unittest
from unittest import mock

class Other(unittest.TestCase):
    clock = mock.Mock()

    def test_stock(self): ...
""",
    )

    said.run("test_shop.py").assert_outcomes(passed=1)


def test_other_fixtures_reach_the_body(said: Shop) -> None:
    module(
        said,
        '@dialogue_case("shop.dialeval.yaml", personas=["buyer"])\n'
        "def test_stock(dialogue, tmp_path, monkeypatch):\n"
        "    assert tmp_path.is_dir() and dialogue.turns\n",
    )

    said.run("test_shop.py").assert_outcomes(passed=1)


def test_an_async_body_beside_pytest_asyncio(said: Shop) -> None:
    module(
        said,
        """
import asyncio

@pytest.mark.asyncio
@dialogue_case("shop.dialeval.yaml", personas=["buyer"], rubrics=["greet"])
async def test_stock(dialogue):
    await asyncio.sleep(0)
    dialogue.expect.keyword(any=["lamp"])

@pytest.mark.asyncio
@dialogue_case("shop.dialeval.yaml", personas=["buyer"])
async def test_farm(dialogue):
    await asyncio.sleep(0)
    dialogue.expect.keyword(any=["tractor"])
""",
    )

    result = said.run("test_shop.py", *ASYNCIO)

    result.assert_outcomes(passed=2, failed=1)


def test_an_async_body_in_auto_mode(said: Shop) -> None:
    module(
        said,
        '@dialogue_case("shop.dialeval.yaml", personas=["buyer"])\n'
        "async def test_stock(dialogue):\n    dialogue.expect.keyword(any=['lamp'])\n",
    )

    result = said.run("test_shop.py", *ASYNCIO, "-o", "asyncio_mode=auto")

    result.assert_outcomes(passed=1)


def test_the_suite_is_found_from_the_test_file(said: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    said.pytester.makeini("[pytest]")
    module(
        said,
        '@dialogue_case("../shop.dialeval.yaml", personas=["buyer"])\n'
        "def test_stock(dialogue): ...\n",
        "deep/test_deep.py",
    )
    monkeypatch.chdir(said.path / "deep")

    said.run("test_deep.py").assert_outcomes(passed=1)


def test_a_suite_that_is_not_there(said: Shop) -> None:
    module(said, '@dialogue_case("nowhere.dialeval.yaml")\ndef test_stock(dialogue): ...\n')

    result = said.run("test_shop.py")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "test_shop.py::test_stock: no suite 'nowhere.dialeval.yaml' beside test_shop.py "
            "(the path is relative to the test file)"
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_a_suite_with_mistakes(said: Shop) -> None:
    said.write("shop.dialeval.yaml", "dialeval: 1\ntsk: {}\n")
    stock(said)

    result = said.run("test_shop.py")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["shop.dialeval.yaml:2: *'tsk'*did you mean 'task'?*"])
    assert "pytest_dialeval/" not in result.stdout.str()


@pytest.mark.parametrize(
    ("arguments", "said_"),
    [
        ('personas=["byer"]', "*personas: 'byer' is not in the suite*did you mean 'buyer'?"),
        ('rubrics=["gret"]', "*rubrics: 'gret' is not in the suite*did you mean 'greet'?"),
        (
            'agent="clrk"',
            "test_shop.py::test_stock: *agent: 'clrk' is not in the suite*did you mean 'clerk'?",
        ),
    ],
)
def test_unknown_names_in_the_decorator(said: Shop, arguments: str, said_: str) -> None:
    module(
        said, f'@dialogue_case("shop.dialeval.yaml", {arguments})\ndef test_stock(dialogue): ...\n'
    )

    result = said.run("test_shop.py")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([said_])
    assert "pytest_dialeval/" not in result.stdout.str()


def test_a_function_without_the_argument(said: Shop) -> None:
    module(said, '@dialogue_case("shop.dialeval.yaml")\ndef test_stock(): ...\n')

    result = said.run("test_shop.py")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["test_shop.py::test_stock: a function with @dialogue_case takes the argument `dialogue`"]
    )


def test_the_fixture_without_the_decorator(said: Shop) -> None:
    module(said, "def test_stock(dialogue): ...\n")

    result = said.run("test_shop.py")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the fixture `dialogue` needs @dialogue_case*"])


def test_recordings_have_no_personas_to_decorate(said: Shop) -> None:
    said.write("talks.jsonl", "")
    said.suite(
        "recorded",
        agents=None,
        personas=None,
        transcripts=[{"format": "openai", "path": "talks.jsonl"}],
    )
    module(said, '@dialogue_case("recorded.dialeval.yaml")\ndef test_stock(dialogue): ...\n')

    said.run("test_shop.py").stdout.fnmatch_lines(["*grades recordings; @dialogue_case needs*"])


def test_the_trial_of_a_body_counts_for_pass_k(said: Shop) -> None:
    stock(said, "assert dialogue.trial != 2", case='personas=["buyer"], trials=4')

    result = said.run("test_shop.py")

    result.assert_outcomes(passed=3, failed=1)
    curve = said.agent_figures()["pass_hat_k"]
    assert curve["1"]["value"] == 0.75
    assert curve["2"]["value"] == 0.5
    assert curve["4"]["value"] == 0.0
    result.stdout.fnmatch_lines(["shop (test_stock)*0.750*0.500*"])


def test_a_named_rubric_that_fails_fails_the_trial(said: Shop) -> None:
    stock(said, case='personas=["buyer"], rubrics=["tractor"]')

    said.run("test_shop.py").assert_outcomes(passed=1, failed=1)

    assert said.agent_figures()["pass_rate"] == 0.0


def test_the_decorator_can_choose_an_agent(said: Shop) -> None:
    said.write("rude.yaml", "otherwise: [What now?]\n")
    said.suite(
        agents={
            "clerk": {"use": "scripted", "script": "clerk.yaml"},
            "rude": {"use": "scripted", "script": "rude.yaml"},
        }
    )
    stock(said, 'dialogue.expect.keyword(any=["What now"])', case='agent="rude"')

    assert names(said) == ["test_stock[rude-buyer-1]"]
    said.run("test_shop.py").assert_outcomes(passed=1)


def test_the_option_goes_before_the_decorators_agent(said: Shop) -> None:
    stock(said, 'assert dialogue.agent == "own"', case='personas=["buyer"], agent="clerk"')
    said.write("own.py", "def own(message):\n    return 'Own words'\n")

    said.run("test_shop.py", "--dialeval-agent=own=python:own.py:own").assert_outcomes(passed=1)


def test_a_fixture_brings_the_agent_of_a_body(shop: Shop) -> None:
    shop.suite(agents=None)
    module(
        shop,
        """
@pytest.fixture
def dialeval_agent():
    return lambda message: "From the fixture"

@dialogue_case("shop.dialeval.yaml")
def test_stock(dialogue):
    dialogue.expect.keyword(any=["From the fixture"])
""",
    )

    shop.run("test_shop.py").assert_outcomes(passed=1)


def test_a_body_without_any_agent(shop: Shop) -> None:
    shop.suite(agents=None)
    stock(shop)

    result = shop.run("test_shop.py")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*declares no agent*`dialeval_agent`*"])


def test_items_of_a_body_are_marked_and_selected(said: Shop) -> None:
    stock(said, case='rubrics=["greet", "soft"]')

    assert names(said, "-m", "dialeval(severity='soft') and dialeval(persona='thief')") == [
        "test_stock[thief-1/soft]"
    ]
    assert names(said, "-k", "buyer and not soft") == [
        "test_stock[buyer-1]",
        "test_stock[buyer-1/greet]",
    ]


def test_one_item_of_a_body_alone(said: Shop) -> None:
    stock(said, case='rubrics=["greet"]')

    said.run("test_shop.py::test_stock[thief-1/greet]").assert_outcomes(passed=1)

    assert said.summary["outcomes"]["completed"] == 1


def test_collect_only_holds_no_conversation(said: Shop) -> None:
    stock(said)

    said.run("test_shop.py", "--collect-only")

    assert not (said.path / ".dialeval").exists()


def test_setup_plan_holds_no_conversation(said: Shop) -> None:
    stock(said)

    said.run("test_shop.py", "--setup-plan")

    assert not (said.path / ".dialeval").exists()


def test_a_module_of_its_own_needs_no_plugin_to_be_imported(said: Shop) -> None:
    stock(said)

    code = "import test_shop; print(test_shop.test_stock.dialogue_case.suite)"
    done = subprocess.run([sys.executable, "-c", code], cwd=said.path, capture_output=True)

    assert done.stdout.decode().strip() == "shop.dialeval.yaml", done.stderr.decode()


@pytest.mark.parametrize(
    ("given", "said_of_it"),
    [
        ('"shop.dialeval.yaml", trials=0', "trials must be at least 1, not 0"),
        ('"shop.dialeval.yaml", personas="buyer"', "personas must be a list of ids, not 'buyer'"),
        ('"shop.yaml"', "suite 'shop.yaml' must end in .dialeval.yaml"),
    ],
)
def test_a_mistake_is_shown_at_the_decorator(said: Shop, given: str, said_of_it: str) -> None:
    module(said, f"@dialogue_case({given})\ndef test_stock(dialogue):\n    ...\n")

    result = said.run("test_shop.py")

    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        ["test_shop.py:*", f"*@dialogue_case({given})", f"E * {said_of_it}"]
    )
    result.stdout.no_fnmatch_line("*decorated.py*")
