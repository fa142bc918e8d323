"""Waits between tries, and what endpoints say about them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.models.retry import Patience, may_pass, retry_after_of

from .server import call_to

NOW = "Wed, 21 Oct 2026 07:28:00 GMT"


@given(st.integers(1, 10**6), st.text(max_size=20))
def test_six_tries_span_more_than_25_seconds(trial: int, purpose: str) -> None:
    patience, call = Patience(), call_to("", trial=trial, purpose=purpose)
    waits = [patience.wait(call, tries) for tries in range(1, patience.tries)]
    assert len(waits) == 5
    assert 25 < sum(waits) < 39
    assert waits == sorted(waits)


def test_waits_are_the_same_in_every_run_and_differ_between_calls() -> None:
    patience = Patience()
    waits = [patience.wait(call_to("", trial=trial), 1) for trial in range(50)]
    assert waits == [patience.wait(call_to("", trial=trial), 1) for trial in range(50)]
    assert len(set(waits)) == 50
    assert max(waits) - min(waits) > 0.25  # of 0.375


def test_retry_after_is_the_least_wait() -> None:
    patience, call = Patience(), call_to("")
    assert patience.wait(call, 1, 30.0) == 30
    assert patience.wait(call, 5, 0.0) >= 14


@pytest.mark.parametrize(("left", "share"), [(60, 45), (24, 20), (20, 20), (3, 3), (400, 300)])
def test_a_try_leaves_time_for_another(left: float, share: float) -> None:
    assert Patience.share(left) == share


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": NOW}, 30),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:00 GMT", "date": NOW}, 0),
        ({"retry-after": "Wed, 99 Oct 2026 07:27:00 GMT", "date": NOW}, None),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:30 GMT", "date": "broken"}, 0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 -1200"}, None),
        ({"retry-after": "Mon, 1 Jan 99999999999999 00:00:00 GMT"}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_of(headers) == seconds


def test_without_the_endpoints_clock_ours_has_to_do() -> None:
    found = retry_after_of({"retry-after": "Wed, 21 Oct 2099 07:28:30 GMT"})
    assert found is not None and found > 10**9


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_header_breaks_anything(after: str, date: str) -> None:
    found = retry_after_of({"retry-after": after, "date": date})
    assert found is None or found >= 0


def test_what_may_pass() -> None:
    assert all(may_pass(status) for status in (408, 429, 500, 502, 503, 504, 529))
    assert not any(may_pass(status) for status in (301, 400, 401, 402, 403, 404, 413, 422, 501))
    assert not may_pass(429, "insufficient_quota")
