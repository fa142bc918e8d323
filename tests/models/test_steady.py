"""Output of programs is the same in every run, but for what a run alone has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.models.steady import as_in_any_run, steady


@pytest.mark.parametrize(
    ("one", "other", "steadied"),
    [
        (
            "Ran 3 tests in 0.000s\n\nOK",
            "Ran 3 tests in 12.5s\n\nOK",
            "Ran 3 tests in <time>\n\nOK",
        ),
        ("Ran 1 test in 0.001s", "Ran 1 test in 0.1s", "Ran 1 test in <time>"),
        ("== 2 passed in 0.02s ==", "== 2 passed in 1.90s ==", "=== 2 passed in <time> ==="),
        (
            "1 failed, 1 warning in 61.00s (0:01:01)",
            "1 failed, 1 warning in 0.31s",
            "1 failed, 1 warning in <time>",
        ),
        ("OK\\nRan 2 tests in 0.1s", "OK\\nRan 2 tests in 3.2s", "OK\\nRan 2 tests in <time>"),
        ("3 subtests passed in 0.05s", "3 subtests passed in 0.15s", "3 subtests passed in <time>"),
        (
            "Time:        1.2 s, estimated 2 s",
            "Time:        0.9 s, estimated 1 s",
            "Time:        <time>, estimated <time>",
        ),
        (
            "Tests: 2 total\nTime: 1.2 s",
            "Tests: 2 total\nTime: 2 s",
            "Tests: 2 total\nTime: <time>",
        ),
        ("PASS a.test.js (5.2 s)", "PASS a.test.js (6.1 s)", "PASS a.test.js (<time>)"),
        ("C:\\\\T\\\\dialeval-lnepm99k", "D:\\\\dialeval-00000000", "<folder>"),
        ("no tests ran in 0.01s", "no tests ran in 0.02s", "no tests ran in <time>"),
        ("ok \tshop/cart\t0.003s", "ok \tshop/cart\t0.012s", "ok \tshop/cart\t<time>"),
        ("out; finished in 0.00s", "out; finished in 0.01s", "out; finished in <time>"),
        ("1 target(s) in 0.52s", "1 target(s) in 3.01s", "1 target(s) in <time>"),
        ("--- FAIL: TestAdd (0.00s)", "--- FAIL: TestAdd (0.01s)", "--- FAIL: TestAdd (<time>)"),
        ("✓ adds 1 + 2 (2 ms)", "✓ adds 1 + 2 (11 ms)", "✓ adds 1 + 2 (<time>)"),
        ("0.05s call     test_a.py::a", "0.12s call     test_a.py::a", "<time> call     test_a"),
        ("Time:        1.2 s", "Time:        981 ms", "Time:        <time>"),
        (
            'File "/tmp/dialeval-lnepm99k/repo/cart.py", line 1',
            'File "/var/folders/x_y/T/dialeval-_1abcd9z/repo/cart.py", line 1',
            'File "<folder>/repo/cart.py", line 1',
        ),
        (
            "C:\\Users\\me\\dialeval-lnepm99k\\repo",
            "/tmp/dialeval-00000000\\repo",
            "<folder>\\repo",
        ),
        (
            "<Cart object at 0x7f0f0e05ea00>",
            "<Cart object at 0x7fffffff>",
            "<Cart object at <address>>",
        ),
    ],
)
def test_two_runs_print_the_same(one: str, other: str, steadied: str) -> None:
    assert steady(one) == steady(other)
    assert steady(one).startswith(steadied)
    pattern = as_in_any_run(one)
    assert pattern is not None
    assert pattern.search(f"before\n{other} after")


@pytest.mark.parametrize(
    "text",
    [
        "the agent calls back in 3 s",
        "the agent answers in 1.5s",
        "it takes off 10 per cent in 2 steps, at 12:30",
        "3 tests failed in cart.py",
        "the folder dialeval-lnepm99k",
        "/srv/dialeval-runs/today",
        "opened at 0x12",
        "it crashed at 0xdeadbeef",
        "the export finished in 30 s",
        "no more than 5 errors in 10s",
        "Delivery time: 30 s",
        "Boil an egg\nTime: 300 s, estimated 310 s",
        "total time: 30 s",
        "✓ Restart the router (30 s)",
        "may fail twice (30 s)",
        "the query failed in 200 ms",
    ],
)
def test_what_a_criterion_may_say_is_left_alone(text: str) -> None:
    assert steady(text) == text
    assert as_in_any_run(text) is None


def test_another_number_of_tests_is_another_output() -> None:
    assert steady("Ran 3 tests in 0.1s") != steady("Ran 4 tests in 0.1s")
    pattern = as_in_any_run("Ran 3 tests in 0.1s")
    assert pattern is not None
    assert not pattern.search("Ran 13 tests in 0.1s, Ran 4 tests in 0.2s")


def test_what_stands_before_a_path_is_kept() -> None:
    folder = "/tmp/dialeval-lnepm99k"
    assert steady(f"通过/失败：总额30元，见{folder}/a.py") == "通过/失败：总额30元，见<folder>/a.py"
    assert steady(f"选A:{folder}/a.py") == "选A:<folder>/a.py"
    assert steady(f"{folder}/a.py:30:{folder}/b.py") == "<folder>/a.py:30:<folder>/b.py"
    assert steady(f"no/30\\n{folder}/a.py") == "no/30\\n<folder>/a.py"
    assert steady(r"in C:\用户\张三\Temp\dialeval-lnepm99k\a.py") == r"in <folder>\a.py"


def test_pytest_fills_its_line_up_to_the_same_width() -> None:
    one, other = "===== 1 passed in 9.99s =====", "==== 1 passed in 10.02s ===="
    assert steady(one) == steady(other)


def test_a_mark_in_a_quote_stands_for_nothing() -> None:
    for quote in ("<time>", "the refund takes <time>", "see <folder>", "at <address>"):
        assert as_in_any_run(quote) is None


def test_a_quote_begins_with_a_whole_number() -> None:
    pattern = as_in_any_run("1 passed in 0.02s")
    assert pattern is not None
    assert pattern.search("1 passed in 0.05s")
    assert not pattern.search("11 passed in 0.05s")


@given(st.text())
def test_it_is_steady_at_once(text: str) -> None:
    assert steady(steady(text)) == steady(text)


def test_a_long_output_takes_no_long_time() -> None:
    for text in (
        "/" * 200_000,
        "/a" * 100_000,
        "at 0x" * 40_000,
        "ok\t" * 60_000,
        "1 passed in 1.00s " * 20_000,
        "in 1s " * 40_000,
    ):
        steady(text)
