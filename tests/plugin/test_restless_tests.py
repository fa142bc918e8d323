"""Tests that change the whole process while conversations of later items go on: none is lost."""

from __future__ import annotations

import sys
from textwrap import dedent

import pytest

from tests.models.server import KEY, say

from .conftest import Shop
from .endpoint import endpoint

# After the first dialogue item, in which all conversations begin.
SECOND = """
def pytest_collection_modifyitems(items):
    [stranger] = [each for each in items if each.name == "test_stranger"]
    items.remove(stranger)
    items.insert(1, stranger)
"""
AGENT = """
import asyncio

async def slow(message):
    await asyncio.sleep(0.05)
    return "Hello"
"""


def beside(shop: Shop, test: str, *arguments: str, agent: str = AGENT) -> pytest.RunResult:
    """Run 20 conversations of an async agent, three at once, and the test meanwhile."""
    shop.write("conftest.py", SECOND)
    shop.write("slow.py", agent)
    shop.write("test_it.py", dedent(test))
    shop.suite(agents={"slow": {"use": "python:slow.py:slow"}}, trials=20)
    options = ("--dialeval-concurrency=3", "--dialeval-turn-timeout=1", *arguments)
    # A process of its own: what the test leaves behind is not ours to bear.
    return shop.pytester.runpytest_subprocess("-p", "dialeval", *options)


@pytest.mark.parametrize("then", [5.0, 1326499200.0], ids=["before", "after"])
def test_a_clock_that_a_test_stops_stops_no_conversation(shop: Shop, then: float) -> None:
    result = beside(
        shop,
        f"""
        import time

        def test_stranger(monkeypatch):
            with monkeypatch.context() as patched:
                patched.setattr(time, "monotonic", lambda: {then})
                time.sleep(0.3)
        """,
    )

    result.assert_outcomes(passed=21)


def test_a_clock_that_stands_all_the_time_stops_nothing_either(shop: Shop) -> None:
    shop.write(
        "test_frozen/conftest.py",
        """
        import time
        import pytest

        @pytest.fixture(autouse=True, scope="session")
        def frozen():
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(time, "monotonic", lambda: 5.0)
                yield
        """,
    )
    shop.write("slow.py", AGENT)
    shop.suite("test_frozen/shop", agents={"slow": {"use": "python:slow.py:slow"}}, trials=3)

    result = shop.pytester.runpytest_subprocess("-p", "dialeval", "--dialeval-turn-timeout=1")

    result.assert_outcomes(passed=3)
    for trace in shop.traces():
        assert 0.05 <= max(each.get("at", 0.0) for each in trace) < 30


NO_THREAD = """
import threading

start = threading.Thread.start

def refuse(self):
    if self.name.startswith({name!r}):
        raise RuntimeError("can't start new thread")
    start(self)

threading.Thread.start = refuse
"""
PROGRAM = """
import json
for line in open(0):
    if json.loads(line)["type"] == "turn":
        print(json.dumps({"text": "Hello"}), flush=True)
"""
WHY = "no thread can be started: can't start new thread; hold fewer conversations at once*"


def starved(shop: Shop, name: str, **sections: object) -> pytest.RunResult:
    """Run two trials where no thread of that name can be started."""
    shop.write("conftest.py", NO_THREAD.format(name=name))
    shop.write("agent.py", "def reply(message):\n    return 'Hello'\n")
    shop.write("program.py", PROGRAM)
    shop.suite(trials=2, **{"agents": {"agent": {"use": "python:agent.py:reply"}}, **sections})
    return shop.pytester.runpytest_subprocess("-p", "dialeval", "-W", "error", "-rA")


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("agent ", "python:agent.py:reply"),
        ("end of program", f"command:{sys.executable} program.py"),
        ("dialeval-pool", "python:agent.py:reply"),
    ],
)
def test_an_agent_for_which_there_is_no_thread_is_not_to_blame(
    shop: Shop, name: str, use: str
) -> None:
    result = starved(shop, name, agents={"agent": {"use": use}})

    result.assert_outcomes(errors=2)
    assert result.ret == 10
    result.stdout.fnmatch_lines([f"unmeasured: *{WHY}"])
    assert "Traceback" not in result.stdout.str()


def test_a_folder_for_which_there_is_no_thread_is_not_the_agents(shop: Shop) -> None:
    shop.write("work/file.txt", "x")

    result = starved(shop, "copying", task={"id": "shop", "max_rounds": 2, "workspace": "work"})

    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines([f"unmeasured: {WHY}(harness_error)"])
    assert "Traceback" not in result.stdout.str()


def test_without_a_thread_for_the_disk_the_loop_writes_itself(shop: Shop) -> None:
    result = starved(shop, "dialeval-disk")

    result.assert_outcomes(passed=2)
    assert len(shop.traces()) == 2


def test_a_test_that_waits_for_any_child_leaves_work_unmeasured_in_one_sentence(
    shop: Shop,
) -> None:
    shop.write("work/file.txt", "x")
    shop.write("slow.py", AGENT)
    shop.write("conftest.py", "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n")
    shop.suite(
        task={"id": "shop", "max_rounds": 2, "workspace": "work"},
        agents={"slow": {"use": "python:slow.py:slow"}},
    )

    result = shop.pytester.runpytest_subprocess("-p", "dialeval", "-rA")

    result.assert_outcomes(errors=1)
    why = "git init can't be run: its exit status is lost: some code in this process waits for any"
    result.stdout.fnmatch_lines([f"unmeasured: {why} child (harness_error)"])
    assert "Traceback" not in result.stdout.str()


def test_an_endpoint_that_a_test_has_for_itself_is_not_asked_for_the_others(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    # Asked for the first time while the test is on, as conversations before it take their time.
    shop.suite("zoo", task={"id": "zoo", "max_rounds": 1}, agents={"mini": {"use": "openai:m"}})
    with endpoint(otherwise=say("Hello")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        result = beside(
            shop,
            """
            import time

            def test_stranger(monkeypatch):
                with monkeypatch.context() as patched:
                    patched.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
                    patched.setenv("OPENAI_API_KEY", "none")
                    time.sleep(3)
            """,
            "--dialeval-concurrency=1",
        )

    result.assert_outcomes(passed=22)
    assert server.requests == 1


def test_live_logs_of_conversations_take_nobodys_capture_away(shop: Shop) -> None:
    test = """
        import time

        def test_stranger(capsys):
            for number in range(300):
                print(number)
                time.sleep(0.001)
            assert capsys.readouterr().out.split() == [str(each) for each in range(300)]
        """
    talkative = """
        import asyncio
        import logging

        log = logging.getLogger("talkative")

        async def slow(message):
            for number in range(20):
                log.warning("word %s", number)
                await asyncio.sleep(0.001)
            log.warning("%d", "no number")
            try:
                raise OSError("no model")
            except OSError:
                log.exception("it broke")
            return "Hello"
        """
    shop.write("pytest.ini", "[pytest]\nlog_cli = true\n")

    result = beside(shop, test, agent=talkative)

    result.assert_outcomes(passed=21)
    text = result.stdout.str()
    # Two turns each of 22, under the item that asks for the conversation.
    assert text.count("talkative:slow.py") == 20 * 2 * 22
    assert text.count("OSError: no model") == 20 * 2
    under = text[text.index("buyer-20::greet") :]
    assert under.count("WARNING  talkative:slow.py") == 2 * 21 and "live log setup" in under
