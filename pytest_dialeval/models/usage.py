"""Tokens, cost and time of a run's calls, per role and per trial; unknown stays unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

from pytest_dialeval.records.model import ChatAnswer, ChatCall, Role

_Place = tuple[Role, str, int]  # role, case, trial


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of which some terms may be unknown."""

    known: float = 0
    unknown: int = 0  # terms

    @property
    def value(self) -> float | None:
        """The sum; None if a term is unknown."""
        return None if self.unknown else self.known

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.known + other.known, self.unknown + other.unknown)

    @classmethod
    def of(cls, value: float | None) -> Sum:
        """A sum of one term."""
        return cls(0, 1) if value is None else cls(value)


@dataclass(frozen=True, slots=True)
class Tally:
    """What a number of calls took; replayed ones are counted, and took nothing."""

    calls: int = 0  # that a model answered
    failed: int = 0  # that it did not
    tries: int = 0  # requests sent, for both
    replayed: int = 0
    input_tokens: Sum = Sum()  # cached ones among them
    cached_tokens: Sum = Sum()
    output_tokens: Sum = Sum()
    cost_usd: Sum = Sum()
    seconds: Sum = Sum()

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            **{each.name: getattr(self, each.name) + getattr(other, each.name) for each in _FIELDS}
        )


_FIELDS = fields(Tally)


class UsageSink:
    """Adds up; one for a run, or one for each worker of it."""

    def __init__(self) -> None:
        self._tallies: dict[_Place, Tally] = {}

    def answered(self, call: ChatCall, answer: ChatAnswer) -> None:
        """A model answered; `answer.usage` has the cost, where it is known."""
        usage = answer.usage
        self._add(
            call,
            Tally(
                calls=1,
                tries=answer.tries,
                input_tokens=Sum.of(usage.input_tokens),
                cached_tokens=Sum.of(usage.cached_tokens),
                output_tokens=Sum.of(usage.output_tokens),
                cost_usd=Sum.of(usage.cost_usd),
                seconds=Sum.of(answer.seconds),
            ),
        )

    def failed(self, call: ChatCall, *, tries: int, seconds: float, free: bool = False) -> None:
        """No answer came; `free` where the endpoint said so itself, and bills nothing."""
        bill = Sum() if free else Sum.of(None)
        self._add(
            call,
            Tally(
                failed=1,
                tries=tries,
                input_tokens=bill,
                cached_tokens=bill,
                output_tokens=bill,
                cost_usd=bill,
                seconds=Sum.of(seconds),
            ),
        )

    def replayed(self, call: ChatCall, answer: ChatAnswer) -> None:
        """The answer came from a cassette."""
        self._add(call, Tally(replayed=1))

    def total(self) -> Tally:
        """Of everything."""
        return sum(self._tallies.values(), Tally())

    def per_role(self) -> dict[Role, Tally]:
        """In the order in which the roles first called."""
        sums: dict[Role, Tally] = {}
        for (role, _, _), each in self._tallies.items():
            sums[role] = sums.get(role, Tally()) + each
        return sums

    def encode(self) -> list[dict[str, object]]:
        """All of it as JSON-able data, for the controller of several workers."""
        return [
            {"role": role, "case": case, "trial": trial, **_encode(each)}
            for (role, case, trial), each in self._tallies.items()
        ]

    def take(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add what another sink has encoded."""
        for row in rows:
            place = (cast("Role", row["role"]), row["case"], row["trial"])
            self._tallies[place] = self._tallies.get(place, Tally()) + _decode(row)

    def _add(self, call: ChatCall, tally: Tally) -> None:
        place = (call.spec.role, call.case, call.trial)
        self._tallies[place] = self._tallies.get(place, Tally()) + tally


def _encode(tally: Tally) -> dict[str, object]:
    values = {each.name: getattr(tally, each.name) for each in _FIELDS}
    return {
        name: [value.known, value.unknown] if isinstance(value, Sum) else value
        for name, value in values.items()
    }


def _decode(row: Mapping[str, Any]) -> Tally:
    values: dict[str, Any] = {each.name: row[each.name] for each in _FIELDS}
    sums = {name: Sum(*each) for name, each in values.items() if isinstance(each, list)}
    return Tally(**{**values, **sums})
