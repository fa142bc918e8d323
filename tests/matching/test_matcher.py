from __future__ import annotations

import pytest

from pytest_dialeval.errors import SpecError
from pytest_dialeval.matching.compiling import compile_spec, spec_of, spec_problems
from pytest_dialeval.matching.matcher import matcher_from_function
from pytest_dialeval.matching.view import View
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.verdict import Evidence, MatcherResult
from tests.matching.asking import MATCHERS, view

TALK = view("a: thank you", "u: bye")


def polite(view: View, *, words: list[str], at_least: int = 1) -> bool:
    said = " ".join(turn.text for turn in view.searched())
    return sum(word in said for word in words) >= at_least


def test_its_parameters_are_those_of_the_function() -> None:
    known = {**MATCHERS, "polite": matcher_from_function("polite", polite)}
    check = compile_spec(MatcherSpec("polite", {"words": ["thank"]}), known)
    result = check(TALK)
    assert (result.score, result.searched, check.boolean, check.scope) == (1.0, (1,), True, "all")
    assert not compile_spec(spec_of("polite", {"words": ["thank"], "at_least": 2}, known), known)(
        TALK
    ).matched
    assert spec_problems(MatcherSpec("polite", {"words": ["x"], "at_leest": 2}), known) == [
        (
            ("at_leest",),
            "unknown key 'at_leest' of polite; did you mean 'at_least'? (keys: words, at_least)",
        )
    ]
    assert spec_problems(MatcherSpec("polite"), known) == [((), "'polite' needs the key 'words'")]


def test_the_only_parameter_that_is_needed_takes_a_bare_value() -> None:
    known = {"polite": matcher_from_function("polite", polite)}
    assert spec_of("polite", ["thank"], known).params == {"words": ["thank"]}
    assert compile_spec(spec_of("polite", ["thank"], known), known)(TALK).score == 1.0


def test_parameters_may_have_any_name() -> None:
    def named(view: View, *, schema: str, copy: int = 0, json: bool = True) -> bool:
        return (schema, copy, json) == ("a", 2, True)

    known = {"named": matcher_from_function("named", named)}
    assert compile_spec(MatcherSpec("named", {"schema": "a", "copy": 2}), known)(TALK).score == 1.0


def test_float_is_a_ratio() -> None:
    def warmth(view: View) -> float:
        return 0.25

    check = compile_spec(MatcherSpec("w"), {"w": matcher_from_function("w", warmth)})
    assert (check.boolean, check(TALK).score) == (False, 0.25)


def test_none_and_whole_results_pass_through() -> None:
    whole = MatcherResult(1.0, "it does", evidence=(Evidence(1, "thank"),))

    def unasked(view: View) -> None:
        return None

    def exact(view: View) -> MatcherResult:
        return whole

    known = {each.__name__: matcher_from_function(each.__name__, each) for each in (unasked, exact)}
    assert compile_spec(MatcherSpec("unasked"), known)(TALK).score is None
    assert compile_spec(MatcherSpec("exact"), known)(TALK) is whole


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (0.5, ValueError, "gave the score 0.5; only one annotated `-> float`"),
        (7, ValueError, "must be from 0 to 1"),
        ("yes", TypeError, "answered 'yes'; it must answer a bool"),
        (float("nan"), ValueError, "must be from 0 to 1"),
    ],
)
def test_other_answers_are_refused(answer: object, error: type[Exception], text: str) -> None:
    def odd(view: View):  # type: ignore[no-untyped-def]
        return answer

    check = compile_spec(MatcherSpec("odd"), {"odd": matcher_from_function("odd", odd)})
    with pytest.raises(error, match=text):
        check(TALK)


async def coroutine(view: View) -> bool:
    return True


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (5, "must be a function"),
        (coroutine, "async"),
        (lambda: True, "take the view"),
        (lambda view, *rest: True, "cannot be given by name"),
        (lambda view, **rest: True, "cannot be given by name"),
    ],
)
def test_what_is_no_matcher_is_refused(function: object, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        matcher_from_function("odd", function)  # type: ignore[arg-type]


def test_annotations_that_cannot_be_read_are_named() -> None:
    def odd(view: View, *, words: Missing) -> bool:  # type: ignore[name-defined]  # noqa: F821
        return True

    with pytest.raises(TypeError, match="annotations cannot be read"):
        matcher_from_function("odd", odd)


def test_wrong_values_are_told_before_anything_runs() -> None:
    known = {"polite": matcher_from_function("polite", polite)}
    with pytest.raises(SpecError) as caught:
        compile_spec(MatcherSpec("polite", {"words": 5}), known)
    assert caught.value.path == "polite.words"
