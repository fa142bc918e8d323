"""What a call costs: the user's table, else the package genai-prices; unknown is None, never 0."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from pytest_dialeval.errors import BudgetProblem
from pytest_dialeval.models.choices import instead
from pytest_dialeval.records.model import ModelSpec
from pytest_dialeval.records.transcript import Usage

_KEYS = ("input", "cached", "output")
_MILLION = 1_000_000
# Input tokens up to which a model has one price; asking the package each time takes 0.3 ms.
_LONG = 100_000
# Endpoints whose prices the package knows by this name; a base URL of its own says more.
_PROVIDERS = {"openai": "openai", "deepseek": "deepseek"}


@dataclass(frozen=True, slots=True)
class Price:
    """In USD per million tokens; `cached` is for input tokens that the endpoint had cached."""

    input: float
    output: float
    cached: float | None = None  # None: as input

    def cost(self, usage: Usage) -> float | None:
        """None where the tokens are unknown; cached tokens are counted among the input tokens."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = min(usage.cached_tokens or 0, usage.input_tokens)
        cached_price = self.input if self.cached is None else self.cached
        paid = (usage.input_tokens - cached) * self.input + cached * cached_price
        return (paid + usage.output_tokens * self.output) / _MILLION


class Prices:
    """Looks a model up as `endpoint:model`, then as `model`, then in the package."""

    def __init__(self, table: Mapping[str, Price] | None = None) -> None:
        self._table = dict(table or {})
        self._listed: dict[tuple[str, str, str | None], Price | None] = {}

    def cost(self, spec: ModelSpec, usage: Usage) -> float | None:
        """USD; what the endpoint itself names comes first."""
        if usage.cost_usd is not None:
            return usage.cost_usd
        own = self._table.get(f"{spec.endpoint}:{spec.model}") or self._table.get(spec.model)
        if own is not None:
            return own.cost(usage)
        if (usage.input_tokens or 0) > _LONG:
            return _listed_cost(spec, usage)
        place = (spec.endpoint, spec.model, spec.base_url)
        if place not in self._listed:
            self._listed[place] = _listed_price(spec)
        listed = self._listed[place]
        return None if listed is None else listed.cost(usage)

    def known(self, spec: ModelSpec) -> bool:
        """Whether tokens of this model can be turned into money."""
        return self.cost(spec, Usage(input_tokens=1, cached_tokens=0, output_tokens=1)) is not None


def read_prices(table: Mapping[str, object]) -> dict[str, Price]:
    """The user's table, `{"vllm:qwen": {input: 0.2, output: 0.6}}`; else a BudgetProblem."""
    return {model: _price(model, given) for model, given in table.items()}


def _price(model: str, given: object) -> Price:
    where = f"the price of {model!r}"
    if not isinstance(given, Mapping):
        raise BudgetProblem(f"{where} is {given!r}; it is a table with `input` and `output`")
    for key, value in given.items():
        if key not in _KEYS:
            raise BudgetProblem(f"{where} has no {key!r}{instead(str(key), _KEYS)}")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value < 0:
            raise BudgetProblem(f"{where}: {key!r} is {value!r}; it is USD per million tokens")
    for key in ("input", "output"):
        if key not in given:
            raise BudgetProblem(
                f"{where} lacks {key!r}, in USD per million tokens (0 if it is free)"
            )
    return Price(**given)


def _listed_price(spec: ModelSpec) -> Price | None:
    """The package's price of prompts that are not long, as it is now; asked once a model."""

    def cost(cached: int, output: int) -> float | None:
        return _listed_cost(spec, Usage(_LONG, cached, output))

    fresh, cached, both = cost(0, 0), cost(_LONG, 0), cost(0, _LONG)
    if fresh is None or cached is None or both is None:
        return None
    scale = _MILLION / _LONG
    return Price(input=fresh * scale, output=(both - fresh) * scale, cached=cached * scale)


def _is_here(base_url: str | None) -> bool:
    """Whether it is a server of this machine: no list has its price."""
    host = urlsplit(base_url).hostname if base_url else None
    return host in ("localhost", "127.0.0.1", "::1")


def _listed_cost(spec: ModelSpec, usage: Usage) -> float | None:
    provider = _PROVIDERS.get(spec.endpoint)
    unknown = usage.input_tokens is None or usage.output_tokens is None
    if unknown or (spec.base_url is None and provider is None) or _is_here(spec.base_url):
        return None
    import genai_prices  # takes 0.1 s: only where a price is asked for

    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=min(usage.cached_tokens or 0, usage.input_tokens or 0),
        output_tokens=usage.output_tokens,
    )
    try:
        if spec.base_url is None:
            found = genai_prices.calc_price(tokens, spec.model, provider_id=provider)
        else:
            found = genai_prices.calc_price(tokens, spec.model, provider_api_url=spec.base_url)
    except (LookupError, ValueError):
        return None
    return float(found.total_price)
