"""A comparison of two runs, for a terminal and for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tabulate import tabulate

from pytest_dialeval.records.text import visible
from pytest_dialeval.records.wording import plural
from pytest_dialeval.report.table import plain_table
from pytest_dialeval.runs.baseline import Baseline
from pytest_dialeval.runs.comparing import AgentComparison, Comparison, Difference
from pytest_dialeval.statistics.detectable import LOOKED_FOR

_HEADERS = ("", "before", "after", "difference", "95 %", "p", "")
_THRESHOLD_FIGURES = ("pass rate", "task score")
_ROUNDING = 1e-9  # 5 points allow a fall of 0.05, whatever doubles make of it


class Table(NamedTuple):
    """Differences under a title."""

    title: str
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class _Part:
    """One agent of a task: its name, what is said first, tables, what is said last."""

    name: str
    first: Sequence[str]
    tables: Sequence[Table]
    last: Sequence[str]


def comparison_lines(of: Comparison, *, points: float | None = None) -> Iterator[str]:
    """As text; with `points`, whether a figure fell by more of them than that."""
    yield visible(_headline(of))
    yield from map(visible, _remarks(of))
    for part in map(_part, of.agents):
        yield ""
        yield visible(part.name)
        yield from (f"  {visible(each)}" for each in part.first)
        for table in part.tables:
            yield ""
            rows = [[visible(cell) for cell in row] for row in table.rows]
            headers = (table.title, *_HEADERS[1:])
            yield from (f"  {line}".rstrip() for line in plain_table(headers, rows).split("\n"))
        yield from ["", *(f"  {visible(each)}" for each in part.last)] if part.last else ()
    if points is not None:
        yield ""
        yield from (visible(each.text) for each in thresholds(of, points))


def comparison_markdown(of: Comparison, *, points: float | None = None) -> Iterator[str]:
    """The same for a comment on a pull request; rubrics and personas are folded away."""
    yield f"**{_plain(_headline(of))}**"
    yield from _bullets(_remarks(of))
    for part in map(_part, of.agents):
        yield from ("", f"### {_plain(part.name)}")
        yield from _bullets(part.first)
        for number, table in enumerate(part.tables):
            rows = [[_plain(cell) for cell in row] for row in table.rows]
            headers = (_plain(table.title), *_HEADERS[1:])
            drawn = tabulate(rows, headers, tablefmt="pipe", disable_numparse=True).split("\n")
            yield ""
            if number == 0:
                yield from drawn
            else:
                yield from (f"<details><summary>{_plain(table.title)}</summary>", "", *drawn)
                yield from ("", "</details>")
        yield from _bullets(part.last)
    if points is not None:
        yield from _bullets(each.text for each in thresholds(of, points))


def _bullets(texts: Iterable[str]) -> Iterator[str]:
    found = [f"- {_plain(each)}" for each in texts]
    yield from ["", *found] if found else ()


def _plain(text: str) -> str:
    """Text that Markdown takes as it stands, on one line."""
    text = " ".join(visible(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{each}" if each in r"\`*_[]|~#@" else each for each in text)


def _headline(of: Comparison) -> str:
    return f"before: {_run(of.before)}; after: {_run(of.after)}"


def _run(run: Baseline) -> str:
    label = f" ({run.label})" if run.label else ""
    return f"{run.run_id}{label}"


def _remarks(of: Comparison) -> Iterator[str]:
    if of.problem:
        yield f"not comparable: {of.problem}"
    yield from of.notes


# ---- one agent


def _part(of: AgentComparison) -> _Part:
    return _Part(of.name, list(_first(of)), list(_tables(of)), list(_last(of)))


def _first(of: AgentComparison) -> Iterator[str]:
    """What differs comes before any figure."""
    yield from (f"differs: {each}" for each in of.changes)
    if not of.changes:
        yield "nothing that is known differs"
    yield from (f"not comparable: {each}" for each in of.obstacles)
    yield from of.notes


def _tables(of: AgentComparison) -> Iterator[Table]:
    if overall := [each for each in of.overall if each.value is not None]:
        yield Table("overall", [_row(each) for each in overall])
    for title, table in (("rubric", of.rubrics), ("persona, pass rate", of.personas)):
        if table:
            yield Table(title, [_row(each) for each in table])


def _row(of: Difference) -> list[str]:
    return [
        of.name,
        _number(of.before),
        _number(of.after),
        _signed(of),
        _interval(of),
        _chance(of.p if of.adjusted is None else of.adjusted),
        _standing(of),
    ]


def _standing(of: Difference) -> str:
    if of.value is None:
        return "nothing to compare"
    return "-" if of.p is None else of.standing


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _signed(of: Difference) -> str:
    """The difference; behind a slash, unmeasured trials count as failures."""
    if of.value is None:
        return "-"
    other = "" if of.pessimistic is None else f" / {of.pessimistic:+.3f}"
    return f"{of.value:+.3f}{other}"


def _interval(of: Difference) -> str:
    if of.value is None:
        return "-"
    if of.low is None or of.high is None:
        return "too few cases"
    return f"{of.low:+.3f} to {of.high:+.3f}"


def _chance(p: float | None) -> str:
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _last(of: AgentComparison) -> Iterator[str]:
    yield from _about_p(of)
    if of.pairs is not None and of.pairs.n:
        pairs = of.pairs
        yield (
            f"{plural(pairs.n, 'pair')} of trials: {pairs.both} passed in both runs, {pairs.lost} "
            f"only before, {pairs.gained} only after, {pairs.neither} in neither "
            f"(McNemar, exact: p {_is(pairs.p())})"
        )
    if of.detectable is not None:
        yield _detectable(of)


def _about_p(of: AgentComparison) -> Iterator[str]:
    known = [each for each in of.overall if each.p is not None]
    if any(each.basis == "these cases" for each in known):
        yield "fewer than 10 cases: p speaks of these cases alone"
    here = [f"{each.name} {_chance(each.p_here)}" for each in known if each.p_here is not None]
    if here:
        yield f"p on these cases alone: {', '.join(here)}"
    if len(of.rubrics) > 1 or len(of.personas) > 1:
        yield "p of rubrics and of personas is corrected for their number (Benjamini-Hochberg)"


def _is(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _detectable(of: AgentComparison) -> str:
    found = of.detectable
    assert found is not None
    points = f"{100 * found.difference:.0f} points"
    text = f"this size finds a pass rate that differs by {points} in 4 of 5 times"
    if found.difference > 1:  # which no two pass rates differ by
        text = "this size is too small to find any difference of pass rates in 4 of 5 times"
    if more := found.more_trials():
        need = plural(more, "more trial")
        text += f"; {need} in each run would be needed to see {100 * LOOKED_FOR:.0f} points"
    return text


# ---- a fixed bound


class Threshold(NamedTuple):
    """Whether a figure fell by no more than was allowed; None: there is no figure."""

    text: str
    held: bool | None


def thresholds(of: Comparison, points: float) -> list[Threshold]:
    """An engineering threshold: a bound that somebody chose; it says nothing of chance."""
    found = []
    for agent in of.agents:
        figures = [each for each in agent.overall if each.name in _THRESHOLD_FIGURES]
        known = [_threshold(agent.name, each, points) for each in figures if each.value is not None]
        if not known and not agent.obstacles:
            why = "no case has measured trials in both runs"
            known = [Threshold(f"engineering threshold of {agent.name}: not decided: {why}", None)]
        found += known
    return found


def _threshold(name: str, figure: Difference, points: float) -> Threshold:
    worst = min(each for each in (figure.value, figure.pessimistic) if each is not None)
    held = -100 * worst <= points + _ROUNDING
    word = "held" if held else "MISSED"
    text = (
        f"engineering threshold of {name}: {word}: {figure.name} {100 * worst:+.1f} points, "
        f"allowed is a fall of {points:g}"
    )
    return Threshold(text, held)
