from __future__ import annotations

from typing import Any

import pytest

from pytest_dialeval.matching.view import View
from pytest_dialeval.records.transcript import ToolCall, Turn
from tests.matching.asking import ask, quotes, score, turns, view


def invented(*lines: str, variables: dict[str, object] | None = None, **params: Any) -> list[str]:
    return quotes(ask("number_whitelist", params, view(*lines, variables=variables or {})))


def test_numbers_of_the_task_are_allowed_in_any_form() -> None:
    variables: dict[str, object] = {
        "days": 7,
        "fee": 481.5,
        "window": "9-11点",
        "rate": "5%",
        "dates": ["2024-05-20", {"start": "14:30"}],
        "free": True,
    }
    said = (
        "a: 七天内，费用481.50元，9点到11点，百分之五，5月20日下午两点半。",
        "a: ７ days, $481.5, 5 percent, May 20th, 2:30 PM",
    )
    assert invented(*said, variables=variables) == []


def test_a_foreign_number_is_quoted_where_it_stands() -> None:
    result = ask("number_whitelist", {}, view("a: 7天，也就是 168小时", variables={"days": 7}))
    assert (result.score, quotes(result)) == (0, ["168"])
    assert result.evidence[0].turn == 1
    assert result.reason == (
        "turn 1 says '168', which nothing allows; if it is right, write `allow: [168]`"
    )


def test_the_remedy_names_where_a_number_was_met() -> None:
    called = (ToolCall("find", {"id": 7}, result="7 of 50"),)
    spoken = (
        Turn(1, "user", "Is it 40?"),
        Turn(2, "agent", "", tool_calls=called),
        Turn(3, "agent", "40, not 50, by 10:00."),
        Turn(4, "user", "By 10:00?"),
    )
    assert ask("number_whitelist", {}, View(spoken)).reason == (
        "turn 3 says '40', '50' and '10:00', which nothing allows; if they are right, write "
        "`allow: [40, 50, '10:00']`, or `user: true`: the user said '40' before, "
        "or `tools: true`: a tool call had '50' before"
    )
    held = ask("number_whitelist", {"user": True, "tools": True, "allow": "10:00"}, View(spoken))
    assert held.score == 1


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, "only numbers from the task's variables or its prompt (there: 7, 99.5, 3, 5%)"),
        ({"prompt": False}, "only numbers from the task's variables (there: 7, 99.5)"),
        (
            {"allow": [*range(20, 27)], "prompt": False, "user": True, "tools": True},
            "only numbers from the task's variables, `allow`, what the user said before or tool "
            "calls (there: 7, 99.5, 20, 21, 22, 23, 24, 25 and 1 more)",
        ),
        (
            {"prompt": False, "arithmetic": True},
            "only numbers from the task's variables, or worked out from them (there: 7, 99.5)",
        ),
    ],
)
def test_what_is_allowed_is_said(params: dict[str, object], expected: str) -> None:
    task = {"variables": {"days": 7, "fee": "$99.5"}, "prompt": "1. In 3 days, 5% off."}
    for line in ("a: 168", "a: 7", "u: silence"):
        assert ask("number_whitelist", params, view(line, **task)).expected == expected


def test_where_nothing_is_allowed_that_is_said() -> None:
    expected = "only numbers from the task's variables or its prompt (there: none)"
    assert ask("number_whitelist", {}, view("a: 168")).expected == expected


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("三百二十七元", ["三百二十七"]),
        ("３２７元", ["３２７"]),
        ("$327.00", ["327.00"]),
        ("at 14:30", ["14:30"]),
        ("on May 20th", ["May 20th"]),
        ("call 400-123-4567", ["400-123-4567"]),
        ("within three days", ["three"]),
        ("20% off", ["20%"]),
        ("两天到账", ["两"]),
        ("1天到账", ["1"]),
        ("五个选项", ["五"]),
        ("$2", ["2"]),
        ("优惠三成", ["三成"]),
        ("3成利润", ["3成"]),
        ("two and a half weeks", ["two and a half"]),
        ("一个半小时到账", ["一个半"]),
        ("1½ hours", ["1½"]),
        ("add ½ cup", ["½"]),
    ],
)
def test_what_is_a_claim(text: str, quote: list[str]) -> None:
    assert invented(f"a: {text}") == quote


@pytest.mark.parametrize(
    "text",
    [
        "1. Name\n2. Date\n10. Place",
        "第一步，打开；第五步，确认",
        "step 4, option 7",
        "请稍等一下，我们一起看，十分感谢，万一不行再说，四川的",
        "there are two ways, one of them; one moment, just one minute",
        "有两种方式",
        "flight HAT136, order W2378156",
        "see https://a.b/2024 or me77@x.com",
        "we are open 24/7",
        "1️⃣ Open 2️⃣ Close",
        "",
    ],
)
def test_what_claims_nothing(text: str) -> None:
    assert invented(f"a: {text}") == []


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"off": "30%"}, "三成，3成，百分之三十，30%"),
        ({"off": 0.35}, "三成五，35%"),
        ({"off": "三成"}, "30%"),
        ({"years": 2.5}, "两年半，2.5年，two and a half years, 2½ years"),
        ({"hours": "一个半小时"}, "1.5 hours, 1½ hours"),
        ({"cups": "½"}, "0.5 cup, 1⁄2 cup"),
    ],
)
def test_parts_are_compared_as_numbers(known: dict[str, object], said: str) -> None:
    assert invented(f"a: {said}", variables=known) == []


@pytest.mark.parametrize(
    ("known", "said", "quote"),
    [
        ({"off": 3}, "三成", "三成"),
        ({"years": 2}, "两年半", "两年半"),
        ({"years": 2}, "two and a half years", "two and a half"),
        ({"cups": "1½"}, "11 cups", "11"),  # no digits of 11⁄2
        ({"cups": "11 and 2"}, "1½ cups", "1½"),
    ],
)
def test_a_part_is_not_the_number_before_it(
    known: dict[str, object], said: str, quote: str
) -> None:
    assert invented(f"a: {said}", variables=known) == [quote]


def test_tiny_counts_can_be_set() -> None:
    assert invented("a: 9 ways", counts_up_to=9) == []
    assert invented("a: 2 ways", counts_up_to=0) == ["2"]
    assert invented("a: 9 days", counts_up_to=9) == ["9"]


def test_the_list_allows_more() -> None:
    allowed = [24, "3-5", "10:00", "400-123-4567"]
    said = "a: 24小时内，3到5天，10点半前，早上10:00，电话 400-123-4567"
    assert invented(said, allow=allowed) == ["10点半"]


def test_what_the_user_said_counts_only_from_then_on_and_where_it_is_asked_for() -> None:
    lines = ("a: 500元", "u: 500元可以吗", "a: 500元")
    assert invented(*lines) == ["500", "500"]
    result = ask("number_whitelist", {"user": True}, view(*lines))
    assert [each.turn for each in result.evidence] == [1]


def test_tools_count_from_their_call_on() -> None:
    call = ToolCall("find", {"id": "A77"}, result='{"price": 1250.5, "date": "2024-05-20"}')
    talk = View((
        Turn(1, "agent", "it is 1,250.50"),
        Turn(2, "agent", "", tool_calls=(call,)),
        Turn(3, "agent", "1250.5 on May 20 for 77 and 99"),
    ))  # fmt: skip
    result = ask("number_whitelist", {"tools": True}, talk)
    assert [(each.turn, each.quote) for each in result.evidence] == [(1, "1,250.50"), (3, "99")]
    assert len(ask("number_whitelist", {}, talk).evidence) == 5


def test_the_prompt_counts_unless_it_shall_not() -> None:
    talk = view("a: 48小时内", prompt="请在48小时内办理")
    assert ask("number_whitelist", {}, talk).score == 1
    assert ask("number_whitelist", {"prompt": False}, talk).score == 0


def test_arithmetic_needs_its_terms_in_the_same_turn() -> None:
    variables: dict[str, object] = {"fare": 120, "bag": 50}
    said = "a: The fare of $120 and a bag of $50 make $170, for two $340, less 10% $306"
    assert invented(said, variables=variables) == ["170", "340", "10%", "306"]
    assert invented(said, variables=variables, arithmetic=True, allow=["10%"]) == []
    assert invented("a: that is $333", variables=variables, arithmetic=True) == ["333"]


def test_what_was_worked_out_may_be_said_again() -> None:
    lines = ("a: 120 + 50 = 170", "a: so $170")
    assert invented(*lines, variables={"a": 120, "b": 50}, arithmetic=True) == []


def test_a_long_row_adds_up() -> None:
    said = "a: 11, 12, 13 and 14 make 50"
    assert invented(said, arithmetic=True, allow=[11, 12, 13, 14]) == []


def test_the_tail_of_a_known_code_is_known() -> None:
    variables: dict[str, object] = {"card": "credit_card_7504069"}
    assert invented("a: the card ending in 4069", variables=variables) == []
    assert invented("a: 尾号4069", variables=variables) == []
    assert invented("a: it costs 4069", variables=variables) == ["4069"]


def test_without_numbers_it_holds_and_without_turns_it_does_not_arise() -> None:
    result = ask("number_whitelist", None, view("a: hello"))
    assert (result.score, result.searched) == (1, (1,))
    assert score("number_whitelist", None, "u: 5") is None


def test_huge_numbers_are_no_trouble() -> None:
    digits = "9" * 5000
    assert invented(f"a: {digits}", variables={"n": 10**400}) == [digits]
    assert invented(f"a: {digits}", variables={"n": digits}) == []


def test_only_chosen_turns_are_judged() -> None:
    talk = View(turns("a: 7", "a: 8"))
    assert quotes(ask("number_whitelist", {"turns": "last"}, talk)) == ["8"]
