from __future__ import annotations

from dataclasses import replace

from pytest_dialeval.matching.compiling import compile_spec, spec_of
from pytest_dialeval.matching.trigger import fired
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.rubric import Trigger
from tests.matching.asking import MATCHERS, turns, view


def when(method: str, value: object, *lines: str) -> int | None:
    check = compile_spec(spec_of(method, value, MATCHERS), MATCHERS)
    return fired(Trigger(when=spec_of(method, value, MATCHERS)), view(*lines), check)


def test_a_probe_and_a_state_fire_at_their_turn() -> None:
    plain = turns("u: a", "a: b", "u: c", "a: d", "u: e")
    talk = View(
        (
            *plain[:2],
            replace(plain[2], probe="refund", state="asks"),
            replace(plain[3], state="asks"),
            replace(plain[4], probe="refund", state="asks"),
        )
    )
    assert fired(Trigger(probe="refund"), talk, None) == 3
    assert fired(Trigger(state="asks"), talk, None) == 3
    assert fired(Trigger(probe="other"), talk, None) is None
    assert fired(Trigger(state="start"), talk, None) is None


def test_a_word_of_the_user_fires_but_not_the_agents() -> None:
    talk = view("a: 费用", "u: 好", "u: 请问费 用多少？", "u: 费用")
    assert fired(Trigger(user_keyword=("费用", "价格")), talk, None) == 3
    assert fired(Trigger(user_keyword=("退款",)), talk, None) is None
    assert fired(Trigger(user_keyword=("cost",)), view("u: costs"), None) is None


def test_any_matcher_fires_at_the_turn_from_which_on_it_holds() -> None:
    lines = ("u: hi", "a: one", "u: two", "a: two", "a: one")
    assert when("keyword", ["two"], *lines) == 4
    assert when("keyword", {"all": ["one", "two"]}, *lines) == 4
    assert when("keyword", {"any": ["two"], "by": "user"}, *lines) == 3
    assert when("keyword", ["three"], *lines) is None
    assert when("keyword", {"any": ["two"], "turns": "last"}, *lines) == 4
    assert when("repetition", {"min_chars": 1}, *lines) == 4  # two turns, no repeat yet
    assert when("not", {"repetition": {"min_chars": 1}}, *lines) == 5


def test_absence_holds_as_soon_as_there_is_something_to_search() -> None:
    assert when("keyword", {"none": ["x"]}, "u: hi", "a: one") == 2


def test_nothing_fires_without_a_matcher() -> None:
    assert fired(Trigger(), view("a: x"), None) is None
