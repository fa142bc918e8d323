"""What a run may spend, and the books about it: reserved before a call, settled after it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from pytest_dialeval.errors import BudgetProblem, BudgetSpent
from pytest_dialeval.models.choices import instead
from pytest_dialeval.models.watch import LoopWatch, Watch
from pytest_dialeval.records.model import Role
from pytest_dialeval.records.monotonic import monotonic
from pytest_dialeval.records.wording import money, spending

_NANO = 1_000_000_000  # money is counted in whole billionths, so that the books come out even
_FORM = "usd=5,calls=2000,tokens=1e6,minutes=30,judge=25%"


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """None is no limit; `judge` is the share of each that is kept for the judge, from 0 to 1."""

    usd: float | None = None
    calls: int | None = None
    tokens: int | None = None
    minutes: float | None = None
    judge: float = 0.0


@dataclass(frozen=True, slots=True)
class Amount:
    """What a call takes: requests, tokens, and billionths of a dollar."""

    calls: int = 0
    tokens: int = 0
    nanos: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            self.calls + other.calls, self.tokens + other.tokens, self.nanos + other.nanos
        )


class _Book:
    """A sum of amounts that grows in place: each call is entered here four times."""

    __slots__ = ("calls", "nanos", "tokens")

    def __init__(self) -> None:
        self.calls = self.tokens = self.nanos = 0

    def enter(self, amount: Amount) -> None:
        self.calls += amount.calls
        self.tokens += amount.tokens
        self.nanos += amount.nanos

    def strike(self, amount: Amount) -> None:
        self.calls -= amount.calls
        self.tokens -= amount.tokens
        self.nanos -= amount.nanos

    @property
    def amount(self) -> Amount:
        return Amount(self.calls, self.tokens, self.nanos)


@dataclass(frozen=True, slots=True)
class Standing:
    """One limit, and what remains of it (below 0 where calls took more than was expected)."""

    name: str
    limit: float
    spent: float

    @property
    def left(self) -> float:
        return round(self.limit - self.spent, 9)

    def __str__(self) -> str:
        return spending(self.name, self.limit, self.spent, self.left)


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """What one call in flight may take."""

    role: Role
    amount: Amount


def nanos(usd: float) -> int:
    """Money as the books count it."""
    return round(usd * _NANO)


def parse_budget(text: str) -> BudgetLimits:
    """Read `usd=5,calls=2000,tokens=1e6,minutes=30`; BudgetProblem says what is wrong with it."""
    values: dict[str, Any] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, value = (each.strip() for each in part.partition("="))
        if name in values:
            raise BudgetProblem(f"{text!r}: {name!r} stands there twice")
        values[name] = _limit(name, value)
    if not values.keys() - {"judge"}:
        raise BudgetProblem(f"{text!r} names no limit; write them like {_FORM}")
    whole = {name: int(value) for name, value in values.items() if name in ("calls", "tokens")}
    return BudgetLimits(**{**values, **whole})


def divide(limits: BudgetLimits, workers: int) -> tuple[BudgetLimits, ...]:
    """A budget for each worker; they sum to the whole, but for the minutes, which pass for all."""

    def shares(whole: int | None) -> list[int | None]:
        if whole is None:
            return [None] * workers
        each, rest = divmod(whole, workers)
        return [each + (number < rest) for number in range(workers)]

    money = shares(None if limits.usd is None else nanos(limits.usd))
    return tuple(
        replace(limits, usd=None if usd is None else usd / _NANO, calls=calls, tokens=tokens)
        for usd, calls, tokens in zip(
            money, shares(limits.calls), shares(limits.tokens), strict=True
        )
    )


def standings(limits: BudgetLimits, spent: Amount, seconds: float) -> tuple[Standing, ...]:
    """What remains of each limit; for several workers, of their sum."""
    used = {"usd": spent.nanos / _NANO, "calls": spent.calls, "tokens": spent.tokens}
    used["minutes"] = seconds / 60
    return tuple(
        Standing(name, limit, value)
        for name, value in used.items()
        if (limit := getattr(limits, name)) is not None
    )


class Budget:
    """The books of one event loop. Once a call was refused, so are all later ones of its kind."""

    def __init__(
        self,
        limits: BudgetLimits,
        *,
        clock: Callable[[], float] = monotonic,
        watch: Watch | None = None,
    ) -> None:
        """Minutes are counted from here."""
        self.limits = limits
        self._clock = clock
        self._watch = watch or LoopWatch()
        self._began = clock()
        self._ends = _ends(limits)
        self._ends_of_others = {
            name: end - math.ceil(end * limits.judge) for name, end in self._ends.items()
        }
        # By the judge (True), and by all others.
        self._spent = {True: _Book(), False: _Book()}
        self._held = {True: _Book(), False: _Book()}
        self._open: set[Reservation] = set()
        self._refused: dict[bool, str] = {}
        self._settled: asyncio.Event | None = None  # somebody waits for it

    async def reserve(self, role: Role, estimate: Amount, *, deadline: float) -> Reservation:
        """Hold an amount; BudgetSpent where it cannot be had.

        Waits while it can be had only if calls in flight take less than is held for them.
        """
        judge = role == "judge"
        if self._must_wait(judge, estimate):
            await self._turn(judge, estimate, deadline)
        held = Reservation(role, estimate)
        self._open.add(held)
        self._held[judge].enter(estimate)
        return held

    def settle(self, held: Reservation, spent: Amount) -> None:
        """Book what the call took in place of what was held for it; a second time does nothing."""
        if held not in self._open:
            return
        self._open.discard(held)
        judge = held.role == "judge"
        self._held[judge].strike(held.amount)
        self._spent[judge].enter(spent)
        self._wake()

    @property
    def estimates(self) -> bool:
        """Whether it matters what a call may take before it is made."""
        return self.limits.tokens is not None or self.limits.usd is not None

    @property
    def spent(self) -> Amount:
        """What is booked."""
        return self._spent[True].amount + self._spent[False].amount

    @property
    def held(self) -> Amount:
        """What calls in flight may take."""
        return self._held[True].amount + self._held[False].amount

    @property
    def seconds(self) -> float:
        """Since the budget began."""
        return self._clock() - self._began

    def refused(self, role: Role) -> str | None:
        """Why no call of this role will be made any more; None while there may be."""
        return self._refused.get(role == "judge")

    def __str__(self) -> str:
        """`budget: calls 8 of 10, 2 left; ...`."""
        lines = standings(self.limits, self.spent, self.seconds)
        return f"budget: {'; '.join(map(str, lines)) or 'no limits'}"

    async def _turn(self, judge: bool, estimate: Amount, deadline: float) -> None:
        try:
            async with self._watch.timeout(deadline):
                while self._must_wait(judge, estimate):
                    self._settled = self._settled or asyncio.Event()
                    await self._settled.wait()
        except TimeoutError:
            late = f"nothing of the budget became free within {deadline:.3g} s"
            raise BudgetSpent(f"{late}; {self}") from None

    def _must_wait(self, judge: bool, estimate: Amount) -> bool:
        """BudgetSpent where waiting cannot help."""
        if not self._ends and self.limits.minutes is None:
            return False
        if judge not in self._refused:
            own = self._spent[judge].amount + estimate
            short = self._late(judge) or self._short(judge, self.spent + estimate, own)
            if short is None:
                held = self.spent + estimate + self.held
                return self._short(judge, held, own + self._held[judge].amount) is not None
            self._refused[judge] = self._reason(short, judge, estimate)
            self._wake()
        raise BudgetSpent(f"{self._refused[judge]}; {self}")

    def _late(self, judge: bool) -> str | None:
        if self.limits.minutes is None:
            return None
        share = 1.0 if judge else 1.0 - self.limits.judge
        return "minutes" if self.seconds >= self.limits.minutes * 60 * share else None

    def _short(self, judge: bool, total: Amount, own: Amount) -> str | None:
        """The limit that is passed by all, or by those who may not use the judge's share."""
        for name, end in self._ends.items():
            others = not judge and getattr(own, name) > self._ends_of_others[name]
            if getattr(total, name) > end or others:
                return name
        return None

    def _reason(self, name: str, judge: bool, estimate: Amount) -> str:
        shown = "usd" if name == "nanos" else name
        kept = "" if judge or not self.limits.judge else ", but for what is kept for the judge"
        budget = f"the budget of {shown}={getattr(self.limits, shown):g}"
        if name in ("minutes", "calls") or self._room(name, judge) <= 0:
            return f"{budget} is used up{kept}"
        need = money(estimate.nanos / _NANO) if shown == "usd" else f"{estimate.tokens} tokens"
        hint = "`max_tokens` of a model bounds what its calls may take"
        return f"the next call may take {need}, more than {budget} has left{kept} ({hint})"

    def _room(self, name: str, judge: bool) -> float:
        """What is left of a limit for those who ask."""
        room: float = self._ends[name] - getattr(self.spent, name)
        if judge:
            return room
        others: float = self._ends_of_others[name] - getattr(self._spent[judge], name)
        return min(room, others)

    def _wake(self) -> None:
        # All who wait look again; those who come later wait for the next call.
        settled, self._settled = self._settled, None
        if settled is not None:
            settled.set()


def _ends(limits: BudgetLimits) -> Mapping[str, int]:
    """Each limit as the books count it."""
    money = None if limits.usd is None else nanos(limits.usd)
    ends = {"nanos": money, "calls": limits.calls, "tokens": limits.tokens}
    return {name: end for name, end in ends.items() if end is not None}


def _limit(name: str, text: str) -> float:
    names = [each.name for each in fields(BudgetLimits)]
    if name not in names:
        raise BudgetProblem(f"{name!r} is no limit{instead(name, names)}")
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = math.nan
    share = name == "judge"
    if share and not 0 <= value < 1:
        raise BudgetProblem(f"judge={text}: it is a share from 0 to 1, like 0.25 or 25%")
    if not share and (not (math.isfinite(value) and value >= 0) or text.endswith("%")):
        raise BudgetProblem(f"{name}={text}: {text!r} is not a number of 0 or more")
    if name in ("calls", "tokens") and value != int(value):
        raise BudgetProblem(f"{name}={text}: {text!r} is not a whole number")
    return value
