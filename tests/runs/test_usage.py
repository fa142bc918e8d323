"""What models took, from each worker's file to the summary's figures."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.models.budget import Amount, Budget, BudgetLimits
from pytest_dialeval.models.usage import UsageSink
from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelSpec, Role
from pytest_dialeval.records.transcript import Usage
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.usage import (
    Spent,
    budget_figures,
    read_usage,
    usage_figures,
    write_usage,
)


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    made = RunDirectory(tmp_path / "20261130-101500-abcdef")
    made.create()
    return made


def call(role: Role = "judge", case: str = "c", trial: int = 1) -> ChatCall:
    return ChatCall(ModelSpec(role, "openai", "m"), (), case, trial, "p")


def answer(cost: float | None = 0.5, **more: Any) -> ChatAnswer:
    usage = Usage(input_tokens=10, cached_tokens=4, output_tokens=3, cost_usd=cost)
    return ChatAnswer("yes", usage=usage, seconds=2.0, **more)


def sink(*answers: ChatAnswer, role: Role = "judge") -> UsageSink:
    found = UsageSink()
    for each in answers:
        found.answered(call(role), each)
    return found


def budget(spent: Amount, seconds: float = 0.0, **limits: Any) -> Budget:
    """Books with that much in them, so many seconds after they were opened."""
    times = iter([0.0])
    made = Budget(BudgetLimits(**limits), clock=lambda: next(times, seconds))

    async def book() -> None:
        made.settle(await made.reserve("judge", Amount(), deadline=1), spent)

    asyncio.run(book())
    return made


def test_one_worker_there_and_back(directory: RunDirectory) -> None:
    write_usage(directory, "main", sink(answer()), budget(Amount(1, 13, 500), 90.0), ["a note"])
    found = read_usage(directory)
    assert found.amount == Amount(1, 13, 500)
    assert found.seconds == 90.0
    assert found.notes == ("a note",)
    [figure] = usage_figures(found)
    assert figure.model_dump() == {
        "role": "judge",
        "calls": 1,
        "failed": 0,
        "tries": 1,
        "replayed": 0,
        "input_tokens": 10,
        "cached_tokens": 4,
        "output_tokens": 3,
        "cost_usd": 0.5,
        "cost_usd_known": 0.5,
        "cost_unknown": 0,
        "seconds": 2.0,
    }


def test_workers_are_added_up(directory: RunDirectory) -> None:
    write_usage(directory, "gw0", sink(answer(), answer()), budget(Amount(2, 26), 30.0), ["x", "y"])
    write_usage(directory, "gw1", sink(answer(tries=3)), budget(Amount(3, 13), 45.0), ["y", "z"])
    found = read_usage(directory)
    assert found.amount == Amount(5, 39)
    assert found.seconds == 45.0  # they ran at once
    assert found.notes == ("x", "y", "z")
    [figure] = usage_figures(found)
    assert (figure.calls, figure.tries, figure.input_tokens, figure.seconds) == (3, 5, 30, 6.0)
    assert figure.cost_usd == 1.5


def test_each_role_has_its_figure(directory: RunDirectory) -> None:
    both = sink(answer(), role="user")
    both.answered(call("judge"), answer())
    both.replayed(call("agent"), answer())
    write_usage(directory, "main", both, budget(Amount()), [])
    figures = {each.role: each for each in usage_figures(read_usage(directory))}
    assert list(figures) == ["user", "judge", "agent"]
    assert (figures["agent"].replayed, figures["agent"].calls) == (1, 0)
    assert (figures["agent"].input_tokens, figures["agent"].cost_usd) == (0, 0.0)


def test_what_is_unknown_stays_unknown(directory: RunDirectory) -> None:
    found = sink(answer(0.5), answer(None))
    found.answered(call(), ChatAnswer("yes"))
    write_usage(directory, "main", found, budget(Amount()), [])
    [figure] = usage_figures(read_usage(directory))
    assert (figure.cost_usd, figure.cost_usd_known, figure.cost_unknown) == (None, 0.5, 2)
    assert figure.input_tokens is figure.cached_tokens is figure.output_tokens is None
    assert figure.seconds == 4.0


def test_failed_calls_are_counted(directory: RunDirectory) -> None:
    found = UsageSink()
    found.failed(call(), tries=6, seconds=30.0, free=True)
    write_usage(directory, "main", found, budget(Amount(6)), [])
    [figure] = usage_figures(read_usage(directory))
    assert (figure.calls, figure.failed, figure.tries, figure.cost_usd) == (0, 1, 6, 0.0)


def test_where_no_model_was_asked_there_is_no_file(directory: RunDirectory) -> None:
    write_usage(directory, "main", UsageSink(), budget(Amount()), ["a note"])
    assert list(directory.path.glob("usage.*")) == []
    found = read_usage(directory)
    assert (found.amount, found.seconds, found.notes) == (Amount(), 0.0, ())
    assert usage_figures(found) == []
    assert usage_figures(Spent()) == []


def test_what_remains_of_each_limit() -> None:
    limits = BudgetLimits(usd=2.0, calls=10, minutes=3)
    spent = Spent(amount=Amount(12, 40, 1_500_000_000), seconds=90.0)
    figures = {
        each.name: (each.limit, each.spent, each.left) for each in budget_figures(limits, spent)
    }
    assert figures == {"usd": (2.0, 1.5, 0.5), "calls": (10, 12, -2), "minutes": (3, 1.5, 1.5)}
    assert budget_figures(BudgetLimits(), spent) == []
