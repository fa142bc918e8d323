"""Gates, each in a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_dialeval.report.line import Line
from pytest_dialeval.runs.summary import GateFigure, Summary


def gate_lines(summary: Summary, *statuses: str) -> Iterator[Line]:
    """Gates of those statuses, each with its figure, bound and n."""
    colours = {"failed": "red", "not decided": "yellow", "passed": "green"}
    for status in statuses:
        for gate in summary.gates:
            # What nobody asked for and nothing misses is no news.
            is_news = status != "passed" or gate.source != "default"
            if gate.status == status and is_news:
                yield Line(gate_sentence(gate), colours[gate.status])


def gate_sentence(gate: GateFigure) -> str:
    """`gate pass_hat_k (k=3) of airline / good: MISSED: 0.22, wanted at least 0.5, n=200, ...`."""
    k = f" (k={gate.k})" if gate.k else ""
    wanted = "at least" if gate.name in ("pass_hat_k", "mean_score") else "at most"
    if gate.name == "baseline":
        return _baseline_sentence(gate)
    bound = float(gate.bound)
    figure = "no figure" if gate.figure is None else _told_apart(gate.figure, bound)
    words = {"passed": "held", "failed": "MISSED", "not decided": "not decided"}[gate.status]
    if gate.name == "distinct_models":  # a count of roles says less than their names
        said = gate.why or "every role has a model of its own"
        whose = f"{gate.task} / {gate.agent}"
        return f"gate {gate.name} of {whose}: {words} ({said}), set by {gate.source}"
    why = f" ({gate.why})" if gate.why else ""
    return (
        f"gate {gate.name}{k} of {gate.task} / {gate.agent}: {words}{why}: "
        f"{figure}, wanted {wanted} {_figure(bound)}, n={gate.n}, set by {gate.source}"
    )


def _baseline_sentence(gate: GateFigure) -> str:
    """The same; without a threshold a test decides, and a small fall may well hold."""
    figure = "no figure" if gate.figure is None else f"{gate.figure:+.3f}"
    wanted = f"at least {gate.bound:+.3f}" if gate.bound else "not worse"
    words = {"passed": "held", "failed": "MISSED", "not decided": "not decided"}[gate.status]
    return (
        f"gate baseline of {gate.task} / {gate.agent}: {words} ({gate.why}): "
        f"{figure}, wanted {wanted}, n={gate.n}, set by {gate.source}"
    )


def _figure(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _told_apart(figure: float, bound: float) -> str:
    """The figure; in full where rounding would hide on which side of the bound it is."""
    exact, shown = round(figure, 12), _figure(figure)
    return repr(exact) if exact != bound and shown == _figure(bound) else shown
