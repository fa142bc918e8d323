"""Tables for the terminal, and figures as their cells show them."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

FEW = "too few cases"


def plain_table(headers: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """Columns two spaces apart; tabulate's own headers would take four."""
    lines = tabulate([headers, *cells], tablefmt="simple", disable_numparse=True).split("\n")
    rule, head, *rows = lines[:-1]
    return "\n".join((head, rule, *rows))


def number(value: float | None) -> str:
    """Three decimals, or a dash."""
    return "-" if value is None else f"{value:.3f}"


def span(value: float | None, low: float | None, high: float | None, digits: int = 3) -> str:
    """`0.290 to 0.550` about a value, or why there is no interval."""
    if value is None:
        return "-"
    if low is None or high is None:
        return FEW
    return f"{low:.{digits}f} to {high:.{digits}f}"
