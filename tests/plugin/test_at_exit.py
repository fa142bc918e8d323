"""What happens when the process of a run ends."""

from __future__ import annotations

import gc

import pytest
from _pytest import unraisableexception

from .conftest import Shop

AT_EXIT = """
import atexit, gc

atexit.register(lambda: print("frozen at the exit:", gc.get_freeze_count() > 10_000))
"""


@pytest.mark.parametrize(("neighbour", "frozen"), [("", True), ("def test(): pass", False)])
def test_items_are_walked_no_more_where_all_are_ours(
    shop: Shop, neighbour: str, frozen: bool
) -> None:
    """The collector takes a second for 10 000 items, and gives nothing back that the exit won't."""
    shop.write("conftest.py", AT_EXIT)
    shop.suite()
    if neighbour:
        shop.write("test_neighbour.py", neighbour)
    found = shop.pytester.runpytest_subprocess("-p", "dialeval")
    assert found.ret == 0
    found.stdout.fnmatch_lines([f"frozen at the exit: {frozen}"])


COUNTING = """
import gc, pytest

@pytest.fixture(autouse=True)
def noted():
    print("at work:", gc.get_threshold()[0], gc.get_freeze_count() > 0)

def pytest_unconfigure(config):
    print("at the end:", gc.get_threshold()[0])
"""


@pytest.mark.parametrize(
    ("before", "neighbour", "meanwhile"),
    [
        (700, "", "10000 True"),
        (50_000, "", "50000 True"),
        (0, "", "0 True"),  # switched off, and not by us
        (700, "def test(): pass", "700 False"),
    ],
)
def test_the_collector_comes_seldom_while_all_items_are_ours(
    shop: Shop, before: int, neighbour: str, meanwhile: str
) -> None:
    """And as often as before once they are over: others may go on in this process."""
    shop.write("conftest.py", COUNTING)
    shop.suite()
    if neighbour:
        shop.write("test_neighbour.py", neighbour)
    often, frozen = gc.get_threshold(), gc.get_freeze_count()
    gc.set_threshold(before, *often[1:])
    try:
        found = shop.run("-s")
        after = gc.get_threshold(), gc.get_freeze_count()
    finally:
        gc.set_threshold(*often)
    assert found.ret == 0
    found.stdout.fnmatch_lines([f"*at work: {meanwhile}*", f"*at the end: {before}*"])
    assert after == ((before, *often[1:]), frozen)


def test_what_the_agent_leaves_behind_is_still_told(shop: Shop) -> None:
    """Only what was there before the first item is kept from the collector.

    By a warning of pytest's, which looks in the end; before 8.4 it did not, and Python tells.
    """
    shop.write(
        "leaky.py",
        """
        class Leak:
            def __init__(self):
                self.me = self

            def __del__(self):
                raise ValueError("nobody closed it")

        def agent(text):
            Leak()
            return "Hello!"
        """,
    )
    shop.suite(agents={"clerk": {"use": "python:leaky.py:agent"}})
    found = shop.pytester.runpytest_subprocess("-p", "dialeval")
    text = found.stdout.str() + found.stderr.str()
    assert "nobody closed it" in text
    if hasattr(unraisableexception, "gc_collect_harder"):
        assert "PytestUnraisableExceptionWarning" in text


def test_a_threshold_that_a_fixture_sets_is_its_own(shop: Shop) -> None:
    shop.write(
        "conftest.py",
        """
        import gc, pytest

        @pytest.fixture(autouse=True, scope="session")
        def seldom():
            gc.set_threshold(12345, 6, 7)
        """,
    )
    shop.suite()
    often = gc.get_threshold()
    try:
        assert shop.run().ret == 0
        assert gc.get_threshold() == (12345, 6, 7)
    finally:
        gc.set_threshold(*often)
