from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.matching import negation
from pytest_dialeval.matching.negation import is_negated
from pytest_dialeval.matching.normal import normal
from tests.matching.asking import unhurried

DENIED_ZH = """
不能保证退款
我们无法为您保证退款
并不能保证退款
不代表我们保证退款
绝不保证退款
没办法保证退款
不能在今天为您保证退款
请不要相信保证退款的广告
保证退款是不可能的
保证退款我们做不到
我们不能承诺赔偿、保证退款
我们没说保证退款
我们不会也不能保证退款
没有哪个平台敢保证退款
不一定保证退款
如果超过7天不能保证退款
恕不保证退款
您好，很抱歉不能保证退款，请谅解
""".split()
SAID_ZH = """
我们保证退款
不是不能保证退款
我们并不是不能保证退款
没有人说不能保证退款
不得不保证退款
不仅保证退款
无条件保证退款
七天无理由保证退款
不能取消，但是保证退款
不能取消但保证退款
我们不能取消订单。保证退款
不用担心保证退款
没问题保证退款
不好意思我们保证退款
不满意我们保证退款
不满意就保证退款
如果不满意保证退款
如果不能按时送达保证退款
我们保证退款不收手续费
我们不收手续费保证退款
不影响保证退款
绝不食言保证退款
请放心不会让您吃亏保证退款
""".split()
DENIED_EN = """
we can't promise a refund
We can’t promise you a refund
We cannot guarantee a refund
I'm unable to give you a refund
There is no refund
a refund is not possible
a refund isn't something we offer
we never promise a refund
we neither promise nor give a refund
I'm not sure I can promise a refund
we do not think you'll get a refund
This does not mean we promise a refund
nobody can promise a refund
We cannot and will not give a refund
it is impossible to guarantee a refund
a no-refund policy
You are not eligible for a refund
We can't say if a refund is due
"""
SAID_EN = """
we promise a refund
We can't do that, we guarantee a refund
It's not that we can't promise a refund
we can't not give a refund
we not only promise a refund
don't worry you get a refund
no problem, a refund it is
If you are not satisfied we guarantee a refund
if you are not satisfied you get a refund
We guarantee a refund with no questions asked
your refund won't take long
a no-questions-asked refund
You don't need to do anything to get a refund
it won't affect your refund
I can't wait to give you a refund
we never fail to give a refund
No we guarantee a refund
We can't cancel it and will give a refund
We do not ship there. A refund is due
"""

# One of a row is asked about; the phrase is "refund", wherever it stands in it.
LISTS_DENIED_EN = """
we never offer refunds, discounts, or credits
we never offer discounts, refunds, or credits
we never offer discounts, credits, or refunds
We never offer discounts, store credits, free returns, or full refunds.
we never offer discounts, refunds or credits
we never offer discounts, credits or refunds, I'm afraid
We can't promise a discount, a refund, or any credit to you.
I cannot, unfortunately, offer discounts, refunds, or credits
I'm not able to issue credits, refunds, or vouchers for this order
We do not ship abroad, give refunds, or take returns.
Sorry, we don't do discounts, refunds, or credits here
"""
LISTS_SAID_EN = """
we offer discounts, refunds, or credits
We can't ship there, refunds are due
We can't ship there, refunds or credits apply
We can't ship there, refunds or credits are available
We can't ship there, full refunds, or store credits may be had
We can't ship there, a refund, or you get credits
We do not ship there, we give discounts, refunds, or credits
If you're not happy, discounts, refunds, or credits are offered
If you are not happy, we offer discounts, refunds, or credits.
Don't wait, call, or email for a refund
No, refunds, discounts, or credits.
No problem, refunds, discounts, or credits
Would you not like discounts, refunds, or credits?
We never fail. Discounts, refunds, or credits
We can't do that\\nDiscounts, refunds, or credits
It's not that we can't offer discounts, refunds, or credits
"""


def denied(text: str, phrase: str) -> bool:
    place = normal(text)
    start = place.text.rindex(phrase)
    return is_negated(place, start, start + len(phrase))


@pytest.mark.parametrize("text", DENIED_ZH)
def test_denied_in_chinese(text: str) -> None:
    assert denied(text, "保证退款")


@pytest.mark.parametrize("text", SAID_ZH)
def test_said_in_chinese(text: str) -> None:
    assert not denied(text, "保证退款")


@pytest.mark.parametrize("text", DENIED_EN.strip().splitlines())
def test_denied_in_english(text: str) -> None:
    assert denied(text, "refund")


@pytest.mark.parametrize("text", SAID_EN.strip().splitlines())
def test_said_in_english(text: str) -> None:
    assert not denied(text, "refund")


@pytest.mark.parametrize("text", LISTS_DENIED_EN.strip().splitlines())
def test_a_whole_list_is_denied_in_english(text: str) -> None:
    assert denied(text, "refund")


@pytest.mark.parametrize("text", LISTS_SAID_EN.strip().splitlines())
def test_no_list_is_denied_by_a_statement_before_it(text: str) -> None:
    assert denied(text.replace("\\n", "\n"), "refund") is False


@pytest.mark.parametrize("end", [" are due", "."])
def test_a_list_whose_end_is_not_read_is_in_doubt(end: str) -> None:
    before, last = "we don't ship there, refunds", "or credits"
    filler = "x" * (negation._READ_AT_MOST - len("s, , or credits"))  # reading ends behind `last`
    assert not denied(f"{before}, {filler}, {last}{end}", "refund")
    assert denied(f"{before}, {filler[3:]}, {last}.", "refund")


@pytest.mark.parametrize("unit", [", a", ", a or b", ", a b c d", ",", " a, or"])
def test_long_lists_take_no_quadratic_time(unit: str) -> None:
    place = normal(unit * (100_000 // len(unit)) + " refund")
    began = time.process_time()
    for start in range(len(place.text) - 6_000, len(place.text) - 6, 300):
        is_negated(place, start, start + 6)
    assert time.process_time() - began < 2


def test_two_negations_cancel_each_other() -> None:
    assert denied("我们不退款", "退款")
    assert denied("不会退款", "退款")
    assert not denied("保证不会不退款", "退款")


def test_a_line_break_ends_the_clause() -> None:
    assert denied("We do not ship; we never give a refund", "refund")
    assert not denied("We do not ship there\nA refund is due", "refund")
    assert not denied("不能取消\n保证退款", "保证退款")


@unhurried
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_can_be_asked_about(before: str, after: str) -> None:
    place = normal(f"{before}退款{after}")
    start = place.text.index("退款")
    assert is_negated(place, start, start + 2) in (True, False)
