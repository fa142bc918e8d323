"""Sums by role and trial, in which unknown stays unknown."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dialeval.models.usage import Sum, Tally, UsageSink
from pytest_dialeval.records.model import ChatAnswer, Role
from pytest_dialeval.records.transcript import Usage

from .scripted_chat import USAGE, a_call

PAID = ChatAnswer("x", usage=replace(USAGE, cost_usd=0.25), seconds=1.5, tries=2)
UNKNOWN = ChatAnswer("x")


def test_known_figures_are_summed() -> None:
    sink = UsageSink()
    sink.answered(a_call(), PAID)
    sink.answered(a_call(trial=2), PAID)
    total = sink.total()
    assert (total.calls, total.tries, total.failed, total.replayed) == (2, 4, 0, 0)
    assert total.input_tokens.value == 2000
    assert total.cached_tokens.value == 200
    assert total.output_tokens.value == 100
    assert (total.cost_usd.value, total.seconds.value) == (0.5, 3.0)


def test_one_unknown_makes_the_sum_unknown_and_hides_no_other() -> None:
    sink = UsageSink()
    sink.answered(a_call(), PAID)
    sink.answered(a_call(), UNKNOWN)
    assert sink.total().cost_usd == Sum(0.25, 1)
    assert sink.total().cost_usd.value is None
    sink.answered(a_call(role="judge"), PAID)
    assert sink.per_role()["judge"].cost_usd.value == 0.25


def test_a_failed_call_is_counted_and_its_cost_unknown_unless_it_was_refused() -> None:
    sink = UsageSink()
    sink.failed(a_call(), tries=6, seconds=30, free=True)
    assert sink.total() == Tally(failed=1, tries=6, seconds=Sum(30))
    sink.failed(a_call(), tries=1, seconds=5)
    assert sink.total().cost_usd == Sum(0, 1)
    assert sink.total().seconds.value == 35


def test_a_replayed_call_took_nothing() -> None:
    sink = UsageSink()
    sink.replayed(a_call(), PAID)
    assert sink.total() == Tally(replayed=1)
    assert sink.total().cost_usd.value == 0


def test_by_role_and_by_trial() -> None:
    sink = UsageSink()
    roles: tuple[Role, ...] = ("user", "agent", "judge")
    for trial in (1, 2):
        for role in roles:
            sink.answered(a_call(role=role, trial=trial), PAID)
    sink.answered(a_call(role="user", case="other"), PAID)
    assert {role: each.calls for role, each in sink.per_role().items()} == {
        "user": 3,
        "agent": 2,
        "judge": 2,
    }
    rows = [(each["case"], each["trial"], each["role"], each["calls"]) for each in sink.encode()]
    assert sorted(rows, key=str) == sorted(
        [
            *(("hours.clerk.caller", trial, role, 1) for trial in (1, 2) for role in roles),
            ("other", 1, "user", 1),
        ],
        key=str,
    )


def test_nothing_is_zero_not_unknown() -> None:
    assert UsageSink().total() == Tally()
    assert Tally().cost_usd.value == 0


answered = st.builds(
    Usage, st.none() | st.integers(0, 99), st.none() | st.integers(0, 9), st.just(1), st.none()
).map(lambda usage: ChatAnswer("x", usage=usage))
events = st.lists(
    st.tuples(st.sampled_from(["agent", "user", "judge"]), st.integers(1, 3), answered)
)


@settings(max_examples=60, deadline=None)
@given(events, events)
def test_two_workers_are_one(
    one: list[tuple[Role, int, ChatAnswer]], two: list[tuple[Role, int, ChatAnswer]]
) -> None:
    sinks = [UsageSink(), UsageSink(), UsageSink()]
    for sink, held in zip(sinks, (one, two, one + two), strict=True):
        for role, trial, answer in held:
            sink.answered(a_call(role=role, trial=trial), answer)
    summed = UsageSink()
    for sink in sinks[:2]:
        summed.take(json.loads(json.dumps(sink.encode())))
    assert summed.total() == sinks[2].total()
    assert summed.per_role() == sinks[2].per_role()
    assert sorted(summed.encode(), key=str) == sorted(sinks[2].encode(), key=str)
    roles = summed.per_role().values()
    assert sum(each.calls for each in roles) == summed.total().calls
    assert sum(each.tries for each in roles) == summed.total().tries
    for name in ("known", "unknown"):
        parts = sum(getattr(each.input_tokens, name) for each in roles)
        assert parts == getattr(summed.total().input_tokens, name)
