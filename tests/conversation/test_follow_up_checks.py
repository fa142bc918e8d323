"""What a follow-up must not hold: the work itself, or what is hidden. And what it may."""

from __future__ import annotations

import pytest

from pytest_dialeval.conversation.follow_up_checks import Guarded, check_follow_up
from pytest_dialeval.conversation.follow_up_prompt import INSTRUCTIONS
from pytest_dialeval.conversation.user_checks import Expected
from pytest_dialeval.conversation.user_reply import UnusableLine
from pytest_dialeval.records.task import Persona, Script, State
from pytest_dialeval.suites.behaviours import BEHAVIOURS

PATCH = (
    "diff --git a/cart.py b/cart.py\n+    total = sum(item.price * item.count for item in items "
    "if item.count and not item.gift)\n"
)
OUTPUT = "E  AssertionError: the total of an empty cart must be exactly zero and not None at all"
INTENT = "see whether the agent takes a correction that contradicts its first answer"


def reason(line: str, *said: str, language: str = "en") -> str | None:
    state = State("add-tests", (), "ask for a focused test of the change and that it is run")
    persona = Persona("p", Script({"add-tests": state}))
    expected = Expected(
        persona, state, language, "0a1b2c3d4e5f60", said, ["I changed cart.py."], INSTRUCTIONS
    )
    try:
        check_follow_up(line, expected, Guarded([PATCH, OUTPUT], [INTENT]))
    except UnusableLine as problem:
        return problem.reason
    return None


@pytest.mark.parametrize(
    "line",
    [
        "Which test covers `cart.total()`? Please add one.",
        "Please look at:\n- tests/test_cart.py::test_total\n- src/cart.py:12, the sum\nBoth fail.",
        "TypeError: unsupported operand type(s) for +: 'int' and 'str' - where is it from?",
        "I set timeout=5 and it still hangs. Why?",
        "If you do this, for example with a cart of zero items:\nwhat is the total then?",
        "+1 for the idea. Please go on with it.",
        "Return the change to the smallest one, please. Import nothing new for it.",
    ],
)
def test_what_may_be_said(line: str) -> None:
    assert reason(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "Do it so:\n```python\nreturn 0\n```",
        "~~~\nreturn 0\n~~~",
        "diff --git a/cart.py b/cart.py",
        "Apply this:\n--- a/cart.py\n",
        "Use this.\n@@ -1,2 +1,2 @@\n",
        "*** Begin Patch",
        "Please change it:\n-    return None\n+    return 0",
        "Please write\ndef total(items):\n    return sum(items)",
        "Write this:\nif not items:\n    total = 0",
        "const a = 1;\nlet b = 2;",
        "Why does it say the total of an empty cart must be exactly zero and not None at all",
        "You need sum(item.price * item.count for item in items if item.count and not item.gift)",
    ],
)
def test_the_user_does_not_do_the_work(line: str) -> None:
    assert reason(line) == "solved"


def test_what_is_hidden_stays_hidden() -> None:
    line = "I want to see whether the agent takes a correction that I give."
    assert reason(line) == "leaked"
    assert reason(line, "Did I see whether the agent takes a correction that?") is None


def test_the_checks_of_every_line_hold_too() -> None:
    assert reason("Please add a test.", "Please add a test.") == "repeated"
    assert reason("I'm really sorry, but I can't help with that order.") == "role"
    assert reason("请加一个测试，并且运行它给我看结果。") == "language"
    sentence = "Write the next message to the agent and nothing else: brief, as people write."
    assert reason(sentence) == "leaked"
    assert reason("The code is 0A1B2C3D4E5F60.") == "leaked"
    assert reason("ask for a focused test of the change and that it is run") == "leaked"


@pytest.mark.parametrize("name", BEHAVIOURS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_lines_that_come_with_the_plugin_could_be_a_models(name: str, language: str) -> None:
    for line in BEHAVIOURS[name].lines(language):
        assert reason(line.replace("{", "").replace("}", ""), language=language) is None
