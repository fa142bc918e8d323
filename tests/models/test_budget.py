"""The books: what may be spent, held, and what remains."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dialeval.errors import BudgetProblem, BudgetSpent
from pytest_dialeval.models.budget import (
    Amount,
    Budget,
    BudgetLimits,
    Reservation,
    divide,
    nanos,
    parse_budget,
    standings,
)
from pytest_dialeval.records.model import Role

from .scripted_chat import Clock

ONE = Amount(calls=1, tokens=100, nanos=nanos(0.01))


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("usd=5,calls=2000,tokens=1e6,minutes=30", BudgetLimits(5, 2000, 1_000_000, 30)),
        ("usd=0.5", BudgetLimits(usd=0.5)),
        (" calls = 10 , judge = 25% ,", BudgetLimits(calls=10, judge=0.25)),
        ("minutes=1.5,judge=0.1", BudgetLimits(minutes=1.5, judge=0.1)),
        ("calls=0", BudgetLimits(calls=0)),
    ],
)
def test_what_can_be_read(text: str, limits: BudgetLimits) -> None:
    assert parse_budget(text) == limits


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' names no limit; write them like usd=5,calls=2000"),
        ("judge=25%", "'judge=25%' names no limit"),
        ("dollars=5", "'dollars' is no limit; allowed: usd, calls, tokens, minutes, judge"),
        ("token=5", "'token' is no limit; did you mean 'tokens'? allowed: usd"),
        ("5", "'5' is no limit"),
        ("usd=five", "usd=five: 'five' is not a number of 0 or more"),
        ("usd=", "usd=: '' is not a number of 0 or more"),
        ("usd=-1", "usd=-1: '-1' is not a number of 0 or more"),
        ("usd=inf", "usd=inf: 'inf' is not a number of 0 or more"),
        ("usd=nan", "usd=nan: 'nan' is not a number of 0 or more"),
        ("usd=5%", "usd=5%: '5%' is not a number of 0 or more"),
        ("calls=1.5", "calls=1.5: '1.5' is not a whole number"),
        ("calls=1,judge=1", "judge=1: it is a share from 0 to 1, like 0.25 or 25%"),
        ("calls=1,judge=-5%", "judge=-5%: it is a share"),
        ("calls=1,calls=2", "'calls=1,calls=2': 'calls' stands there twice"),
    ],
)
def test_what_cannot(text: str, message: str) -> None:
    with pytest.raises(BudgetProblem) as caught:
        parse_budget(text)
    assert message in str(caught.value)


def reserve(budget: Budget, amount: Amount = ONE, role: Role = "agent") -> Reservation:
    return asyncio.run(budget.reserve(role, amount, deadline=5))


def spend(budget: Budget, amount: Amount = ONE, role: Role = "agent") -> None:
    budget.settle(reserve(budget, amount, role), amount)


@pytest.mark.parametrize(
    "limits",
    [BudgetLimits(calls=3), BudgetLimits(tokens=300), BudgetLimits(usd=0.03)],
)
def test_used_up(limits: BudgetLimits) -> None:
    budget = Budget(limits)
    for _ in range(3):
        spend(budget)
    with pytest.raises(BudgetSpent, match="is used up; budget: "):
        reserve(budget)
    assert budget.spent == Amount(3, 300, nanos(0.03))
    assert budget.held == Amount()


@pytest.mark.parametrize(
    ("limits", "need"),
    [(BudgetLimits(tokens=399), "100 tokens"), (BudgetLimits(usd=0.035), r"\$0\.01")],
)
def test_what_is_left_is_too_little(limits: BudgetLimits, need: str) -> None:
    budget = Budget(limits)
    for _ in range(3):
        spend(budget)
    words = f"the next call may take {need}, more than the budget of .* has left .`max_tokens`"
    with pytest.raises(BudgetSpent, match=words):
        reserve(budget)


def test_what_is_left_for_others_than_the_judge_is_too_little() -> None:
    budget = Budget(BudgetLimits(tokens=400, judge=0.5))
    spend(budget)
    spend(budget, Amount(1, 50))
    with pytest.raises(BudgetSpent, match="has left, but for what is kept for the judge"):
        reserve(budget)
    spend(budget, ONE, "judge")


def test_the_message_says_what_remains() -> None:
    budget = Budget(BudgetLimits(usd=5, calls=2), clock=Clock())
    spend(budget)
    assert str(budget) == "budget: $0.01 of $5, $4.99 left; calls 1 of 2, 1 left"
    spend(budget)
    with pytest.raises(BudgetSpent) as caught:
        reserve(budget)
    assert str(caught.value) == (
        "the budget of calls=2 is used up; budget: $0.02 of $5, $4.98 left; calls 2 of 2, 0 left"
    )
    assert budget.refused("user") == "the budget of calls=2 is used up"


def test_without_limits_all_may_be_spent() -> None:
    budget = Budget(BudgetLimits())
    spend(budget, Amount(10**6, 10**9, 10**15))
    reserve(budget)
    assert str(budget) == "budget: no limits"


def test_once_refused_always_refused() -> None:
    # Else a run would end in a hail of cheap calls, none of which completes a conversation.
    budget = Budget(BudgetLimits(tokens=150))
    spend(budget)
    with pytest.raises(BudgetSpent):
        reserve(budget)
    with pytest.raises(BudgetSpent):
        reserve(budget, Amount(calls=1, tokens=1))


def test_the_minutes_pass_for_all() -> None:
    clock = Clock()
    budget = Budget(BudgetLimits(minutes=2), clock=clock)
    clock.now += 119
    held = reserve(budget)
    clock.now += 1
    with pytest.raises(BudgetSpent, match="minutes=2 is used up; budget: minutes 2 of 2, 0 left"):
        reserve(budget)
    budget.settle(held, ONE)


def test_the_judges_share_is_left_to_it() -> None:
    budget = Budget(BudgetLimits(calls=8, judge=0.25))
    for _ in range(6):
        spend(budget, role="user")
    with pytest.raises(BudgetSpent, match="calls=8 is used up, but for what is kept for the judge"):
        reserve(budget, role="agent")
    assert budget.refused("judge") is None
    for _ in range(2):
        spend(budget, role="judge")
    with pytest.raises(BudgetSpent, match="calls=8 is used up; "):
        reserve(budget, role="judge")


def test_a_judge_that_comes_first_takes_its_share_first() -> None:
    budget = Budget(BudgetLimits(calls=8, judge=0.25))
    for _ in range(2):
        spend(budget, role="judge")
    for _ in range(6):
        spend(budget, role="agent")
    for role in ("agent", "judge"):
        with pytest.raises(BudgetSpent):
            reserve(budget, role=role)  # type: ignore[arg-type]


def test_the_judges_share_of_the_time() -> None:
    clock = Clock()
    budget = Budget(BudgetLimits(minutes=10, judge=0.5), clock=clock)
    clock.now += 300
    with pytest.raises(BudgetSpent):
        reserve(budget)
    reserve(budget, role="judge")


def test_a_second_settlement_does_nothing() -> None:
    budget = Budget(BudgetLimits())
    held = reserve(budget)
    budget.settle(held, ONE)
    budget.settle(held, ONE)
    assert (budget.spent, budget.held) == (ONE, Amount())


def test_who_may_get_it_later_waits() -> None:
    async def run() -> None:
        budget = Budget(BudgetLimits(tokens=150))
        first = await budget.reserve("agent", ONE, deadline=5)
        second = asyncio.create_task(budget.reserve("agent", ONE, deadline=5))
        await asyncio.sleep(0)
        assert not second.done()
        budget.settle(first, Amount(1, 10, 0))  # it took less than was held for it
        assert await second
        assert budget.held == ONE

    asyncio.run(run())


def test_who_waited_in_vain_is_told() -> None:
    async def run() -> None:
        budget = Budget(BudgetLimits(tokens=150))
        first = await budget.reserve("agent", ONE, deadline=5)
        waiting = [asyncio.create_task(budget.reserve("agent", ONE, deadline=5)) for _ in range(3)]
        await asyncio.sleep(0)
        budget.settle(first, ONE)
        for each in waiting:
            with pytest.raises(BudgetSpent, match="may take 100 tokens, more than"):
                await each

    asyncio.run(run())


def test_nobody_waits_beyond_the_deadline() -> None:
    async def run() -> None:
        budget = Budget(BudgetLimits(tokens=150))
        held = await budget.reserve("agent", ONE, deadline=5)
        with pytest.raises(BudgetSpent, match="became free within 0 s"):
            await budget.reserve("agent", ONE, deadline=0)
        budget.settle(held, Amount(1))
        assert await budget.reserve("agent", ONE, deadline=5)

    asyncio.run(run())


def test_who_is_cancelled_while_waiting_holds_nothing() -> None:
    async def run() -> None:
        budget = Budget(BudgetLimits(tokens=150))
        await budget.reserve("agent", ONE, deadline=5)
        waiting = asyncio.create_task(budget.reserve("agent", ONE, deadline=5))
        await asyncio.sleep(0)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        assert budget.held == ONE

    asyncio.run(run())


limits = st.builds(
    BudgetLimits,
    usd=st.none() | st.integers(0, 500).map(lambda cents: cents / 100),
    calls=st.none() | st.integers(0, 60),
    tokens=st.none() | st.integers(0, 600),
    judge=st.sampled_from([0.0, 0.1, 0.25, 0.9]),
)


@given(limits, st.integers(1, 9))
def test_workers_share_the_whole(whole: BudgetLimits, workers: int) -> None:
    parts = divide(whole, workers)
    assert len(parts) == workers
    for name in ("calls", "tokens"):
        given_to = [getattr(each, name) for each in parts]
        if getattr(whole, name) is None:
            assert given_to == [None] * workers
        else:
            assert sum(given_to) == getattr(whole, name)
            assert max(given_to) - min(given_to) <= 1
    if whole.usd is not None:
        assert sum(nanos(each.usd or 0) for each in parts) == nanos(whole.usd)
    assert {each.judge for each in parts} == {whole.judge}


def test_the_minutes_are_not_divided() -> None:
    assert [each.minutes for each in divide(BudgetLimits(minutes=30, calls=3), 2)] == [30, 30]


def test_what_remains_of_several_workers() -> None:
    spent = Amount(2, 100, nanos(1.5)) + Amount(1, 0, 0)
    lines = [str(each) for each in standings(BudgetLimits(2, 10, None, 30), spent, 90)]
    assert lines == [
        "$1.5 of $2, $0.5 left",
        "calls 3 of 10, 7 left",
        "minutes 1.5 of 30, 28.5 left",
    ]


amounts = st.builds(Amount, st.integers(0, 6), st.integers(0, 90), st.integers(0, 10**9))


@dataclass(frozen=True)
class Step:
    """Reserve, or settle the n-th of those that are open."""

    role: Role
    amount: Amount
    settles: int | None


steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(["agent", "user", "judge"]),
        amounts,
        st.none() | st.integers(0, 9),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(limits, steps)
def test_the_books_balance_and_nothing_is_promised_twice(
    whole: BudgetLimits, held_and_spent: list[Step]
) -> None:
    budget = Budget(whole)
    opened: list[Reservation] = []
    booked: list[tuple[Role, Amount]] = []
    over = Amount()  # what calls took beyond what was held for them

    def check() -> None:
        assert budget.held == sum((each.amount for each in opened), Amount())
        assert budget.spent == sum((each for _, each in booked), Amount())
        promised = budget.spent + budget.held
        for name, end in ends(whole).items():
            assert getattr(promised, name) <= end + getattr(over, name)
            others = sum(
                (each for role, each in booked if role != "judge"),
                sum((each.amount for each in opened if each.role != "judge"), Amount()),
            )
            assert getattr(others, name) <= end * (1 - whole.judge) + getattr(over, name)

    async def run() -> None:
        nonlocal over
        for step in held_and_spent:
            if step.settles is None:
                with suppress(BudgetSpent):
                    opened.append(await budget.reserve(step.role, step.amount, deadline=0))
            elif opened:
                held = opened.pop(step.settles % len(opened))
                budget.settle(held, step.amount)
                booked.append((held.role, step.amount))
                over += positive(step.amount, held.amount)
            check()
        for held in opened[:]:
            opened.remove(held)
            budget.settle(held, held.amount)
            booked.append((held.role, held.amount))
            check()
        assert budget.held == Amount()

    asyncio.run(run())


def ends(whole: BudgetLimits) -> dict[str, int]:
    money = None if whole.usd is None else nanos(whole.usd)
    every = {"calls": whole.calls, "tokens": whole.tokens, "nanos": money}
    return {name: end for name, end in every.items() if end is not None}


def positive(taken: Amount, held: Amount) -> Amount:
    """By how much a call took more than was held for it."""
    return Amount(
        max(taken.calls - held.calls, 0),
        max(taken.tokens - held.tokens, 0),
        max(taken.nanos - held.nanos, 0),
    )
