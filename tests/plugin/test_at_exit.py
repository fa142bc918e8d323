"""What happens when the process of a run ends."""

from __future__ import annotations

import pytest

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
