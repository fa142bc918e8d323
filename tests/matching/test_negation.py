from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
