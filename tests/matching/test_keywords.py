from __future__ import annotations

from tests.matching.asking import ask, quotes, score, view


def test_any_is_met_by_one_word_and_quotes_the_earliest() -> None:
    result = ask("keyword", ["免费", "您好"], view("a: 喂，您好", "u: 免费吗", "a: 免费"))
    assert (result.score, quotes(result)) == (1, ["您好"])
    assert (result.evidence[0].turn, result.evidence[0].start) == (1, 2)
    assert result.searched == (1, 3)


def test_absence_names_the_turns_that_were_searched() -> None:
    result = ask("keyword", ["refund"], view("a: no refunds", "u: refund", "a: bye"))
    assert (result.score, result.evidence, result.searched) == (0, (), (1, 3))
    assert result.expected == "'refund'"


def test_all_is_a_fraction() -> None:
    result = ask("keyword", {"all": ["name", "date", "fee"]}, view("a: your name", "a: the fee"))
    assert result.score == 2 / 3
    assert quotes(result) == ["name", "fee"]
    assert "'date' missing" in result.reason


def test_none_fails_on_one() -> None:
    result = ask("keyword", {"none": ["um", "er"]}, view("a: fine", "a: er, well"))
    assert (result.score, quotes(result)) == (0, ["er"])
    assert score("keyword", {"none": ["um"]}, "a: drum") == 1


def test_parts_are_joined_and_the_worst_decides() -> None:
    both = {"any": ["hello"], "none": ["sorry"]}
    assert score("keyword", both, "a: hello") == 1
    assert score("keyword", both, "a: hello, sorry") == 0
    assert score("keyword", {"any": ["hello"], "all": ["a", "b"]}, "a: hello a") == 0.5


def test_by_and_turns_choose_what_is_searched() -> None:
    lines = ("a: hello", "u: fee", "a: fee")
    assert score("keyword", {"any": ["fee"], "turns": "first"}, *lines) == 0
    assert score("keyword", {"any": ["fee"], "turns": "last"}, *lines) == 1
    assert score("keyword", {"any": ["hello"], "by": "user"}, *lines) == 0
    assert score("keyword", {"any": ["hello"], "by": "any"}, *lines) == 1
    assert score("keyword", {"any": ["fee"]}, *lines, after=3) is None
    assert score("keyword", {"any": ["fee"], "turns": "next"}, *lines, after=2) == 1


def test_without_a_turn_to_search_the_question_does_not_arise() -> None:
    result = ask("keyword", ["x"], view("u: x"))
    assert result.score is None
    assert result.reason == "no turn of the agent is there to be searched"


def test_numbers_are_compared_as_numbers() -> None:
    assert score("keyword", [327], "a: it is $1327.00") == 0
    assert score("keyword", [481.5], "a: it is $481.50") == 1
    assert score("keyword", {"all": [1000, "三百"]}, "a: 1,000 and 300") == 1


def test_a_scalar_is_a_list_of_one() -> None:
    assert score("keyword", "hello", "a: hello") == 1
    assert score("keyword", {"any": ("hello",)}, "a: hello") == 1


def test_parts_are_found_however_they_are_written() -> None:
    assert quotes(ask("keyword", ["30%"], view("a: 优惠三成"))) == ["三成"]
    assert quotes(ask("keyword", ["三成"], view("a: take 30% off"))) == ["30%"]
    assert quotes(ask("keyword", ["2.5年"], view("a: 保修2½年"))) == ["2½年"]
    assert quotes(ask("keyword", ["1.5小时"], view("a: 一个半小时"))) == ["一个半小时"]
    assert score("keyword", ["两年"], "a: 保修两年半") == 0
