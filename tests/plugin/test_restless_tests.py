"""Tests that change the whole process while conversations of later items go on: none is lost."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

import pytest_dialeval

from .conftest import Shop

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
ROOT = Path(pytest_dialeval.__file__).parents[1]


def beside(shop: Shop, test: str, *arguments: str) -> pytest.RunResult:
    """Run 20 conversations of an async agent, three at once, and the test meanwhile."""
    shop.write("conftest.py", SECOND)
    shop.write("slow.py", AGENT)
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
