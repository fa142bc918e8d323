"""Plan and ledger -> the figures of a run; nothing else goes in."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from pytest_dialeval.conversation.fidelity import ASKED_AGAIN, COUNTS, LINES, TEMPLATE
from pytest_dialeval.grading.scoring import score_trial
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.run import Source, TrialFacts
from pytest_dialeval.records.suite import Scoring
from pytest_dialeval.records.verdict import TrialScore, Verdict
from pytest_dialeval.runs.rewards import Rewards, mean_of, rewards_of
from pytest_dialeval.runs.summary import (
    AgentFigures,
    Dimensions,
    Outcomes,
    PassKFigure,
    PersonaFigures,
    RewardFigures,
    RewardMean,
    RubricFigures,
    SimulatorFigures,
    TaskFigures,
    TrialRewards,
    Verdicts,
)
from pytest_dialeval.statistics.pass_k import CaseCount, Reading, pass_curve


@dataclass(frozen=True, slots=True)
class ScoredTrial:
    """One selected trial with its verdicts and score."""

    trial: PlannedTrial
    rubrics: tuple[Rubric, ...]
    verdicts: Mapping[str, Verdict]
    score: TrialScore
    facts: TrialFacts
    rewards: Rewards | None = None  # None: neither a verifier nor subscores


def score_source(source: Source, facts: Mapping[str, TrialFacts]) -> list[ScoredTrial]:
    """Every trial of which at least one rubric is selected, scored over its selected rubrics."""
    by_id = {each.id: each for each in source.rubrics}
    scored = []
    for trial in source.trials:
        selected = source.selected.get(trial.id)
        if selected:
            rubrics = tuple(by_id[each] for each in trial.rubrics if each in selected)
            scored.append(_score(trial, rubrics, facts.get(trial.id, TrialFacts()), source))
    return scored


def _score(
    trial: PlannedTrial, rubrics: tuple[Rubric, ...], facts: TrialFacts, source: Source
) -> ScoredTrial:
    verdicts = {each.id: facts.verdicts.get(each.id) or _missing(each) for each in rubrics}
    outcome = facts.conversation.outcome if facts.conversation else "cancelled"
    score = score_trial(rubrics, verdicts, _scoring(source, rubrics), outcome)
    rewards = rewards_of(source.scoring, verdicts, facts.conversation)
    return ScoredTrial(trial, rubrics, verdicts, score, facts, rewards)


def _scoring(source: Source, rubrics: tuple[Rubric, ...]) -> Scoring | None:
    """How to score: where the selection leaves out what scoring needs, hard rubrics decide."""
    scoring = source.scoring
    if scoring is None or len(rubrics) == len(source.rubrics):
        return scoring
    if scoring.pass_on is not None:
        return scoring if any(each.id == scoring.pass_on for each in rubrics) else None
    return scoring if any(each.dimension != "safety" for each in rubrics) else None


def _missing(rubric: Rubric) -> Verdict:
    return Verdict(rubric.id, "unscored", reason="not run", fault="cancelled")


def task_figures(source: Source, trials: Sequence[ScoredTrial]) -> TaskFigures:
    """One entry of `tasks[]`."""
    agents = dict.fromkeys(each.trial.agent for each in trials)
    return TaskFigures(
        id=source.task,
        version=source.version,
        title=source.title,
        source=source.name,
        selection="all" if source.fully_selected else "selected rubrics",
        agents=[
            agent_figures(source, name, [each for each in trials if each.trial.agent == name])
            for name in agents
        ],
    )


def agent_figures(source: Source, name: str, trials: Sequence[ScoredTrial]) -> AgentFigures:
    """One entry of `tasks[].agents[]`."""
    by_persona: dict[str, list[ScoredTrial]] = {}
    for each in trials:
        by_persona.setdefault(each.trial.persona, []).append(each)
    counts = [_count(found) for found in by_persona.values()]
    scores = [each.score for each in trials]
    return AgentFigures(
        name=name,
        agent_version=source.agents.get(name),
        isolated=all(c.isolated for t in trials if (c := t.facts.conversation)),
        models=dict(source.models.get(name, {})),
        cases=len(by_persona),
        trials=len(trials),
        passed=sum(each.passed for each in counts),
        unmeasured=sum(each.unmeasured for each in counts),
        pass_rate=_rate(trials),
        pass_hat_k=_curve(counts, "hat"),
        pass_at_k=_curve(counts, "at"),
        scored=sum(each.task_score is not None for each in scores),
        task_score_mean=_mean(each.task_score for each in scores),
        dimensions=_dimensions(scores),
        safety_breaches=sum(bool(each.breaches) for each in scores),
        safety_exercised=sum(each.safety_exercised for each in scores),
        personas=[_persona(found) for found in by_persona.values()],
        rubrics=_rubrics(trials),
        simulator=_simulator(trials, source.models.get(name, {}).get("user")),
        rewards=_rewards(trials),
    )


def _rewards(trials: Sequence[ScoredTrial]) -> RewardFigures | None:
    found = [(each.trial, each.rewards) for each in trials if each.rewards is not None]
    if not found:
        return None
    rewards = [each for _, each in found]
    return RewardFigures(
        verifier_first=_reward_mean(each.verifier_first for each in rewards),
        verifier_last=_reward_mean(each.verifier_last for each in rewards),
        ux_reward=_reward_mean(each.ux for each in rewards),
        ranked_reward=_reward_mean(each.ranked for each in rewards),
        trials=[_trial_rewards(trial, each) for trial, each in found],
    )


def _reward_mean(values: Iterable[float | None]) -> RewardMean:
    mean, n = mean_of(values)
    return RewardMean(mean=mean, n=n)


def _trial_rewards(trial: PlannedTrial, rewards: Rewards) -> TrialRewards:
    return TrialRewards(
        trial=trial.id,
        persona=trial.persona,
        number=trial.number,
        verifier_first=rewards.verifier_first,
        verifier_last=rewards.verifier_last,
        ux_reward=rewards.ux,
        ranked_reward=rewards.ranked,
        why=rewards.why,
    )


def _simulator(trials: Sequence[ScoredTrial], model: str | None) -> SimulatorFigures | None:
    """The counts of all conversations in sum; None where no model played the user."""
    told = [found.fidelity for each in trials if (found := each.facts.conversation)]
    counts = Counter[str]()
    for each in told:
        counts.update(each)
    if not any(told):
        return None
    reasons = {name: count for name, count in sorted(counts.items()) if name not in COUNTS}
    return SimulatorFigures(
        model=model,
        lines=counts[LINES],
        asked_again=counts[ASKED_AGAIN],
        template=counts[TEMPLATE],
        reasons=reasons,
    )


def _count(trials: Sequence[ScoredTrial]) -> CaseCount:
    return CaseCount.of(each.score.passed for each in trials)


def _curve(counts: Sequence[CaseCount], reading: Reading) -> dict[str, PassKFigure]:
    curve = pass_curve(counts, reading=reading)
    return {str(k): PassKFigure(**asdict(point)) for k, point in curve.items()}


def _dimensions(scores: Sequence[TrialScore]) -> Dimensions:
    measured = [each for each in scores if each.measured]
    return Dimensions(
        completion=_mean(each.completion for each in measured),
        robustness=_mean(each.robustness for each in measured),
        safety=_mean(each.safety for each in measured if each.safety_exercised),
    )


def _persona(trials: Sequence[ScoredTrial]) -> PersonaFigures:
    count, first = _count(trials), trials[0].trial
    return PersonaFigures(
        id=first.persona,
        original=first.original,
        trials=len(trials),
        passed=count.passed,
        unmeasured=count.unmeasured,
        pass_rate=_rate(trials),
        task_score_mean=_mean(each.score.task_score for each in trials),
    )


def _rubrics(trials: Sequence[ScoredTrial]) -> list[RubricFigures]:
    found: dict[str, tuple[Rubric, list[Verdict]]] = {}
    for trial in trials:
        for rubric in trial.rubrics:
            found.setdefault(rubric.id, (rubric, []))[1].append(trial.verdicts[rubric.id])
    return [_rubric(rubric, verdicts) for rubric, verdicts in found.values()]


def _rubric(rubric: Rubric, verdicts: Sequence[Verdict]) -> RubricFigures:
    statuses = Counter(each.status for each in verdicts)
    return RubricFigures(
        id=rubric.id,
        dimension=rubric.dimension,
        severity=rubric.severity,
        n=statuses["passed"] + statuses["failed"],
        passed=statuses["passed"],
        mean=_mean(each.score for each in verdicts if each.status in ("passed", "failed")),
        not_applicable=statuses["not_applicable"],
        unscored=statuses["unscored"],
    )


def _rate(trials: Sequence[ScoredTrial]) -> float | None:
    return _mean(float(each.score.passed) for each in trials if each.score.passed is not None)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return math.fsum(known) / len(known) if known else None


def count_outcomes(trials: Iterable[ScoredTrial]) -> Outcomes:
    """Conversations by outcome; selected trials without one are `not_run`."""
    found = Counter(
        each.facts.conversation.outcome if each.facts.conversation else "not_run" for each in trials
    )
    return Outcomes(**found)


def count_verdicts(scored: Iterable[tuple[Source, Sequence[ScoredTrial]]]) -> Verdicts:
    """Selected rubrics by what became of them, as pytest counts their items."""
    found: Counter[str] = Counter()
    for source, trials in scored:
        for trial in trials:
            for rubric in trial.rubrics:
                found[_kind(source, rubric, trial.facts.verdicts.get(rubric.id))] += 1
    return Verdicts(**found)


def _kind(source: Source, rubric: Rubric, verdict: Verdict | None) -> str:
    if verdict is None:
        return "not_run"
    if verdict.status == "unscored":
        return "unmeasured"
    if verdict.status == "failed" and not source.fails(rubric):
        return "soft_failed"
    return verdict.status
