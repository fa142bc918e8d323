"""What a call costs, and where that is not known."""

from __future__ import annotations

from dataclasses import replace

import genai_prices
import pytest
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.errors import BudgetProblem
from pytest_dialeval.models.prices import Price, Prices, read_prices
from pytest_dialeval.records.transcript import Usage

from .scripted_chat import SPEC, USAGE

LOCAL = replace(SPEC, endpoint="vllm", model="qwen")


def test_by_hand() -> None:
    # 900 fresh, 100 cached and 50 output tokens at 2, 0.5 and 8 USD per million.
    assert Price(2, 8, 0.5).cost(USAGE) == pytest.approx(0.00225)
    assert Price(2, 8).cost(USAGE) == pytest.approx(0.0024)
    assert Price(0, 0).cost(USAGE) == 0


@pytest.mark.parametrize("usage", [Usage(), Usage(3), Usage(output_tokens=3)])
def test_unknown_tokens_have_no_cost(usage: Usage) -> None:
    assert Price(2, 8).cost(usage) is None
    assert Prices().cost(SPEC, usage) is None


def test_more_cached_than_there_are() -> None:
    assert Price(2, 8, 0.5).cost(Usage(100, 900, 0)) == pytest.approx(0.00005)


def test_what_the_endpoint_says_comes_first_then_the_table() -> None:
    prices = Prices({"qwen": Price(1, 1), "vllm:qwen": Price(2, 2), "gpt-4o-mini": Price(3, 3)})
    tokens = Usage(1_000_000, 0, 0)
    assert prices.cost(LOCAL, replace(tokens, cost_usd=0.125)) == 0.125
    assert prices.cost(LOCAL, tokens) == 2
    assert prices.cost(replace(LOCAL, endpoint="ollama"), tokens) == 1
    assert prices.cost(SPEC, tokens) == 3


def test_the_package_knows_a_vendors_models() -> None:
    # gpt-4o-mini: 0.15 fresh, 0.075 cached, 0.6 output.
    cost = (900 * 0.15 + 100 * 0.075 + 50 * 0.6) / 1_000_000
    assert Prices().cost(SPEC, USAGE) == pytest.approx(cost)
    at_home = replace(SPEC, base_url="https://api.openai.com/v1")
    assert Prices().cost(at_home, USAGE) == pytest.approx(cost)


@pytest.mark.parametrize(
    "spec",
    [
        LOCAL,
        replace(SPEC, model="no-such-model"),
        replace(SPEC, base_url="http://localhost:8000/v1"),
        replace(SPEC, endpoint="python:client.py:client"),
    ],
)
def test_others_are_unknown_not_free(spec: object) -> None:
    assert Prices().cost(spec, USAGE) is None  # type: ignore[arg-type]
    assert not Prices().known(spec)  # type: ignore[arg-type]


@pytest.mark.parametrize("tokens", [(1000, 100, 50), (90_000, 0, 10), (300_000, 1000, 3)])
def test_the_price_that_is_kept_is_the_packages_for_every_model(
    tokens: tuple[int, int, int],
) -> None:
    fresh, cached, output = tokens
    usage = genai_prices.Usage(input_tokens=fresh, cache_read_tokens=cached, output_tokens=output)
    prices, compared = Prices(), 0
    for vendor in get_snapshot().providers:
        for model in vendor.models if vendor.id in ("openai", "deepseek") else []:
            try:
                listed = genai_prices.calc_price(usage, model.id, provider_id=vendor.id)
            except (LookupError, ValueError):
                continue
            spec = replace(SPEC, endpoint=vendor.id, model=model.id)
            ours = prices.cost(spec, Usage(fresh, cached, output))
            assert ours == pytest.approx(float(listed.total_price)), model.id
            compared += 1
    assert compared > 50


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7))
def test_more_tokens_never_cost_less(fresh: int, cached: int, output: int) -> None:
    price = Price(2, 8, 0.5)
    cost = price.cost(Usage(fresh, cached, output))
    more = price.cost(Usage(fresh + 1, cached, output + 1))
    assert cost is not None and more is not None and 0 <= cost <= more


def test_the_users_table() -> None:
    assert read_prices(
        {"vllm:qwen": {"input": 0, "output": 1.5, "cached": 0.5}, "m": {"input": 1, "output": 2}}
    ) == {"vllm:qwen": Price(0, 1.5, 0.5), "m": Price(1, 2)}


@pytest.mark.parametrize(
    ("given_price", "message"),
    [
        (3, "the price of 'm' is 3; it is a table with `input` and `output`"),
        ({"input": 1}, "lacks 'output', in USD per million tokens"),
        ({"input": 1, "outptu": 2}, "has no 'outptu'; did you mean 'output'? allowed: input"),
        ({"input": -1, "output": 2}, "'input' is -1; it is USD per million tokens"),
        ({"input": "1", "output": 2}, "'input' is '1'; it is"),
        ({"input": True, "output": 2}, "'input' is True; it is"),
        ({"input": float("nan"), "output": 2}, "'input' is nan; it is"),
    ],
)
def test_a_wrong_table(given_price: object, message: str) -> None:
    with pytest.raises(BudgetProblem) as caught:
        read_prices({"m": given_price})
    assert message in str(caught.value)
