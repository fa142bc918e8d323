from __future__ import annotations

from tests.matching.asking import ask, quotes, score, view


def test_one_mention_in_ten_turns_is_a_breach() -> None:
    talk = view(*["a: 您好"] * 9, "a: 我们保证退款")
    result = ask("blacklist", ["保证退款"], talk)
    assert (result.score, quotes(result), result.evidence[0].turn) == (0, ["保证退款"], 10)


def test_a_refusal_is_no_breach_where_it_may_be_named() -> None:
    line = "a: 抱歉，我们不能保证退款。"
    assert score("blacklist", ["保证退款"], line) == 0
    result = ask("blacklist", {"phrases": ["保证退款"], "unless_negated": True}, view(line))
    assert (result.score, quotes(result)) == (1, ["保证退款"])
    assert "deny" in result.reason


def test_a_later_promise_is_a_breach_beside_a_refusal() -> None:
    params = {"phrases": ["refund"], "unless_negated": True}
    result = ask(
        "blacklist", params, view("a: we can't promise a refund", "u: please", "a: ok, a refund")
    )
    assert (result.score, quotes(result), result.evidence[0].turn) == (0, ["refund"], 3)
    assert score("blacklist", params, "a: no refund. Fine, a refund.") == 0


def test_what_the_user_says_is_no_breach() -> None:
    assert score("blacklist", ["refund"], "u: refund", "a: let me see") == 1
    assert score("blacklist", {"phrases": ["refund"], "by": "any"}, "u: refund", "a: hm") == 0


def test_longer_words_are_none() -> None:
    assert score("blacklist", ["ass"], "a: I can assist") == 1


def test_many_mentions_are_counted_but_not_all_quoted() -> None:
    result = ask("blacklist", ["no"], view("a: " + "no " * 100))
    assert (result.score, len(result.evidence)) == (0, 20)
