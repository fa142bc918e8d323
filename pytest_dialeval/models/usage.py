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


_FIELDS = fields(Tally)
_SUMS = tuple(each.name for each in _FIELDS if isinstance(each.default, Sum))
_COUNTS = tuple(each.name for each in _FIELDS if each.name not in _SUMS)


class _Sums:
    """A tally that grows in place: three records for each call would cost more than its JSON."""

    __slots__ = ("counts", "known", "unknown")

    def __init__(self) -> None:
        self.counts = dict.fromkeys(_COUNTS, 0)
        self.known: dict[str, float] = dict.fromkeys(_SUMS, 0)
        self.unknown = dict.fromkeys(_SUMS, 0)

    def add(self, **values: float | None) -> None:
        """One call; None is a term that nobody knows."""
        for name, value in values.items():
            if name in self.counts:
                self.counts[name] += cast("int", value)
            elif value is None:
                self.unknown[name] += 1
            else:
                self.known[name] += value

    def take(self, tally: Tally) -> None:
        """Add many calls at once."""
        for name in _COUNTS:
            self.counts[name] += getattr(tally, name)
        for name in _SUMS:
            self.known[name] += getattr(tally, name).known
            self.unknown[name] += getattr(tally, name).unknown

    def join(self, other: _Sums) -> None:
        """Add what another has come to."""
        for mine, its in zip(self._parts, other._parts, strict=True):
            for name, value in its.items():
                mine[name] += value

    @property
    def _parts(self) -> tuple[dict[str, float], ...]:
        return cast("tuple[dict[str, float], ...]", (self.counts, self.known, self.unknown))

    @property
    def tally(self) -> Tally:
        """What it has come to."""
        sums = {each: Sum(self.known[each], self.unknown[each]) for each in _SUMS}
        return Tally(**self.counts, **sums)  # type: ignore[arg-type]


class UsageSink:
    """Adds up; one for a run, or one for each worker of it."""

    def __init__(self) -> None:
        self._sums: dict[_Place, _Sums] = {}

    def answered(self, call: ChatCall, answer: ChatAnswer) -> None:
        """A model answered; `answer.usage` has the cost, where it is known."""
        usage = answer.usage
        self._of(call).add(
            calls=1,
            tries=answer.tries,
            input_tokens=usage.input_tokens,
            cached_tokens=usage.cached_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=usage.cost_usd,
            seconds=answer.seconds,
        )

    def failed(self, call: ChatCall, *, tries: int, seconds: float, free: bool = False) -> None:
        """No answer came; `free` where the endpoint said so itself, and bills nothing."""
        sums = self._of(call)
        sums.add(failed=1, tries=tries, seconds=seconds)
        if not free:
            sums.add(input_tokens=None, cached_tokens=None, output_tokens=None, cost_usd=None)

    def replayed(self, call: ChatCall, answer: ChatAnswer) -> None:
        """The answer came from a cassette."""
        self._of(call).add(replayed=1)

    def total(self) -> Tally:
        """Of everything."""
        total = _Sums()
        for each in self._sums.values():
            total.join(each)
        return total.tally

    def per_role(self) -> dict[Role, Tally]:
        """In the order in which the roles first called."""
        sums: dict[Role, _Sums] = {}
        for (role, _, _), each in self._sums.items():
            sums.setdefault(role, _Sums()).join(each)
        return {role: each.tally for role, each in sums.items()}

    def encode(self) -> list[dict[str, object]]:
        """All of it as JSON-able data, for the controller of several workers."""
        return [
            {"role": role, "case": case, "trial": trial, **_encode(each.tally)}
            for (role, case, trial), each in self._sums.items()
        ]

    def take(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add what another sink has encoded."""
        for row in rows:
            place = (cast("Role", row["role"]), row["case"], row["trial"])
            self._at(place).take(_decode(row))

    def _of(self, call: ChatCall) -> _Sums:
        return self._at((call.spec.role, call.case, call.trial))

    def _at(self, place: _Place) -> _Sums:
        sums = self._sums.get(place)
        if sums is None:
            sums = self._sums[place] = _Sums()
        return sums


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
