"""Pass^k and pass@k, with as many columns as fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_dialeval.report.table import FEW, number, plain_table, span
from pytest_dialeval.report.titles import titled_agents
from pytest_dialeval.runs.summary import AgentFigures, PassKFigure, Summary

MAX_K = 5  # columns of Pass^k; all k are in summary.json
LEAST_K = 2  # of them, however narrow the terminal is


def pass_table(summary: Summary, width: int | None = None) -> str:
    """Task, agent, cases, trials, score, Pass^1..k with the interval of Pass^1 where there is one.

    Below it, in one line, why there is none.
    """
    drawn = _pass_table(summary, shown_ks(summary, width))
    few = "no interval of Pass^1: too few cases"
    return f"{drawn}\n{few}" if _without_interval(summary) and FEW in _intervals(summary) else drawn


def _pass_table(summary: Summary, ks: Sequence[int]) -> str:
    rows = titled_agents(summary)
    headers = ["task", "agent", "cases", "trials", "score", *(f"Pass^{k}" for k in ks)]
    cells = [_row(name, agent, ks) for name, agent in rows]
    if not _without_interval(summary):
        headers.append("95 % of Pass^1")
        for each, told in zip(cells, _intervals(summary), strict=True):
            each.append(told)
    return plain_table(headers, cells)


def _row(name: str, agent: AgentFigures, ks: Sequence[int]) -> list[str]:
    unmeasured = f" ({agent.unmeasured} unmeasured)" if agent.unmeasured else ""
    return [
        name,
        agent.name,
        str(agent.cases),
        f"{agent.trials}{unmeasured}",
        number(agent.task_score_mean),
        *(_both_readings(agent.pass_hat_k.get(str(k))) for k in ks),
    ]


def _both_readings(figure: PassKFigure | None) -> str:
    """`0.420`; where trials are unmeasured also the pessimistic reading behind a slash."""
    if figure is None or (figure.value is None and figure.value_pessimistic is None):
        return "-"
    if figure.value == figure.value_pessimistic:
        return number(figure.value)
    return f"{number(figure.value)} / {number(figure.value_pessimistic)}"


def _intervals(summary: Summary) -> list[str]:
    return [interval(agent.pass_hat_k.get("1")) for _, agent in titled_agents(summary)]


def _without_interval(summary: Summary) -> bool:
    return all(each in (FEW, "-") for each in _intervals(summary))


def interval(figure: PassKFigure | None) -> str:
    """`0.290 to 0.550`, or why there is none."""
    return "-" if figure is None else span(figure.value, figure.low, figure.high)


def at_least_one_table(summary: Summary, width: int | None = None) -> str:
    """pass@1..k, where a case has more than one trial; never to be taken for Pass^k."""
    rows = [(name, agent) for name, agent in titled_agents(summary) if len(agent.pass_at_k) > 1]
    if not rows:
        return ""
    widest = max(len(agent.pass_at_k) for _, agent in rows)

    def drawn(most: int) -> str:
        return _at_least_one(rows, _columns(widest, most))

    return "\n" + drawn(_most_columns(drawn, width))


def _at_least_one(rows: Sequence[tuple[str, AgentFigures]], ks: Sequence[int]) -> str:
    headers = ["at least one of k", "agent", *(f"pass@{k}" for k in ks)]
    cells = [
        [name, agent.name, *(_both_readings(agent.pass_at_k.get(str(k))) for k in ks)]
        for name, agent in rows
    ]
    return plain_table(headers, cells)


# ---- columns


def shown_ks(summary: Summary, width: int | None) -> list[int]:
    """The k that the table of Pass^k has columns for."""
    widest = max((len(agent.pass_hat_k) for _, agent in titled_agents(summary)), default=0)
    most = _most_columns(lambda most: _pass_table(summary, _columns(widest, most)), width)
    return _columns(widest, most)


def _most_columns(drawn: Callable[[int], str], width: int | None) -> int:
    """How many columns of k fit: at least the first and the last are shown."""
    for most in range(MAX_K, LEAST_K, -1):
        if width is None or max(map(len, drawn(most).split("\n"))) <= width:
            return most
    return LEAST_K


def _columns(widest: int, most: int) -> list[int]:
    """All, or the first and the last."""
    ks = list(range(1, widest + 1))
    return ks if widest <= most else [*ks[: most - 1], widest]
