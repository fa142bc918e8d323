"""What tasks are called."""

from __future__ import annotations

from pytest_dialeval.report.pass_table import pass_table
from pytest_dialeval.report.titles import title, titles
from tests.report.figures import summary, task


def test_a_decorated_test_is_named_with_its_task() -> None:
    decorated = task(source="tests/test_fee.py::TestFee::test_fee")
    assert title(decorated, alone=True) == "live_upgrade (test_fee)"
    assert title(task(), alone=True) == "live_upgrade"


def test_suites_that_share_a_task_id_are_told_apart() -> None:
    namesakes = [task(source="a/s.dialeval.yaml"), task(source="b/s.dialeval.yaml")]
    decorated = task(source="tests/test_fee.py::test_fee")
    other = task(id="refund", source="c.dialeval.yaml")
    found = summary(*namesakes, decorated, other)
    assert titles(found) == [
        "live_upgrade (a/s.dialeval.yaml)",
        "live_upgrade (b/s.dialeval.yaml)",
        "live_upgrade (test_fee)",
        "refund",
    ]
    rows = pass_table(found).splitlines()[2:6]
    assert [row.partition("  ")[0] for row in rows] == titles(found)
    assert titles(summary(namesakes[0], decorated)) == ["live_upgrade", "live_upgrade (test_fee)"]
