"""What is read from the rounds so far: facts, and signs of trouble."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.conversation.follow_up_facts import (
    Past,
    command_of,
    facts,
    troubles,
)
from pytest_dialeval.records.follow_up import ANCHOR, FIELDS
from pytest_dialeval.records.transcript import Artifact, ToolCall, Turn
from pytest_dialeval.records.work import PATCH, Check, Done, RoundWork

CLAIMED = "it says that tests ran or passed, but no command of this round ran any"
DIFF = "diff --git a/cart.py b/cart.py\n--- a/cart.py\n+++ b/cart.py\n@@ -1 +1 @@\n-x\n+y\n"


def shell(command: str, result: str = "", *, error: bool = False) -> ToolCall:
    return ToolCall("bash", {"command": command}, result=result, error=error)


def past(
    text: str = "I have done it for you.",
    *calls: ToolCall,
    number: int = 1,
    said: str = "Please fix it.",
    state: str = "request",
    done: Done | None = None,
    artifacts: tuple[Artifact, ...] = (),
) -> Past:
    reply = Turn(2, "agent", text, number, tool_calls=calls, artifacts=artifacts)
    return Past(number, state, said, reply, done)


def work(*, changed: bool = True, note: str = "", check: Check | None = None) -> Done:
    return Done(RoundWork(1, changed, ("cart.py", "shop.py"), note=note), DIFF, check)


@pytest.mark.parametrize(
    ("call", "command"),
    [
        (shell("pytest -q"), "pytest -q"),
        (ToolCall("exec", {"cmd": ["go", "test", "./..."]}), "go test ./..."),
        (ToolCall("bash", "ls -l"), "ls -l"),
        (ToolCall("read", "ls -l"), None),
        (ToolCall("read", {"path": "a.py"}), None),
        (ToolCall("read", None), None),
        (ToolCall("bash", {"command": 3}), None),
    ],
)
def test_commands(call: ToolCall, command: str | None) -> None:
    assert command_of(call) == command


def test_facts_of_a_round() -> None:
    check = Check(1, False, checks={"test_a": True, "test_b": False}, output="E   TypeError: no.\n")
    found = facts(
        "Fix the\ncart",
        [past("Sure! I changed the total now.", shell("pytest -q"), done=work(check=check))],
    )
    assert found == {
        "request": "Fix the cart.",
        "said": "I changed the total now.",
        "files": "cart.py, shop.py",
        "command": "pytest -q",
        "failing": "test_b",
        "error": "TypeError: no",
    }


def test_what_is_not_known_is_no_fact() -> None:
    assert facts("Fix it", []) == {"request": "Fix it."}
    assert facts("Fix it", [past("Ok.")]) == {"request": "Fix it."}


def test_a_verifier_that_is_content_knows_of_no_failure() -> None:
    failed = shell("pytest", "FAILED test_x.py::test_y - Error: x", error=True)
    assert facts("x", [past("no", failed)])["failing"] == "test_x.py::test_y"
    assert (
        not {"failing", "error"}
        & facts("x", [past("no", failed, done=work(check=Check(1, True)))]).keys()
    )


def test_a_verifier_that_spoke_of_other_work_accuses_nobody() -> None:
    failed = past(done=work(check=Check(1, False, checks={"test_a": False}, output="E  boom")))
    mended = past(number=2, done=work())
    assert {"failing", "error"} <= facts(
        "x", [failed, past(number=2, done=work(changed=False))]
    ).keys()
    assert not {"failing", "error"} & facts("x", [failed, mended]).keys()
    own = past("No.", shell("pytest", "FAILED test_b - x"), number=2, done=work())
    assert facts("x", [failed, own])["failing"] == "test_b"
    assert "failing" not in facts("x", [failed, own, past(number=3, done=work())])


def test_only_runs_of_tests_name_tests() -> None:
    calls = shell("pytest", "FAILED a - x"), shell("cat log", "FAILED b - x"), shell("pytest")
    assert facts("x", [past("no", *calls)])["failing"] == "a"


@pytest.mark.parametrize(
    ("calls", "error"),
    [
        ((shell("pytest", "E  KeyError: 3\n1 failed", error=True),), "KeyError: 3"),
        ((shell("pytest", "E  KeyError: 3\n1 failed"),), "KeyError: 3"),
        ((shell("pytest", "E  KeyError: 3", error=True), shell("pytest", "1 passed")), None),
        ((shell("pytest", "1 passed"), shell("cat x", "OSError: x", error=True)), "OSError: x"),
        ((shell("pytest -v", "t.py::test_raises_ValueError PASSED\n1 passed"),), None),
    ],
)
def test_errors_that_are_over_are_no_fact(calls: tuple[ToolCall, ...], error: str | None) -> None:
    assert facts("x", [past("no", *calls)]).get("error") == error


def test_without_a_folder_an_artifact_shows_the_changes() -> None:
    given = past(artifacts=(Artifact(PATCH, DIFF), Artifact("notes", "x")))
    assert facts("x", [given])["files"] == "cart.py"


def test_the_earlier_message_is_the_one_by_hand_else_the_first() -> None:
    rounds = [
        past(),
        past(number=2, said="Add tests.", state="add-tests"),
        past(number=3, said="Now."),
    ]
    assert facts("x", rounds)["earlier"] == "Add tests."
    rounds.append(past(number=4, said="Use Decimal", state=ANCHOR))
    assert facts("x", rounds)["earlier"] == "Use Decimal."


def test_signs_of_trouble() -> None:
    check = Check(1, False, checks={"test_b": False})
    rounds = [past(
        "All tests pass.",
        shell("cat x", "OSError: gone", error=True),
        done=work(changed=False, note="the agent deleted its folder", check=check),
    )]  # fmt: skip
    assert list(troubles(rounds)) == [
        "the call of bash failed: OSError: gone",
        "failing checks: test_b",
        "no new patch in this round",
        "the agent deleted its folder",
        CLAIMED,
    ]


@pytest.mark.parametrize(
    "claim",
    ["I ran the tests.", "I've also run the whole test suite", "All 12 tests pass now.",
     "The tests are green", "我运行了所有测试", "测试全部通过"],
)  # fmt: skip
def test_claims_without_a_command(claim: str) -> None:
    assert len(list(troubles([past(claim)]))) == 1
    assert not list(troubles([past(claim, shell("pytest"))]))


@pytest.mark.parametrize(
    "text", ["I added a test.", "Please run the tests.", "The contest was passed over. Done."]
)
def test_what_is_no_claim(text: str) -> None:
    assert not list(troubles([past(text)]))


def test_tests_of_a_round_before_hold_for_the_same_files_alone() -> None:
    ran = past("Done.", shell("pytest -q", "2 passed"), done=work())
    same = past("All tests pass.", number=2, done=work(changed=False))
    other = past("All tests pass.", number=2, done=work())
    assert list(troubles([ran, same])) == ["no new patch in this round"]
    assert list(troubles([ran, other])) == [CLAIMED]
    assert list(troubles([ran, past("All tests pass.", number=2)])) == [CLAIMED]


def test_only_the_last_round_is_in_trouble() -> None:
    assert not list(troubles([past("All tests pass."), past("I looked at it.", number=2)]))
    assert not list(troubles([]))


texts = st.text(max_size=200)


@given(texts, texts, texts, texts)
def test_facts_are_short_lines_whatever_was_said(
    request: str, said: str, command: str, output: str
) -> None:
    call = ToolCall("bash", {"command": command}, result=output, error=True)
    for name, value in facts(request, [past(said, call)]).items():
        assert name in FIELDS
        assert 0 < len(value) <= 121
        assert "\n" not in value
