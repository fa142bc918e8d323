"""What the plugin costs a session without dialogue items."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import command_of_pytest, measure

pytestmark = pytest.mark.benchmark

PAIRS = 30


def test_a_run_without_dialogue_items(
    tmp_path: Path, record: Callable[[str, str, str], None]
) -> None:
    (tmp_path / "test_one.py").write_text("def test_one():\n    pass\n", encoding="utf-8")
    with_it, without = command_of_pytest(), command_of_pytest("-p", "no:dialeval")
    more = []
    for pair in range(PAIRS + 1):
        ours, theirs = measure(with_it, tmp_path), measure(without, tmp_path)
        assert ours.status == theirs.status == 0, ours.output
        if pair:  # the first pair writes bytecode
            more.append((ours.cpu - theirs.cpu) * 1000)
    median = statistics.median(more)
    record("no dialogue items: CPU more than without the plugin", "<= 20 ms", f"{median:.1f} ms")
    assert median <= 20
