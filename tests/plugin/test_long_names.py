"""Names longer than the system allows: one line each wherever one may stand, and no traceback."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import pytest

from .conftest import Shop

LONG = "a" * 300
UNREAD = "can't be read: File name too long"
PROGRAM = """
import json
for line in open(0):
    if json.loads(line)["type"] == "turn":
        print(json.dumps({"text": "Hello"}), flush=True)
"""


def work(**verifier: str) -> dict[str, Any]:
    return {"id": "shop", "max_rounds": 2, "workspace": "work", "verifier": verifier}


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        (
            {"task": {**work(command="true"), "workspace": LONG}},
            UNREAD,
        ),
        ({"task": work(command="true", hidden=LONG)}, UNREAD),
        ({"agents": {"a": {"use": f"python:{LONG}.py:f"}}}, "there is no file"),
        ({"agents": {"a": {"use": "replay", "path": LONG}}}, UNREAD),
        ({"include": [LONG]}, UNREAD),
    ],
    ids=["workspace", "hidden", "python", "replay", "include"],
)
def test_a_suite_is_refused_in_one_line(shop: Shop, sections: dict[str, Any], said: str) -> None:
    shop.write("work/file.txt", "x")
    shop.suite(**sections)

    result = shop.run()

    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"shop.dialeval.yaml:*{said}*"])
    assert "Error: " not in result.stdout.str()


@pytest.mark.parametrize("use", [f"python:{LONG}:f", f"command:{LONG}"], ids=["python", "command"])
def test_an_agent_that_cannot_be_found_is_unmeasured(shop: Shop, use: str) -> None:
    shop.suite(agents={"a": {"use": use}})

    result = shop.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["unmeasured: *aaa*(harness_error)"])
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize("in_folder", [False, True])
def test_a_word_of_a_command_may_be_long(shop: Shop, in_folder: bool) -> None:
    shop.write("program.py", PROGRAM)
    shop.write("work/file.txt", "x")
    task = {"id": "shop", "max_rounds": 2, **({"workspace": "work"} if in_folder else {})}
    program = f"command:{shlex.quote(sys.executable)} program.py {LONG}"
    shop.suite(task=task, agents={"a": {"use": program}})

    shop.run().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "option",
    [f"--dialeval-regrade={LONG}", f"--dialeval-agent=a=python:{LONG}.py:f",
     f"--dialeval-agent=a=replay:{LONG}", f"--dialeval-baseline={LONG}"],
    ids=["regrade", "python", "replay", "baseline"],
)  # fmt: skip
def test_an_option_is_refused_in_one_line(shop: Shop, option: str) -> None:
    shop.suite()

    result = shop.run(option)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *{option.partition('=')[0]}*"])
    assert "Traceback" not in f"{result.stdout}{result.stderr}"


@pytest.mark.parametrize(
    ("options", "status"), [((), 4), (("-p", "xdist", "-n", "1"), 2)], ids=["here", "worker"]
)
def test_a_runs_folder_ends_the_run_in_one_line(
    shop: Shop, options: tuple[str, ...], status: int
) -> None:
    shop.suite()

    result = shop.pytester.runpytest_subprocess(
        "-p", "dialeval", *options, f"--dialeval-runs={LONG}"
    )

    assert result.ret == status
    text = f"{result.stdout}{result.stderr}"
    assert "cannot be written: File name too long" in text and "Traceback" not in text


def test_a_decorated_function_names_its_suite(shop: Shop) -> None:
    shop.write(
        "test_it.py",
        f"""
        from pytest_dialeval import dialogue_case

        @dialogue_case("{LONG}.dialeval.yaml")
        def test_stock(dialogue):
            pass
        """,
    )

    shop.run().stdout.fnmatch_lines(["test_it.py::test_stock: no suite 'aaa*"])
