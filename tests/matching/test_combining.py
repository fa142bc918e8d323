from __future__ import annotations

from tests.matching.asking import ask, quotes, score, view

HIT = {"keyword": ["hello"]}
MISS = {"keyword": ["bye"]}
UNASKED = {"keyword": {"any": ["x"], "by": "user"}}
TALK = view("a: hello there")


def test_all_any_and_not() -> None:
    assert ask("all", [HIT, HIT], TALK).score == 1
    assert ask("all", [HIT, MISS], TALK).score == 0
    assert ask("any", [MISS, HIT], TALK).score == 1
    assert ask("any", [MISS, MISS], TALK).score == 0
    assert ask("not", MISS, TALK).score == 1
    assert ask("not", HIT, TALK).score == 0


def test_a_question_that_did_not_arise_is_left_out() -> None:
    assert ask("all", [HIT, UNASKED], TALK).score == 1
    assert ask("all", [MISS, UNASKED], TALK).score == 0
    assert ask("any", [MISS, UNASKED], TALK).score == 0
    assert ask("all", [UNASKED], TALK).score is None
    assert ask("any", [UNASKED], TALK).score is None
    assert ask("not", UNASKED, TALK).score is None


def test_a_ratio_holds_only_when_it_is_whole() -> None:
    half = {"keyword": {"all": ["hello", "bye"]}}
    assert ask("all", [half], TALK).score == 0
    assert ask("not", half, TALK).score == 1


def test_evidence_is_of_those_that_decide() -> None:
    assert quotes(ask("any", [MISS, HIT], TALK)) == ["hello"]
    assert quotes(ask("all", [HIT, {"keyword": ["there"]}], TALK)) == ["hello", "there"]
    assert quotes(ask("all", [HIT, MISS], TALK)) == []
    assert ask("all", [HIT, MISS], TALK).searched == (1,)
    assert quotes(ask("not", HIT, TALK)) == ["hello"]


def test_they_nest() -> None:
    nested = [{"not": {"any": [MISS, {"all": [HIT, MISS]}]}}, HIT]
    assert score("all", nested, "a: hello") == 1
