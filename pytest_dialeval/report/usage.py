"""What models took, and what is left of the budget."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_dialeval.records.wording import plural, spending
from pytest_dialeval.report.line import Line
from pytest_dialeval.report.titles import titled_agents
from pytest_dialeval.runs.summary import Summary, UsageFigure


def usage_lines(summary: Summary) -> Iterator[Line]:
    """What models took, by role, and what of the budget is left."""
    for each in summary.usage:
        model = ", ".join(dict.fromkeys(_playing(summary, each.role)))
        yield Line(f"{each.role}{f' ({model})' if model else ''}: {_took(each)}")
    if summary.budget:
        standing = "; ".join(
            spending(each.name, each.limit, each.spent, each.left) for each in summary.budget
        )
        spent = any(each.left <= 0 for each in summary.budget)
        yield Line(f"budget: {standing}", "yellow" if spent else "")


def _playing(summary: Summary, role: str) -> Iterator[str]:
    for _, agent in titled_agents(summary):
        if role in agent.models:
            yield agent.models[role]
    if role == "comparer" and summary.ratings and summary.ratings.comparer:
        yield summary.ratings.comparer


def _took(usage: UsageFigure) -> str:
    parts = []
    if usage.calls or usage.failed:
        parts.append(plural(usage.calls + usage.failed, "call"))
        if usage.failed:
            parts.append(f"{usage.failed} failed")
        parts += [_tokens(usage), _cost(usage), f"{usage.seconds:.1f} s"]
    if usage.replayed:
        parts.append(f"{usage.replayed} replayed from a cassette")
    return ", ".join(parts)


def _tokens(usage: UsageFigure) -> str:
    told = ["unknown" if n is None else str(n) for n in (usage.input_tokens, usage.output_tokens)]
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    return f"{told[0]} tokens in{cached}, {told[1]} out"


def _cost(usage: UsageFigure) -> str:
    if usage.cost_usd is not None:
        return f"${usage.cost_usd:.4f}"
    if usage.cost_usd_known:
        return f"${usage.cost_usd_known:.4f} and {usage.cost_unknown} of unknown cost"
    return "cost unknown"
