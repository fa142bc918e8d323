"""Matches and scores -> the ratings of a run, for summary.json and the leaderboard."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from pytest_dialeval.records.match import POINTS, By, Match
from pytest_dialeval.records.run import Source
from pytest_dialeval.runs.figures import ScoredTrial
from pytest_dialeval.runs.matches import in_order
from pytest_dialeval.runs.rewards import ranks
from pytest_dialeval.runs.summary import (
    LeaderboardRow,
    RankedFigure,
    RatedAgent,
    RatedPair,
    RatingFigures,
    Ratings,
    TaskElo,
)
from pytest_dialeval.statistics.bradley_terry import Strength, bradley_terry, overlap
from pytest_dialeval.statistics.elo import SCALE, START, Game, elo, mean_elo, mean_over_tasks
from pytest_dialeval.statistics.intervals import MIN_CASES, over_cases

REASONS = 5  # why matches are undecided
Scored = Sequence[tuple[Source, Sequence[ScoredTrial]]]


def rate(
    scored: Scored,
    matches: Sequence[Match],
    votes: Sequence[Match] = (),
    notes: Sequence[str] = (),
) -> Ratings | None:
    """The ratings; None where fewer than two agents ran. Votes come in the order of their times."""
    agents = list(dict.fromkeys(each.trial.agent for _, trials in scored for each in trials))
    if len(agents) < 2:
        return None
    sources = [source for source, _ in scored]
    ordered = [each for source in sources for each in in_order(matches, source)]
    ratings = [
        figures
        for by in _kinds(sources, votes)
        for figures in _both(by, sources, [*ordered, *votes], agents)
    ]
    rows = [_row(each, scored, ratings) for each in agents]
    return Ratings(
        comparer=_comparer(sources),
        leaderboard=sorted(rows, key=_place),
        ratings=ratings,
        notes=list(notes),
    )


def _place(row: LeaderboardRow) -> float:
    value = row.task_score if row.ranked is None else row.ranked.value
    return math.inf if value is None else -value


def _kinds(sources: Sequence[Source], votes: Sequence[Match]) -> list[By]:
    by: list[By] = list(dict.fromkeys(each.compare.by for each in sources))
    return [*by, "human"] if votes else by


def _comparer(sources: Iterable[Source]) -> str | None:
    specs = [each.compare.comparer.spec for each in sources if each.compare.comparer]
    return ", ".join(dict.fromkeys(each.name for each in specs if each)) or None


# ---- one rating


def _both(
    by: By, sources: Sequence[Source], matches: Sequence[Match], agents: Sequence[str]
) -> Iterable[RatingFigures]:
    own = [each for each in matches if each.by == by]
    rated = [each for each in sources if by in ("human", each.compare.by)]
    yield _Rating(by, "all", rated, own, agents).figures()
    same = [each for each in own if each.same_instruction]
    yield _Rating(by, "same instruction", rated, same, agents).figures()


@dataclass(frozen=True, slots=True)
class _Rating:
    """All matches of one kind, in the order in which they are rated."""

    by: By
    rounds: Literal["all", "same instruction"]
    sources: Sequence[Source]
    matches: Sequence[Match]
    agents: Sequence[str]

    @property
    def decided(self) -> list[Match]:
        return [each for each in self.matches if each.winner is not None]

    def figures(self) -> RatingFigures:
        """All that summary.json says of these matches."""
        undecided = [each.why for each in self.matches if each.winner is None]
        twice = [each for each in self.decided if each.consistent is not None]
        inconsistent = sum(not each.consistent for each in twice)
        common = self._common()
        k, start, scale = common or (None, None, None)
        kind, clusters = self._clusters()
        tasks = [_task_elo(each, self.decided) for each in self.sources]
        strengths = bradley_terry(
            _games(self.decided),
            clusters,
            start=START if start is None else start,
            scale=SCALE if scale is None else scale,
        )
        return RatingFigures(
            by=self.by,
            rounds=self.rounds,
            k=k,
            start=start,
            scale=scale,
            matches=len(self.decided),
            undecided=len(undecided),
            why_undecided=list(dict.fromkeys(undecided))[:REASONS],
            both_bad=sum(each.both_bad for each in self.decided),
            judged_twice=len(twice),
            inconsistent=inconsistent,
            inconsistent_share=inconsistent / len(twice) if twice else None,
            clustered_by=kind,
            clusters=len(set(clusters)),
            agents=self._agents(tasks if common else [], strengths),
            pairs=self._pairs(strengths, clusters),
            tasks=tasks,
        )

    def _common(self) -> tuple[float, float, float] | None:
        """k, start and scale, where all suites have the same."""
        found = {(each.compare.k, each.compare.start, each.compare.scale) for each in self.sources}
        return found.pop() if len(found) == 1 else None

    def _clusters(self) -> tuple[Literal["task", "case"], list[Hashable]]:
        """What was sampled: tasks, where there are enough of them to say so, else cases."""
        tasks = {each.source for each in self.decided}
        if len(tasks) >= MIN_CASES:
            return "task", [each.source for each in self.decided]
        return "case", [(each.source, each.case) for each in self.decided]

    def _agents(
        self, tasks: Sequence[TaskElo], strengths: Mapping[str, Strength]
    ) -> list[RatedAgent]:
        in_order_ = mean_over_tasks(each.elo for each in tasks)
        shuffled = mean_over_tasks(each.elo_mean for each in tasks)
        won = _results(self.decided)
        return [
            RatedAgent(
                agent=name,
                matches=won[name].total(),
                wins=won[name][1.0],
                ties=won[name][0.5],
                losses=won[name][0.0],
                elo=in_order_.get(name),
                elo_mean=shuffled.get(name),
                **_strength(strengths.get(name)),
            )
            for name in self.agents
        ]

    def _pairs(
        self, strengths: Mapping[str, Strength], clusters: Sequence[Hashable]
    ) -> list[RatedPair]:
        own: dict[frozenset[str], list[int]] = defaultdict(list)
        for index, each in enumerate(self.decided):
            own[frozenset((each.left, each.right))].append(index)
        return [
            _pair(
                left,
                right,
                [self.decided[index] for index in own[frozenset((left, right))]],
                _separated(
                    strengths.get(left),
                    strengths.get(right),
                    len({clusters[index] for index in own[frozenset((left, right))]}),
                ),
            )
            for left, right in combinations(self.agents, 2)
        ]


def _games(matches: Iterable[Match]) -> list[Game]:
    return [(each.left, each.right, POINTS[each.winner]) for each in matches if each.winner]


def _task_elo(source: Source, matches: Sequence[Match]) -> TaskElo:
    games = _games(each for each in matches if each.source == source.name)
    rule = source.compare
    return TaskElo(
        task=source.task,
        source=source.name,
        matches=len(games),
        elo=elo(games, k=rule.k, start=rule.start, scale=rule.scale),
        elo_mean=mean_elo(games, k=rule.k, start=rule.start, scale=rule.scale),
    )


def _results(matches: Iterable[Match]) -> Mapping[str, Counter[float]]:
    found: dict[str, Counter[float]] = defaultdict(Counter)
    for left, right, points in _games(matches):
        found[left][points] += 1
        found[right][1 - points] += 1
    return found


def _strength(found: Strength | None) -> dict[str, object]:
    strength = found or Strength(None)
    return {
        "bradley_terry": strength.value,
        "low": strength.low,
        "high": strength.high,
        "apart": strength.apart,
    }


def _separated(one: Strength | None, other: Strength | None, clusters: int) -> bool | None:
    """Whether two are told apart; None where there is too little to say."""
    if one is None or other is None or clusters < MIN_CASES:
        return None
    # With no number for one of them all of its matches went one way.
    if "never loses" in (one.apart, other.apart) or "never wins" in (one.apart, other.apart):
        return True
    overlapping = overlap(one, other)
    return None if overlapping is None else not overlapping


def _pair(left: str, right: str, matches: Sequence[Match], separated: bool | None) -> RatedPair:
    points = Counter(ours if first == left else 1 - ours for first, _, ours in _games(matches))
    return RatedPair(
        left=left,
        right=right,
        matches=len(matches),
        left_wins=points[1.0],
        ties=points[0.5],
        right_wins=points[0.0],
        inconsistent=sum(each.consistent is False for each in matches),
        separated=separated,
    )


# ---- the leaderboard


def _row(agent: str, scored: Scored, ratings: Sequence[RatingFigures]) -> LeaderboardRow:
    tasks = [found for _, trials in scored if (found := _task_mean(agent, trials, _score))]
    value, low, high = _mean_over_tasks(tasks)
    return LeaderboardRow(
        agent=agent,
        tasks=len(tasks),
        of_tasks=len(scored),
        task_score=value,
        low=low,
        high=high,
        elo={
            each.by: rated.elo
            for each in ratings
            if each.rounds == "all"
            for rated in each.agents
            if rated.agent == agent and rated.elo is not None
        },
        ranked=_ranked(agent, scored),
    )


def _ranked(agent: str, scored: Scored) -> RankedFigure | None:
    """What the agent is sorted by where some suite ranks by rewards; others bring their score."""
    if not any(ranks(source.scoring) for source, _ in scored):
        return None
    means = [
        _task_mean(agent, trials, _reward if ranks(source.scoring) else _score)
        for source, trials in scored
    ]
    tasks = [each for each in means if each]
    value, low, high = _mean_over_tasks(tasks)
    return RankedFigure(value=value, low=low, high=high, tasks=len(tasks))


def _score(trial: ScoredTrial) -> float | None:
    return trial.score.task_score


def _reward(trial: ScoredTrial) -> float | None:
    return trial.rewards.ranked if trial.rewards else None


@dataclass(frozen=True, slots=True)
class _TaskMean:
    value: float
    low: float | None
    high: float | None


def _task_mean(
    agent: str, trials: Sequence[ScoredTrial], worth: Callable[[ScoredTrial], float | None]
) -> _TaskMean | None:
    """The mean over an agent's trials of one task that are worth something known.

    Its interval is clustered by case.
    """
    cases: dict[str, list[float]] = defaultdict(list)
    for each in trials:
        if each.trial.agent == agent and (value := worth(each)) is not None:
            cases[each.trial.persona].append(value)
    scores = [score for case in cases.values() for score in case]
    if not scores:
        return None
    interval = over_cases([math.fsum(each) / len(each) for each in cases.values()])
    mean = math.fsum(scores) / len(scores)
    if interval is None:
        return _TaskMean(mean, None, None)
    # It is centred on the mean of the cases, whose numbers of scored trials may differ.
    return _TaskMean(mean, min(mean, interval.low), max(mean, interval.high))


def _mean_over_tasks(
    tasks: Sequence[_TaskMean],
) -> tuple[float | None, float | None, float | None]:
    """The mean, and its interval from those of the tasks (Zou and Donner 2008)."""
    if not tasks:
        return None, None, None
    many = len(tasks)
    value = math.fsum(each.value for each in tasks) / many
    below = [None if each.low is None else each.value - each.low for each in tasks]
    above = [None if each.high is None else each.high - each.value for each in tasks]
    return value, _moved(value, below, -1 / many), _moved(value, above, 1 / many)


def _moved(value: float, distances: Sequence[float | None], by: float) -> float | None:
    known = [each for each in distances if each is not None]
    if len(known) < len(distances):
        return None
    return min(1.0, max(0.0, value + by * math.hypot(*known)))
