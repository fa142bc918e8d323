"""Calls within a budget, each counted once, whatever became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from pytest_dialeval.errors import BudgetProblem, HarnessFault, NotMeasured, ProviderFault
from pytest_dialeval.models.budget import Amount, Budget, BudgetLimits, nanos
from pytest_dialeval.models.chat import Chat
from pytest_dialeval.models.prices import Prices
from pytest_dialeval.models.usage import UsageSink
from pytest_dialeval.records.model import ChatAnswer, ChatCall, ModelSpec
from pytest_dialeval.records.monotonic import monotonic
from pytest_dialeval.records.transcript import Usage
from pytest_dialeval.traces.json_bytes import to_json

_BYTES_PER_TOKEN = 3  # few on purpose: English has about 4, Chinese 3 to 4
_ONE = Amount(calls=1)
_REPLY = 1024  # tokens, where the model has no bound of its own


def check_prices(limits: BudgetLimits, specs: Iterable[ModelSpec], prices: Prices) -> None:
    """Refuse a budget in usd where a model's price is unknown; BudgetProblem names the models."""
    if limits.usd is None:
        return
    unknown = {f"{each.endpoint}:{each.model}": each for each in specs if not prices.known(each)}
    if unknown:
        names = ", ".join(map(repr, unknown))
        first = next(iter(unknown))
        raise BudgetProblem(
            f"usd={limits.usd:g} cannot be kept: the price of {names} is unknown; give it in USD "
            f'per million tokens, [tool.dialeval.prices] "{first}" = {{input = 0.5, output = 1.5}},'
            " or bound calls or tokens instead"
        )


class Budgeted:
    """Reserves before each call of `inner`, settles after it, and tells the sink."""

    def __init__(
        self,
        inner: Chat,
        budget: Budget,
        sink: UsageSink,
        prices: Prices,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._inner = inner
        self._budget = budget
        self._sink = sink
        self._prices = prices
        self._clock = clock

    async def chat(self, call: ChatCall, *, deadline: float) -> ChatAnswer:
        """The answer with its cost; BudgetSpent, without a call, where there is no money left."""
        began = self._clock()
        estimate = self._estimate(call) if self._budget.estimates else _ONE
        held = await self._budget.reserve(call.spec.role, estimate, deadline=deadline)
        sent, spent = self._clock(), estimate
        try:
            answer = await self._inner.chat(call, deadline=deadline - (sent - began))
            answer = self._priced(call.spec, answer)
            spent = self._amount(call.spec, _filled(answer.usage, call), answer.tries) or estimate
            self._sink.answered(call, answer)
            return answer
        except (NotMeasured, HarnessFault):
            spent = Amount()  # something below us did not even ask
            raise
        except ProviderFault as fault:
            spent = Amount(fault.tries) if _free(fault) else replace(estimate, calls=fault.tries)
            self._failed(call, sent, tries=fault.tries, free=_free(fault))
            raise
        except BaseException:
            self._failed(call, sent, tries=1, free=False)
            raise
        finally:
            self._budget.settle(held, spent)

    def _failed(self, call: ChatCall, sent: float, *, tries: int, free: bool) -> None:
        self._sink.failed(call, tries=tries, seconds=self._clock() - sent, free=free)

    def _priced(self, spec: ModelSpec, answer: ChatAnswer) -> ChatAnswer:
        cost = self._prices.cost(spec, answer.usage)
        if cost == answer.usage.cost_usd:
            return answer
        return replace(answer, usage=replace(answer.usage, cost_usd=cost))

    def _estimate(self, call: ChatCall) -> Amount:
        amount = self._amount(call.spec, expected_usage(call), 1)
        if amount is None:
            check_prices(self._budget.limits, [call.spec], self._prices)
        return amount or Amount(1)

    def _amount(self, spec: ModelSpec, usage: Usage, tries: int) -> Amount | None:
        """None where a budget in usd cannot tell what that costs."""
        tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
        if self._budget.limits.usd is None:
            return Amount(tries, tokens)
        cost = self._prices.cost(spec, usage)
        return None if cost is None else Amount(tries, tokens, nanos(cost))


def expected_usage(call: ChatCall) -> Usage:
    """What a call will take at most, or nearly so."""
    asked = to_json([call.messages, call.tools, call.schema])
    reply = _REPLY if call.spec.max_tokens is None else call.spec.max_tokens
    return Usage(input_tokens=len(asked) // _BYTES_PER_TOKEN, cached_tokens=0, output_tokens=reply)


def _filled(usage: Usage, call: ChatCall) -> Usage:
    """Tokens that the endpoint did not tell, as they were expected."""
    if usage.input_tokens is not None and usage.output_tokens is not None:
        return usage
    expected = expected_usage(call)
    return replace(
        usage,
        input_tokens=expected.input_tokens if usage.input_tokens is None else usage.input_tokens,
        output_tokens=(
            expected.output_tokens if usage.output_tokens is None else usage.output_tokens
        ),
    )


def _free(fault: ProviderFault) -> bool:
    """Whether nothing was sent, or the endpoint itself said no: such answers are not billed."""
    return fault.tries == 0 or (fault.status is not None and fault.status >= 400)
