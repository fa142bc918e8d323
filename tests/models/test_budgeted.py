"""Every call is booked once, whatever becomes of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dialeval.errors import BudgetProblem, BudgetSpent, CassetteMiss, ProviderFault
from pytest_dialeval.models.budget import Amount, Budget, BudgetLimits, nanos
from pytest_dialeval.models.budgeted import Budgeted, check_prices, expected_usage
from pytest_dialeval.models.prices import Price, Prices
from pytest_dialeval.models.usage import Sum, UsageSink
from pytest_dialeval.records.model import ChatAnswer
from pytest_dialeval.records.transcript import Usage

from .scripted_chat import SPEC, USAGE, Clock, ScriptedChat, a_call, ask

PRICES = Prices({"gpt-4o-mini": Price(input=2, output=8, cached=0.5)})
COST = 0.00225  # of USAGE: 900 x 2 + 100 x 0.5 + 50 x 8, by the million
CALL = a_call()
EXPECTED = expected_usage(CALL)


class Shop:
    """A model, a budget, and the books of both."""

    def __init__(self, limits: BudgetLimits, *script: ChatAnswer | BaseException | str) -> None:
        self.clock = Clock()
        self.model = ScriptedChat(*script)
        self.budget = Budget(limits, clock=self.clock)
        self.sink = UsageSink()
        self.chat = Budgeted(self.model, self.budget, self.sink, PRICES, clock=self.clock)


def estimated() -> Amount:
    tokens = (EXPECTED.input_tokens or 0) + (EXPECTED.output_tokens or 0)
    return Amount(1, tokens, nanos(PRICES.cost(SPEC, EXPECTED) or 0))


def test_an_answer_is_booked_as_it_was_and_has_its_cost() -> None:
    shop = Shop(BudgetLimits(usd=1), ChatAnswer("At 9.", usage=USAGE, tries=3, seconds=2.0))
    [answer] = ask(shop.chat, [CALL])
    assert answer.usage == replace(USAGE, cost_usd=pytest.approx(COST))
    assert shop.budget.spent == Amount(3, 1050, nanos(COST))
    assert shop.budget.held == Amount()
    total = shop.sink.total()
    assert (total.calls, total.tries, total.failed) == (1, 3, 0)
    assert total.cost_usd.value == pytest.approx(COST)
    assert total.seconds.value == 2


def test_tokens_that_are_not_told_are_booked_as_expected_and_reported_as_unknown() -> None:
    shop = Shop(BudgetLimits(usd=1), ChatAnswer("At 9."))
    [answer] = ask(shop.chat, [CALL])
    assert answer.usage == Usage()
    assert shop.budget.spent == estimated()
    assert shop.sink.total().cost_usd == Sum(0, 1)


def test_an_unknown_price_is_no_matter_where_money_is_not_bounded() -> None:
    shop = Shop(BudgetLimits(calls=5), ChatAnswer("At 9.", usage=USAGE))
    [answer] = ask(shop.chat, [a_call(model="unheard-of")])
    assert answer.usage.cost_usd is None
    assert shop.budget.spent == Amount(1, 1050)


@pytest.mark.parametrize(
    ("fault", "spent", "unknown"),
    [
        (ProviderFault("429", status=429, tries=6), Amount(6), 0),
        (ProviderFault("401", status=401, transient=False), Amount(1), 0),
        (ProviderFault("no key", transient=False, tries=0), Amount(), 0),
        (ProviderFault("reset", tries=2), replace(estimated(), calls=2), 1),
        (ProviderFault("cut off", status=200), estimated(), 1),
        (RuntimeError("a bug"), estimated(), 1),
        (TimeoutError(), estimated(), 1),
    ],
)
def test_a_failed_call_is_booked(fault: Exception, spent: Amount, unknown: int) -> None:
    shop = Shop(BudgetLimits(usd=1), fault)
    with pytest.raises(type(fault)):
        ask(shop.chat, [CALL])
    assert shop.budget.spent == spent
    assert shop.budget.held == Amount()
    assert shop.sink.total().failed == 1
    assert shop.sink.total().tries == spent.calls
    assert shop.sink.total().cost_usd == Sum(0, unknown)


def test_a_cancelled_call_is_booked_as_expected() -> None:
    shop = Shop(BudgetLimits(usd=1), "never")

    async def cut() -> None:
        shop.model.gate = asyncio.Event()
        task = asyncio.create_task(shop.chat.chat(CALL, deadline=5))
        await asyncio.sleep(0)
        assert shop.budget.held == estimated()
        shop.clock.now += 3
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cut())
    assert (shop.budget.spent, shop.budget.held) == (estimated(), Amount())
    assert shop.sink.total().seconds.value == 3


def test_a_call_that_nobody_made_is_not_booked() -> None:
    shop = Shop(BudgetLimits(usd=1), CassetteMiss("not recorded"))
    with pytest.raises(CassetteMiss):
        ask(shop.chat, [CALL])
    assert shop.budget.spent == shop.budget.held == Amount()
    assert shop.sink.total().failed == 0


def test_used_up_means_no_call() -> None:
    shop = Shop(BudgetLimits(calls=2), "At 9.")
    ask(shop.chat, [CALL, CALL])
    with pytest.raises(BudgetSpent, match="calls=2 is used up"):
        ask(shop.chat, [CALL])
    assert len(shop.model.calls) == 2
    assert shop.sink.total().calls == 2


def test_the_wait_for_the_budget_is_part_of_the_deadline() -> None:
    shop = Shop(BudgetLimits(tokens=1500), ChatAnswer("x", usage=Usage(1, 0, 1)))

    async def run() -> None:
        shop.model.gate = asyncio.Event()
        first, second = (asyncio.create_task(shop.chat.chat(CALL, deadline=30)) for _ in "12")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(shop.model.calls) == 1
        shop.clock.now += 12
        shop.model.gate.set()
        await asyncio.gather(first, second)

    asyncio.run(run())
    assert shop.model.deadlines == [30, 18]
    assert shop.budget.spent == Amount(2, 4)


def test_a_price_that_is_unknown_is_an_error_that_names_the_model() -> None:
    local = replace(SPEC, endpoint="vllm", model="qwen")
    with pytest.raises(BudgetProblem) as caught:
        check_prices(BudgetLimits(usd=5), [SPEC, local, local], PRICES)
    assert str(caught.value) == (
        "usd=5 cannot be kept: the price of 'vllm:qwen' is unknown; give it in USD per million "
        'tokens, [tool.dialeval.prices] "vllm:qwen" = {input = 0.5, output = 1.5}, '
        "or bound calls or tokens instead"
    )
    check_prices(BudgetLimits(usd=5), [SPEC], PRICES)
    check_prices(BudgetLimits(calls=5), [local], PRICES)
    shop = Shop(BudgetLimits(usd=5), "x")
    with pytest.raises(BudgetProblem, match="'openai:unheard-of'"):
        ask(shop.chat, [a_call(model="unheard-of")])
    assert not shop.model.calls


@pytest.mark.parametrize(
    ("words", "at_least"),
    [("word " * 1000, 1000), ("退款需要三天。" * 100, 500), ("", 1)],
)
def test_the_input_is_expected_dear_rather_than_cheap(words: str, at_least: int) -> None:
    assert (expected_usage(a_call(words)).input_tokens or 0) >= at_least


def test_the_output_is_expected_as_bounded() -> None:
    assert EXPECTED.output_tokens == 1024
    assert expected_usage(a_call(spec=replace(SPEC, max_tokens=7))).output_tokens == 7


outcomes = st.sampled_from(
    [
        ChatAnswer("x", usage=USAGE),
        ChatAnswer("x"),
        ChatAnswer("x", usage=USAGE, tries=4),
        ProviderFault("503", status=503, tries=6),
        ProviderFault("reset"),
        RuntimeError("a bug"),
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(outcomes, min_size=1), st.integers(0, 12), st.integers(1, 8))
def test_never_more_than_the_calls_in_flight_beyond_the_limit(
    script: list[ChatAnswer | BaseException], calls: int, at_once: int
) -> None:
    shop = Shop(BudgetLimits(calls=calls), *script)

    async def run() -> None:
        waiting = asyncio.Semaphore(at_once)

        async def one() -> object:
            async with waiting:
                return await shop.chat.chat(CALL, deadline=5)

        await asyncio.gather(*(one() for _ in range(20)), return_exceptions=True)

    asyncio.run(run())
    total, made = shop.sink.total(), len(shop.model.calls)
    assert shop.budget.held == Amount()
    assert total.calls + total.failed == made
    assert total.tries == shop.budget.spent.calls
    assert made <= calls
    assert shop.budget.spent.calls <= calls + at_once * 5  # a call may take six tries
