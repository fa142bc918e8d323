"""What breaks when conversations run beside pytest: the rows of the prototype's list.

A row that can only be documented stands in docs/explanation/running-inside-pytest.md.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

import pytest_dialeval
from pytest_dialeval.pool import POLL

from . import test_debugger, test_interrupt, test_xdist
from .conftest import Shop, persona, rubric

FIXTURE = """
import pytest

@pytest.fixture(scope="{scope}")
def dialeval_agent():
    live = 0

    class Agent:
        async def start(self, brief):
            nonlocal live
            live += 1

        async def reply(self, message):
            return "{says}"

        async def close(self):
            nonlocal live
            live -= 1

    yield Agent
    print(f"LIVE {{live}}")
"""
ROWS = 21  # of the prototype's list
DOCUMENTED = Path(__file__).resolve().parents[2] / "docs/explanation/running-inside-pytest.md"


@pytest.mark.parametrize("scope", ["session", "package", "module", "function"])
def test_row_01_each_directory_meets_its_own_agent(shop: Shop, scope: str) -> None:
    for name, says in (("a", "apple"), ("b", "pear")):
        shop.write(f"{name}/conftest.py", FIXTURE.format(scope=scope, says=says))
        shop.suite(
            f"{name}/shop",
            agents=None,
            personas=[persona("one", "Hi")],
            rubrics=[rubric("own", says), rubric("own2", says)],
            trials=3,
        )
    result = shop.run("-s", "--dialeval-concurrency=2")
    result.assert_outcomes(passed=12)
    assert set(re.findall(r"LIVE (\d+)", result.stdout.str())) == {"0"}


@pytest.mark.parametrize("scope", ["session", "module"])
def test_row_02_later_items_of_one_agent_are_known(shop: Shop, scope: str) -> None:
    shop.write("conftest.py", FIXTURE.format(scope=scope, says="Hello!"))
    shop.suite(agents=None, personas=[persona("one", "Hi")], trials=4)
    assert shop.run("--dialeval-ahead=2").ret == 0


def test_row_03_a_parametrised_agent_fixture_is_refused_in_one_line(shop: Shop) -> None:
    shop.write(
        "conftest.py",
        """
        import pytest

        @pytest.fixture(params=["a", "b"])
        def dialeval_agent(request):
            return lambda message: request.param
        """,
    )
    shop.suite(agents=None)
    result = shop.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*fixture `dialeval_agent` has params*`agents:` in the suite"])
    assert "Traceback" not in result.stdout.str()


def test_row_04_items_are_functions_with_real_fixtures(shop: Shop) -> None:
    shop.write(
        "conftest.py",
        """
        import pytest

        @pytest.fixture(autouse=True, params=[])
        def nothing():
            pass

        @pytest.fixture(autouse=True, scope="module")
        def of_module(request):
            print("MODULE", request.node.name)

        @pytest.fixture(autouse=True)
        def of_item(request):
            print("ITEM", request.node.name)
        """.replace("autouse=True, params=[]", "scope='session'"),
    )
    shop.suite()
    result = shop.run("-s")
    result.stdout.fnmatch_lines(["*MODULE shop.dialeval.yaml*", "*ITEM greet*"])
    shop.run("--setup-plan").stdout.fnmatch_lines(["*SETUP*M of_module*"])


def test_row_05_prints_are_documented_as_unattributed() -> None:
    assert "print" in DOCUMENTED.read_text(encoding="utf-8")


def test_row_06_logs_are_filed_with_their_conversation(shop: Shop) -> None:
    shop.write(
        "agent.py",
        """
        import logging

        log = logging.getLogger("shop")

        def answer(message):
            log.warning("heard %s", message)
            return "Hello!"
        """,
    )
    shop.write("test_other.py", "def test_stranger():\n    assert False\n")
    shop.suite(
        name="a",
        agents={"py": {"use": "python:agent.py:answer"}},
        personas=[persona("one", "first"), persona("two", "second")],
        rubrics=[rubric("never", "never said")],
    )
    result = shop.run("a.dialeval.yaml", "test_other.py")
    result.assert_outcomes(failed=3)
    text = result.stdout.str()
    blocks = dict(
        re.findall(
            r"_+ (one-1|two-1|test_stranger)\b[^\n]*_+\n(.*?)(?=\n_{5}|\n-{5,} dia)", text, re.S
        )
    )
    assert "heard first" in blocks["one-1"]
    assert "heard second" not in blocks["one-1"]
    assert "heard second" in blocks["two-1"]
    assert "heard" not in blocks["test_stranger"]
    assert "Captured dialogue log" in blocks["one-1"]


def test_row_07_async_fixtures_of_another_loop_are_documented() -> None:
    assert "async fixture" in DOCUMENTED.read_text(encoding="utf-8")


def test_row_08_ahead_0_holds_a_conversation_only_for_its_own_item(shop: Shop) -> None:
    shop.write(
        "agent.py",
        """
        import sys

        sys.calls = 0

        def answer(message):
            sys.calls += 1
            return "Hello!"
        """,
    )
    shop.write("test_b.py", "import sys\n\ndef test_calls():\n    assert sys.calls == 2\n")
    agents = {"py": {"use": "python:agent.py:answer"}}
    for name in ("a", "c"):
        shop.suite(name=name, agents=agents, personas=[persona("one", "Hi")], trials=2)
    arguments = ("a.dialeval.yaml", "test_b.py", "c.dialeval.yaml")
    shop.run("--dialeval-ahead=0", *arguments).assert_outcomes(passed=5)
    assert "--dialeval-ahead 0" in DOCUMENTED.read_text(encoding="utf-8")


def test_row_09_nothing_of_ours_draws_from_the_global_random() -> None:
    package = Path(pytest_dialeval.__file__).parent
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            assert "random" not in names, path
            assert not (isinstance(node, ast.ImportFrom) and node.module == "random"), path


def test_row_10_a_debugger_pauses_the_spending(shop: Shop) -> None:
    shop.write(
        "agent.py",
        """
        import asyncio, sys

        sys.spent = 0

        async def answer(message):
            sys.spent += 1
            await asyncio.sleep(0.005)
            return "What?"
        """,
    )
    shop.write(
        "conftest.py",
        """
        import sys, threading

        def pytest_enter_pdb(config, pdb):
            threading.Event().wait(0.2)  # calls in flight may end
            sys.before = sys.spent

        def pytest_leave_pdb(config, pdb):
            pass
        """,
    )
    shop.write(
        "test_a.py",
        """
        import pytest, sys, threading

        def test_a(request):
            hook = request.config.hook
            hook.pytest_enter_pdb(config=request.config, pdb=None)
            threading.Event().wait(0.3)
            assert sys.spent == sys.before
            assert sys.spent < 100, "the suite was held before the test; nothing was paused"
            hook.pytest_leave_pdb(config=request.config, pdb=None)
        """,
    )
    lines = [f"line {each}" for each in range(8)]
    agents = {"py": {"use": "python:agent.py:answer"}}
    what = [rubric("what", "What")]
    shop.suite("a", agents=agents, personas=[persona("first", "Hi")], rubrics=what)
    shop.suite(
        "z",
        agents=agents,
        personas=[persona("talker", *lines)],
        task={"id": "shop", "max_rounds": 9},
        rubrics=what,
        trials=30,
    )
    arguments = ("a.dialeval.yaml", "test_a.py", "z.dialeval.yaml")
    result = shop.run("--dialeval-concurrency=1", *arguments)
    result.assert_outcomes(passed=32)


def test_row_11_and_21_other_plugins_are_documented() -> None:
    text = DOCUMENTED.read_text(encoding="utf-8")
    assert "pytest-timeout" in text
    assert "loadgroup" in text


def test_row_12_the_conversations_own_seconds_stand_in_junit(shop: Shop) -> None:
    shop.suite()
    shop.run("--junitxml=junit.xml")
    found = {
        each.get("name"): each.get("value")
        for each in ElementTree.parse(shop.path / "junit.xml").iter("property")
    }
    assert float(str(found["dialeval_conversation_seconds"])) >= 0


def test_row_13_a_rerun_holds_a_new_conversation_and_figures_keep_the_first(shop: Shop) -> None:
    pytest.importorskip("pytest_rerunfailures", reason="pytest-rerunfailures is not installed")
    shop.write(
        "agent.py",
        """
        calls = 0

        def answer(message):
            global calls
            calls += 1
            return "What?" if calls == 1 else "Hello!"
        """,
    )
    shop.suite(agents={"py": {"use": "python:agent.py:answer"}}, personas=[persona("one", "Hi")])
    result = shop.run("-p", "pytest_rerunfailures", "--reruns=1")
    result.assert_outcomes(passed=1)
    assert shop.agent_figures()["passed"] == 0
    result.stdout.fnmatch_lines(["1 item was rerun; figures count first attempts alone"])


def test_row_14_no_thread_lives_before_the_first_dialogue_item(shop: Shop) -> None:
    shop.write(
        "test_a.py",
        """
        import threading

        def test_a():
            assert [t.name for t in threading.enumerate() if "dialeval" in t.name] == []
        """,
    )
    shop.suite(name="z")
    shop.run("test_a.py", "z.dialeval.yaml").assert_outcomes(passed=2)


def test_row_16_windows_is_documented_and_waits_are_timed() -> None:
    assert "Windows" in DOCUMENTED.read_text(encoding="utf-8")
    assert 0 < POLL <= 1


def test_row_17_a_conversation_that_swallows_cancellation_is_bounded_and_named(shop: Shop) -> None:
    shop.write(
        "conftest.py",
        """
        import asyncio, pytest

        class Stubborn:
            async def reply(self, message):
                return "Hello!"

            async def close(self):
                while True:
                    try:
                        await asyncio.sleep(60)
                    except asyncio.CancelledError:
                        pass

        def pytest_dialeval_agents(config):
            return {"stubborn": Stubborn}
        """,
    )
    shop.suite(agents=None, personas=[persona("one", "Hi")])
    result = shop.pytester.runpytest_subprocess("-p", "dialeval", "--dialeval-turn-timeout=1")
    assert result.ret == 0  # what it said before was measured
    result.stdout.fnmatch_lines(["*would not stop and was left behind*"])


def rows(module: ModuleType) -> set[int]:
    """The rows that the module's tests have in their names."""
    found = [
        re.findall(r"\d\d", each[1])
        for name, value in vars(module).items()
        if callable(value) and (each := re.match(r"test_row_((?:\d\d_(?:and_)?)+)", name))
    ]
    return {int(number) for each in found for number in each}


def test_every_row_has_a_test_of_its_number() -> None:
    homes = (sys.modules[__name__], test_debugger, test_interrupt, test_xdist)
    assert set().union(*map(rows, homes)) == set(range(1, ROWS + 1))
    assert rows(test_xdist) >= {18, 19, 20}  # what only workers can show
    assert all(home.__name__.rpartition(".")[2].startswith("test_") for home in homes)
