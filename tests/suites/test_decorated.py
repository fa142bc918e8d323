from __future__ import annotations

import pytest

from pytest_dialeval.suites.decorated import DecoratedCase, dialogue_case


def test_the_function_stays_itself_and_carries_its_case():
    def test_fee(dialogue: object) -> None: ...

    decorate = dialogue_case(
        "suites/a.dialeval.yaml",
        personas=["hesitant"],
        trials=3,
        rubrics=["opening.greeting", "safety_1"],
        agent="improved",
    )
    assert decorate(test_fee) is test_fee
    assert test_fee.dialogue_case == DecoratedCase(  # type: ignore[attr-defined]
        "suites/a.dialeval.yaml",
        ("hesitant",),
        3,
        ("opening.greeting", "safety_1"),
        "improved",
    )


def test_defaults_leave_everything_to_the_suite():
    def test(dialogue: object) -> None: ...

    dialogue_case("a.dialeval.yaml")(test)
    assert test.dialogue_case == DecoratedCase(  # type: ignore[attr-defined]
        "a.dialeval.yaml", None, None, (), None
    )


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"suite": 3}, TypeError, "suite must be a path as text, not 3"),
        ({"suite": "a.yaml"}, ValueError, "suite 'a.yaml' must end in .dialeval.yaml"),
        ({"personas": "hesitant"}, TypeError, "personas must be a list of ids, not 'hesitant'"),
        ({"personas": {"a"}}, TypeError, "personas must be a list of ids, not {'a'}"),
        ({"personas": []}, ValueError, "personas must not be empty; leave it out for all"),
        ({"personas": [3]}, TypeError, "personas must be ids as text, not 3"),
        ({"personas": ["A"]}, ValueError, "'A' is no id for personas: use a-z, 0-9 and _"),
        ({"personas": ["a", "a"]}, ValueError, r"personas names one twice: \['a', 'a'\]"),
        ({"trials": "3"}, TypeError, "trials must be a whole number, not '3'"),
        ({"trials": True}, TypeError, "trials must be a whole number, not True"),
        ({"trials": 0}, ValueError, "trials must be at least 1, not 0"),
        ({"rubrics": "a"}, TypeError, "rubrics must be a list of ids, not 'a'"),
        ({"rubrics": ["a-b"]}, ValueError, "'a-b' is no id for rubrics"),
        ({"agent": 3}, TypeError, "agent must be ids as text, not 3"),
        ({"agent": "A"}, ValueError, "'A' is no id for agent"),
    ],
)
def test_mistakes_are_named_at_once(given, error, message):
    with pytest.raises(error, match=f"^dialogue_case: {message}"):
        dialogue_case(**{"suite": "a.dialeval.yaml", **given})


def test_used_without_parentheses():
    def test(dialogue: object) -> None: ...

    with pytest.raises(TypeError, match=r'needs a suite: @dialogue_case\("suites/name'):
        dialogue_case(test)  # type: ignore[arg-type]


def test_only_functions_are_decorated_and_only_once():
    def test(dialogue: object) -> None: ...

    decorate = dialogue_case("a.dialeval.yaml")
    with pytest.raises(TypeError, match="decorates a test function, not <class"):
        decorate(type("Test", (), {}))
    with pytest.raises(TypeError, match="decorates a test function, not <staticmethod"):
        decorate(staticmethod(test))
    decorate(test)
    with pytest.raises(TypeError, match="has @dialogue_case twice: write a function each"):
        decorate(test)
