"""Turns of phrase that the messages of all rooms share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def closest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known word that was probably meant; None where none is close."""
    return next(iter(get_close_matches(word, list(known), n=1, cutoff=cutoff)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing where no known word is close."""
    return meaning(closest(word, known))


def meaning(guess: str | None) -> str:
    """The same for a guess that was made already."""
    return "" if guess is None else f"; did you mean {guess!r}?"


def plural(count: int, noun: str, many: str = "") -> str:
    """`1 turn`, `2 turns`, `2 matches`."""
    return f"{count} {noun}" if count == 1 else f"{count} {many or noun + 's'}"


def money(usd: float) -> str:
    """`$4.99`, `$0.0001`: ten-thousandths at the finest, and never nothing for something."""
    if 0 < abs(usd) < 0.00005:
        return "less than $0.0001"
    figure = f"{abs(usd):.4f}".rstrip("0").rstrip(".")
    return f"{'-' if usd < 0 else ''}${figure}"


def spending(name: str, limit: float, spent: float, left: float) -> str:
    """`calls 8 of 10, 2 left`, `$0.01 of $5, $4.99 left`."""
    if name == "usd":
        return f"{money(spent)} of {money(limit)}, {money(left)} left"
    return f"{name} {spent:.6g} of {limit:.6g}, {left:.6g} left"


def told(reasons: Sequence[str]) -> str:
    """`no JSON, twice; empty`: each reason once, in order, with how often."""
    times = {1: "", 2: ", twice"}
    counted = Counter(reasons)
    return "; ".join(f"{each}{times.get(n, f', {n} times')}" for each, n in counted.items())


def listed(things: Sequence[object], at_most: int, between: str = ", ") -> str:
    """`1, 2, 3 and 7 more`; things that hold commas want another mark between them."""
    more = f" and {len(things) - at_most} more" if len(things) > at_most else ""
    return between.join(map(str, things[:at_most])) + more
