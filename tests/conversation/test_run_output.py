"""What is read from what tests printed."""

from __future__ import annotations

import pytest

from pytest_dialeval.conversation.run_output import error_line, failed_test, fails


@pytest.mark.parametrize(
    ("output", "failing"),
    [
        ("t.py F\nFAILED t.py::test_a - assert 3", "t.py::test_a"),
        ("ERROR    root:a.py:3 boom\nERROR t.py - ImportError", "t.py"),
        ("FAIL: test_a (t.T.test_a)\nFAILED (failures=1)", "test_a"),
        ("ERROR: test_b (t.T.test_b)\nFAILED (errors=1)", "test_b"),
        ("FAILED (errors=1)", ""),
        ("--- FAIL: TestTotal (0.00s)", "TestTotal"),
        ("ok 1 - adds\nnot ok 2 - adds two numbers", "adds two numbers"),
        ("test cart::empty ... ok\ntest cart::total ... FAILED", "cart::total"),
    ],
)
def test_names_of_tests_that_failed(output: str, failing: str) -> None:
    assert failed_test(output) == failing
    assert fails(output)


@pytest.mark.parametrize(
    "output",
    ["", "3 passed", "0 failed, 3 passed", "t.py::test_raises_ValueError PASSED", "OK (errors=0)"],
)
def test_runs_that_did_not_fail(output: str) -> None:
    assert not fails(output)


def test_the_last_line_that_speaks_of_an_error() -> None:
    assert error_line("KeyError: 1\nE   ValueError: two\n1 failed\n") == "ValueError: two"
    assert error_line("all is well") == ""
