"""Stopping early: -x, Ctrl-C, pytest.exit, --stepwise; what is on disk can be read."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import Shop, persona, rubric

COUNTING = """
import asyncio, pathlib

class Waiting:
    async def reply(self, message):
        with open("calls", "a", encoding="utf-8") as file:
            file.write("x")
        await asyncio.sleep({seconds})
        return "Hello!"
"""


def calls(shop: Shop) -> int:
    path = shop.path / "calls"
    return len(path.read_text("utf-8")) if path.exists() else 0


def test_x_looks_ahead_about_twice_the_concurrency(shop: Shop) -> None:
    shop.write("agent.py", COUNTING.format(seconds=0.01))
    shop.suite(
        agents={"w": {"use": "python:agent.py:Waiting"}},
        personas=[persona("one", "Hi")],
        rubrics=[rubric("never", "never said")],
        trials=200,
    )
    result = shop.run("-x", "--dialeval-concurrency=4")
    result.assert_outcomes(failed=1)
    assert 1 <= calls(shop) <= 2 * 4 + 1
    assert shop.summary["outcomes"]["not_run"] >= 190


def test_maxfail_goes_on_until_then(shop: Shop) -> None:
    shop.suite(personas=[persona("one", "Hi")], rubrics=[rubric("never", "never said")], trials=9)
    shop.run("--maxfail=3").assert_outcomes(failed=3)


def test_row_15_pytest_exit_in_another_test_stops_the_conversations(shop: Shop) -> None:
    shop.write("agent.py", COUNTING.format(seconds=30))
    shop.write(
        "test_exit.py",
        """
        import pytest, threading
        from pathlib import Path

        def test_exit():
            for _ in range(500):
                if Path("calls").exists():
                    pytest.exit("enough", returncode=3)
                threading.Event().wait(0.02)
        """,
    )
    shop.suite("a", personas=[persona("one", "Is the lamp in stock?")])
    shop.suite(
        "z", agents={"w": {"use": "python:agent.py:Waiting"}}, personas=[persona("one", "Hi")]
    )
    began = time.monotonic()
    result = shop.run("a.dialeval.yaml", "test_exit.py", "z.dialeval.yaml")
    assert result.ret == 3
    assert time.monotonic() - began < 20  # a turn takes 30 s
    assert calls(shop) == 1
    outcomes = shop.summary["outcomes"]
    assert (outcomes["completed"], outcomes["cancelled"] + outcomes["not_run"]) == (1, 1)


def test_stepwise_stops_and_goes_on_there(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("greet"), rubric("never", "never said"), rubric("stock", "stock")])
    shop.run("--stepwise").assert_outcomes(passed=1, failed=1)
    result = shop.run("--stepwise")
    result.assert_outcomes(failed=1)


def start(shop: Shop, *arguments: str) -> subprocess.Popen[str]:
    """Pytest in a child that answers SIGINT, as a terminal's would."""
    code = (
        "import signal, sys, pytest; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "sys.exit(pytest.main(sys.argv[1:]))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, "-p", "dialeval", "-s", *arguments],
        cwd=shop.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )


def wait_for_line(child: subprocess.Popen[str], word: str, seconds: float = 30) -> None:
    assert child.stdout is not None
    seen = ""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ready, _, _ = select.select([child.stdout], [], [], 1)
        if ready:
            seen += child.stdout.readline()
            if word in seen:
                return
    raise AssertionError(seen)


PROGRAM = """
import json, os, subprocess, sys

grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(f"pid.{os.getpid()}", "w", encoding="utf-8") as file:
    file.write(str(grandchild.pid))
for line in sys.stdin:
    if json.loads(line)["type"] == "turn":
        print("asked", file=sys.stderr)
        import time; time.sleep(600)
"""


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone_within(seconds: float, pids: list[int]) -> bool:
    end = time.monotonic() + seconds
    while any(map(alive, pids)):
        if time.monotonic() > end:
            return False
        select.select([], [], [], 0.02)
    return True


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


def two_programs(shop: Shop) -> tuple[subprocess.Popen[str], list[int]]:
    """Pytest with two programs that read no more, each with a child: it, and the four."""
    shop.write("program.py", PROGRAM)
    shop.write(
        "conftest.py",
        """
        import threading, pathlib

        def pytest_runtest_setup(item):
            def tell():
                while len(list(pathlib.Path().glob("pid.*"))) < 2:
                    threading.Event().wait(0.02)
                threading.Event().wait(0.2)
                print("RUNNING", flush=True)
            threading.Thread(target=tell, daemon=True).start()
        """,
    )
    shop.suite(
        agents={"cmd": {"use": f"command:{sys.executable} program.py"}},
        personas=[persona("one", "Hi")],
        trials=2,
    )
    child = start(shop)
    wait_for_line(child, "RUNNING")
    pids = [int(each.suffix[1:]) for each in shop.path.glob("pid.*")]
    pids += [int(each.read_text("utf-8")) for each in shop.path.glob("pid.*")]
    assert len(pids) == 4
    assert all(map(alive, pids))
    return child, pids


@needs_proc
def test_ctrl_c_kills_programs_and_their_children_within_a_second(shop: Shop) -> None:
    child, pids = two_programs(shop)
    child.send_signal(signal.SIGINT)
    assert gone_within(1.5, pids)  # one second, and this poll's own slack
    out, _ = child.communicate(timeout=20)
    assert child.returncode == 2, out
    assert shop.summary["outcomes"]["cancelled"] + shop.summary["outcomes"]["not_run"] == 2
    for ledger in shop.last_run.glob("ledger.*.jsonl"):
        assert all(json.loads(line) for line in ledger.read_text("utf-8").splitlines())


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_programs_and_their_children_do_not_outlive_a_pytest_that_was_killed(
    shop: Shop, number: signal.Signals
) -> None:
    child, pids = two_programs(shop)
    child.send_signal(number)
    assert gone_within(1.5, pids)
    child.communicate(timeout=20)  # and nobody else holds its output open
    assert child.returncode == -number


def test_ctrl_c_leaves_no_thread_and_no_call_behind(shop: Shop) -> None:
    shop.write("agent.py", COUNTING.format(seconds=0.2) + "\nprint('RUNNING', flush=True)\n")
    shop.write(
        "conftest.py",
        """
        import atexit, threading, time

        def pytest_keyboard_interrupt(excinfo):
            size = len(open("calls", encoding="utf-8").read())
            time.sleep(0.5)
            print(f"CALLS {size} {len(open('calls', encoding='utf-8').read())}", flush=True)
            left = [t.name for t in threading.enumerate() if not t.daemon]
            print(f"THREADS {left}", flush=True)
        """,
    )
    shop.suite(
        agents={"w": {"use": "python:agent.py:Waiting"}},
        personas=[persona("one", "Hi", "and", "so", "on", "bye")],
        trials=50,
        task={"id": "shop", "max_rounds": 9},
    )
    child = start(shop)
    wait_for_line(child, "RUNNING")
    end = time.monotonic() + 20
    while calls(shop) < 16:
        assert time.monotonic() < end
        select.select([], [], [], 0.02)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=30)
    assert child.returncode == 2
    found = re.search(r"CALLS (\d+) (\d+)", out)
    assert found, out
    assert found[1] == found[2]
    assert "THREADS ['MainThread']" in out


TWICE = """
import pytest

class Hands:
    def pytest_runtest_logfinish(self):
        {end}

    def pytest_keyboard_interrupt(self):
        raise KeyboardInterrupt  # a second Ctrl-C, while pytest formats the first

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Hands())
"""


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")], ids=["alone", "-n 2"])
@pytest.mark.parametrize(
    ("end", "status"),
    [("raise KeyboardInterrupt", 2), ("pytest.exit('enough', returncode=3)", 3)],
)
def test_a_second_ctrl_c_leaves_the_firsts_status(
    shop: Shop, workers: tuple[str, ...], end: str, status: int
) -> None:
    shop.suite()
    shop.write("conftest.py", TWICE.format(end=end))
    shop.pytester.runpytest_subprocess(*workers, "-p", "dialeval")
    assert shop.summary["exit_status"] == status


def test_a_stop_that_ctrl_c_cut_short_is_done_again(shop: Shop) -> None:
    shop.write(
        "conftest.py",
        """
        from pytest_dialeval.pool import Pool

        close, closed = Pool.close, []

        def cut_short(pool):
            closed.append(pool)
            if len(closed) == 1:
                raise KeyboardInterrupt
            return close(pool)

        Pool.close = cut_short

        def pytest_unconfigure():
            print("STILL OPEN" if not closed or closed[-1]._thread.is_alive() else "CLOSED")
        """,
    )
    shop.suite()
    result = shop.pytester.runpytest_subprocess("-p", "dialeval", "-s")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["CLOSED"])


def test_an_agent_that_swallows_cancellation_is_named(shop: Shop) -> None:
    shop.write(
        "agent.py",
        """
        import asyncio

        async def stubborn(message):
            while True:
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    pass
        """,
    )
    shop.suite(agents={"s": {"use": "python:agent.py:stubborn"}}, personas=[persona("one", "Hi")])
    began = time.monotonic()
    result = shop.pytester.runpytest_subprocess("-p", "dialeval", "--dialeval-turn-timeout=0.2")
    assert time.monotonic() - began < 15
    assert result.ret == 1  # late: agent_error
    assert shop.summary["outcomes"]["agent_error"] == 1
    result.stdout.fnmatch_lines(["*would not stop and was left behind*"])


def test_a_stop_stands_in_events_jsonl(shop: Shop) -> None:
    shop.suite(personas=[persona("one", "Hi")], rubrics=[rubric("never", "never said")], trials=3)
    shop.run("-x")
    [event] = (shop.last_run / "events.jsonl").read_text("utf-8").splitlines()
    found = json.loads(event)
    assert (found["type"], found["reason"]) == ("stop", "stopping after 1 failures")
