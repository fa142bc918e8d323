"""Agents side by side, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from textwrap import shorten

from pytest_dialeval.records.wording import listed, plural
from pytest_dialeval.report.line import Line
from pytest_dialeval.report.table import number, plain_table, span
from pytest_dialeval.runs.summary import (
    LeaderboardRow,
    RankedFigure,
    RatedAgent,
    RatedPair,
    RatingFigures,
    Ratings,
)

_NAMES = {"score": "Elo by score", "judge": "Elo by simulated user", "human": "Elo by people"}
PAIRS = 5  # shown one by one
LONGEST = 200  # characters of a reason


def leaderboard_lines(ratings: Ratings) -> Iterator[Line]:
    """The tables with what stands behind them."""
    rows = ratings.leaderboard
    yield Line("")
    yield from map(Line, _scores(rows).splitlines())
    if any(_tasks(each) < each.of_tasks for each in rows):
        text = "* not all tasks: its mean is over other tasks than the others' means"
        yield Line(text, "yellow")
    if together := [f"{one.agent} - {other.agent}" for one, other in _overlapping(rows)]:
        what = "ranked rewards" if any(each.ranked for each in rows) else "scores"
        yield Line(f"{what} not separated: {listed(together, PAIRS)}", "yellow")
    for figures in ratings.ratings:
        if figures.rounds == "all":
            yield Line("")
            yield from _rating_lines(figures, rows)
        else:
            yield from _same_lines(figures, ratings)
    for each in ratings.notes:
        yield Line(each, "yellow")


def _overlapping(
    rows: Sequence[LeaderboardRow],
) -> Iterator[tuple[LeaderboardRow, LeaderboardRow]]:
    """Agents whose scores' intervals overlap, where both have one."""
    for one, other in combinations(rows, 2):
        (low, high), (its_low, its_high) = _ends(one), _ends(other)
        if low is None or high is None or its_low is None or its_high is None:
            continue
        if low <= its_high and its_low <= high:
            yield one, other


def _ends(row: LeaderboardRow) -> tuple[float | None, float | None]:
    """The interval of what the rows are sorted by."""
    found = row.ranked or row
    return found.low, found.high


def _tasks(row: LeaderboardRow) -> int:
    return row.ranked.tasks if row.ranked else row.tasks


def _scores(rows: Sequence[LeaderboardRow]) -> str:
    kinds = [each for each in _NAMES if any(each in row.elo for row in rows)]
    ranked = any(each.ranked for each in rows)
    cells = [
        [
            row.agent,
            f"{_tasks(row)} of {row.of_tasks}{' *' if _tasks(row) < row.of_tasks else ''}",
            *(_ranked(row.ranked) if ranked else ()),
            number(row.task_score),
            # Two intervals beside each other would hide which of them the rows go by.
            *(() if ranked else (span(row.task_score, row.low, row.high),)),
            *(_rating(row.elo.get(each)) for each in kinds),
        ]
        for row in rows
    ]
    names = [_NAMES[each] for each in kinds]
    sorted_by = ["ranked", "95 % of ranked", "score"] if ranked else ["score", "95 % of score"]
    headers = ["leaderboard", "tasks", *sorted_by, *names]
    return plain_table(headers, cells)


def _ranked(figure: RankedFigure | None) -> tuple[str, str]:
    if figure is None:
        return "-", "-"
    return number(figure.value), span(figure.value, figure.low, figure.high)


def _rating_lines(figures: RatingFigures, rows: Sequence[LeaderboardRow]) -> Iterator[Line]:
    own = {each.agent: each for each in figures.agents}
    headers = [_NAMES[figures.by], "Elo", "any order", "Bradley-Terry", "95 %", "won-tied-lost"]
    cells = [_row(own[each.agent], figures) for each in rows]
    yield from map(Line, plain_table(headers, cells).splitlines())
    yield Line(_basis(figures))
    if figures.k is None:
        yield Line("suites differ in `compare`: their ratings have no common mean", "yellow")
    if figures.judged_twice:
        text = f"{figures.inconsistent} of {plural(figures.judged_twice, 'comparison')}"
        share = figures.inconsistent_share or 0.0
        colour = "yellow" if share > 0.25 else ""
        yield Line(f"{text} changed with the order ({share:.1%}): ties", colour)
    if figures.both_bad:
        yield Line(f"{plural(figures.both_bad, 'tie')} called bad on both sides")
    if figures.undecided:
        text = plural(figures.undecided, "match", "matches")
        why = [shorten(each, LONGEST, placeholder=" ...") for each in figures.why_undecided]
        yield Line(f"{text} undecided: {listed(why, 2, '; ')}", "yellow")
    yield from _pair_lines(figures)


def _row(agent: RatedAgent, figures: RatingFigures) -> list[str]:
    return [
        agent.agent,
        _rating(agent.elo),
        _rating(agent.elo_mean),
        f"separated: {agent.apart}" if agent.apart else _rating(agent.bradley_terry),
        span(agent.bradley_terry, agent.low, agent.high, 0),
        f"{agent.wins}-{agent.ties}-{agent.losses}",
    ]


def _basis(figures: RatingFigures) -> str:
    """`matches 12 (a - b 12), K 32, from 1000, scale 400`."""
    pairs = [f"{each.left} - {each.right} {each.matches}" for each in figures.pairs]
    text = f"{plural(figures.matches, 'match', 'matches')} ({listed(pairs, PAIRS)})"
    if figures.k is not None:
        text += f"; K {figures.k:g}, from {figures.start:g}, scale {figures.scale:g}"
    return text


def _pair_lines(figures: RatingFigures) -> Iterator[Line]:
    for words, separated in (("not separated", False), ("too few cases for an interval", None)):
        found = [
            _names(each) for each in figures.pairs if each.separated is separated and each.matches
        ]
        if found:
            yield Line(f"{words}: {listed(found, PAIRS)}", "yellow")
    never = [_names(each) for each in figures.pairs if not each.matches]
    if never:
        yield Line(f"no match: {listed(never, PAIRS)}", "yellow")


def _names(pair: RatedPair) -> str:
    return f"{pair.left} - {pair.right}"


def _same_lines(figures: RatingFigures, ratings: Ratings) -> Iterator[Line]:
    """The rating over rounds in which both agents heard the same, where it is another one."""
    every = next(e for e in ratings.ratings if e.by == figures.by and e.rounds == "all")
    if not every.matches or figures.matches == every.matches:
        return
    of = plural(every.matches, "match", "matches")
    what = f"in {figures.matches} of {of} both agents heard the same words"
    told = [f"{each.agent} {each.elo:.1f}" for each in figures.agents if each.elo is not None]
    yield Line(what + (f"; Elo over them alone: {', '.join(told)}" if told else ""))


def _rating(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
