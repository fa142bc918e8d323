"""Workers of xdist tell how far they are; the controller says it for all of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.plugin.progress import Standing
from pytest_dialeval.plugin.standings import TOLD, Teller, together

from .conftest import Shop, persona

COUNTS = st.integers(0, 50)


@given(st.lists(st.tuples(COUNTS, COUNTS), min_size=1, max_size=5), COUNTS)
def test_what_others_hold_waits_for_no_worker(shares: list[tuple[int, int]], left: int) -> None:
    whole = sum(map(sum, shares)) + left
    each = [Standing(held, running, whole - held - running) for held, running in shares]
    found = together(each)
    assert found.held + found.running + found.waiting == whole
    assert found.waiting == left


def test_figures_are_added_and_a_cost_that_one_does_not_know_is_unknown() -> None:
    one = Standing(1, 2, 7, {"agent": 2}, throttled=1, cost=0.5, seconds=9.0)
    two = Standing(2, 1, 7, {"agent": 1, "judge": 1}, cost=0.25, seconds=8.0)
    found = together([one, two])
    assert found == Standing(3, 3, 4, {"agent": 3, "judge": 1}, 1, 0.75, 9.0)
    assert together([one, Standing(0, 0, 10, cost=None)]).cost is None


def teller(path: Path, now: list[float]) -> tuple[Teller, Callable[[], int]]:
    standing = Standing(3, 1, 6, {"user": 1})
    found = Teller(path / "standing.gw0.json", lambda: standing, lambda: now[0])
    return found, lambda: len(list(path.iterdir()))


def test_a_worker_writes_now_and_then(tmp_path: Path) -> None:
    now = [0.0]
    telling, files = teller(tmp_path, now)
    now[0] = TOLD / 2
    telling.tick()
    assert files() == 0
    now[0] = TOLD
    telling.tick()
    [path] = tmp_path.iterdir()
    assert Standing(**json.loads(path.read_bytes())) == Standing(3, 1, 6, {"user": 1})
    path.unlink()
    telling.tick()
    assert files() == 0, "it was told a moment ago"
    telling.clear()
    assert files() == 1, "how it ended"


def test_a_short_run_writes_nothing(tmp_path: Path) -> None:
    telling, files = teller(tmp_path, [0.0])
    telling.tick()
    telling.clear()
    assert files() == 0


def test_a_disk_that_takes_nothing_stops_no_worker(tmp_path: Path) -> None:
    now = [0.0]
    telling, _ = teller(tmp_path / "gone", now)
    now[0] = TOLD
    telling.tick()
    assert not (tmp_path / "gone").exists()


LOOKING = """
import sys, threading

def pytest_xdist_node_collection_finished():
    print([e.name for e in threading.enumerate() if "dialeval" in e.name])

def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        print([e for e in ("orjson", "pytest_dialeval.plugin.standings") if e in sys.modules])
"""


def test_a_session_without_dialogues_starts_and_loads_nothing(shop: Shop) -> None:
    shop.write("conftest.py", LOOKING)
    shop.write("test_plain.py", "def test(): pass")
    found = shop.pytester.runpytest_subprocess("-p", "xdist", "-n", "2", "-p", "dialeval", "-s")
    assert found.ret == 0
    assert [each for each in found.outlines if each.startswith("[")] == ["[]"] * 3


AGENT = """
import asyncio

class Clerk:
    async def reply(self, message):
        await asyncio.sleep(0.4)
        return "Hello!"
"""
HURRIED = """
from pytest_dialeval.plugin import progress, standings

progress.EVERY = standings.TOLD = 0.1
"""


@pytest.mark.parametrize(("option", "told"), [("-q", True), ("-qq", False)])
def test_the_controller_says_how_far_all_are(shop: Shop, option: str, told: bool) -> None:
    shop.write("agent.py", AGENT)
    shop.write("conftest.py", HURRIED)
    personas = [persona("one", "Hi"), persona("two", "Hi")]
    shop.suite(agents={"own": {"use": "python:agent.py:Clerk"}}, personas=personas, trials=4)
    options = ("-p", "xdist", "-n", "2", "-p", "dialeval", "--dialeval-concurrency", "1", option)
    found = shop.pytester.runpytest_subprocess(*options)
    assert found.ret == 0
    lines = [each for each in found.outlines if each.startswith("dialeval: ")]
    assert bool(lines) == told
    assert len(lines) == found.stdout.str().count("dialeval: "), "each begins a line"
    assert all(re.match(r"dialeval: \d of 8 conversations held, \d running", e) for e in lines)
    assert not list(shop.path.rglob("standing.*.json"))
