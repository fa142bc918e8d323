from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pytest_dialeval.conversation.agent import Brief
from pytest_dialeval.conversation.signature import Call, takes_nothing
from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.records.transcript import Turn

TURNS = (Turn(1, "user", "hi"), Turn(2, "agent", "hello"), Turn(3, "user", "fee?"))
HISTORY = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "hello"},
    {"role": "user", "content": "fee?"},
]
BRIEF = Brief("task")


def called(function: object, main: str = "message", turns: tuple[Turn, ...] = TURNS) -> object:
    return Call.of(function, main).bound(turns, BRIEF)()


def test_a_parameter_of_any_name_gets_the_message():
    assert called(lambda text: text) == "fee?"
    assert called(lambda message: message) == "fee?"
    assert called(lambda text, /: text) == "fee?"
    assert called(lambda *args: args) == ("fee?",)
    assert called(lambda text="": text) == "fee?"


def test_known_names_get_what_they_say():
    assert called(lambda history: history) == HISTORY
    assert called(lambda turns: turns) == TURNS
    assert called(lambda brief: brief) is BRIEF
    assert called(lambda history, text: (history, text)) == (HISTORY, "fee?")
    assert called(lambda message, brief=None, other=3: (message, brief, other)) == (
        "fee?",
        BRIEF,
        3,
    )


def test_nothing_said_is_an_empty_message_and_history():
    assert called(lambda message, history: (message, history), turns=()) == ("", [])


def test_partials_methods_and_callable_objects():
    class Caller:
        def __call__(self, history: object) -> object:
            return history

        def method(self, message: str) -> str:
            return message

    assert called(Caller()) == HISTORY
    assert called(Caller().method) == "fee?"
    assert called(partial(lambda shop, message: (shop, message), "s")) == ("s", "fee?")
    assert called(str) == "fee?"


def test_start_may_want_the_brief_or_nothing():
    assert called(lambda: 1, "brief", ()) == 1
    assert called(lambda b: b, "brief", ()) is BRIEF
    assert called(lambda fast=True: fast, "brief", ()) is True


def test_close_gets_nothing():
    assert called(lambda *args: args, "", ()) == ()


@pytest.mark.parametrize("function", [lambda a, b: 0, lambda message, b: 0])
def test_a_parameter_that_nobody_fills_is_named(function: Callable[..., Any]):
    with pytest.raises(HarnessFault, match="wants 'b', which nobody can give it; known: message"):
        Call.of(function, "message")


def test_history_is_a_new_list_each_time():
    call = Call.of(lambda history: history.clear(), "message")
    call.bound(TURNS, BRIEF)()
    assert called(lambda history: history) == HISTORY


def test_what_takes_nothing():
    class Plain:
        pass

    class Needs:
        def __init__(self, key: str) -> None: ...

    class Optional:
        def __init__(self, key: str = "", *rest: str) -> None: ...

    assert [takes_nothing(each) for each in (Plain, Optional, Needs)] == [True, True, False]
    assert takes_nothing(lambda: 0)
    assert not takes_nothing(lambda x=1: 0)
