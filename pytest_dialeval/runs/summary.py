"""summary.json: what scripts, gates and baselines read, as a published schema."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA = "dialeval.summary/1"


class Record(BaseModel):
    # Every key is always written: a script need not ask whether it is there.
    model_config = ConfigDict(
        extra="forbid", frozen=True, json_schema_serialization_defaults_required=True
    )


class PassKFigure(Record):
    """One point of a Pass^k or pass@k curve."""

    value: float | None = Field(description="mean over cases; unmeasured trials left out")
    value_pessimistic: float | None = Field(description="the same, unmeasured trials as failures")
    low: float | None = Field(description="95 % interval, clustered by case; null below 10 cases")
    high: float | None
    cases: int = Field(description="cases with at least k measured trials")
    of_cases: int = Field(description="all cases")


class Dimensions(Record):
    """Means over the trials where the dimension was measured."""

    completion: float | None
    robustness: float | None
    safety: float | None = Field(description="share of trials without a breach")


class PersonaFigures(Record):
    id: str
    original: str | None = Field(description="the recorded task id where it is no valid id")
    trials: int
    passed: int
    unmeasured: int
    pass_rate: float | None
    task_score_mean: float | None


class RubricFigures(Record):
    id: str
    dimension: str
    severity: str
    n: int = Field(description="verdicts that passed or failed")
    passed: int
    mean: float | None = Field(description="mean score over n")
    not_applicable: int
    unscored: int


class SimulatorFigures(Record):
    """How lines of a simulated user that a model plays came about; probes are left out."""

    model: str | None = Field(description="who worded them; null where the run does not say")
    lines: int = Field(description="worded by the model and sent")
    asked_again: int = Field(description="first replies that were not sent")
    template: int = Field(description="said as the script has them: no reply could be sent")
    reasons: dict[str, int] = Field(description="why a first reply was not sent -> how often")


class RewardMean(Record):
    """Averaged over the trials that have it, and over no other."""

    mean: float | None
    n: int


class TrialRewards(Record):
    """What one trial is worth; null where it was not asked for, or could not be told."""

    trial: str
    persona: str
    number: int
    verifier_first: float | None = Field(description="the verifier's reward after round 1")
    verifier_last: float | None = Field(description="its reward at the end")
    ux_reward: float | None = Field(description="weighted mean of the judged subscores")
    ranked_reward: float | None = Field(description="ux_reward, 0 where the verifier failed last")
    why: str = Field("", description="why `ranked_reward` is null though the suite asks for it")


class RewardFigures(Record):
    """Rewards of an agent's trials: of a verifier, of the judge, and what agents are ranked by."""

    verifier_first: RewardMean
    verifier_last: RewardMean
    ux_reward: RewardMean
    ranked_reward: RewardMean
    trials: list[TrialRewards]


class AgentFigures(Record):
    name: str
    agent_version: str | None
    isolated: bool = Field(description="false: the agent ran inside this process")
    models: dict[str, str] = Field({}, description="role -> model, of roles that a model played")
    cases: int
    trials: int
    passed: int
    unmeasured: int
    pass_rate: float | None = Field(description="passed / measured trials")
    pass_hat_k: dict[str, PassKFigure]
    pass_at_k: dict[str, PassKFigure]
    scored: int = Field(description="trials that have a task score")
    task_score_mean: float | None = Field(description="over the scored trials")
    dimensions: Dimensions
    safety_breaches: int = Field(description="trials with at least one failed safety rubric")
    safety_exercised: int = Field(description="trials in which a safety rubric gave a verdict")
    personas: list[PersonaFigures]
    rubrics: list[RubricFigures]
    simulator: SimulatorFigures | None = Field(None, description="null: no model played the user")
    rewards: RewardFigures | None = Field(
        None, description="null: neither a verifier nor `scoring.ux`"
    )


class TaskFigures(Record):
    id: str
    version: str
    title: str
    source: str = Field(description="suite path, or node id of a decorated function")
    selection: Literal["all", "selected rubrics"]
    agents: list[AgentFigures]


class Outcomes(Record):
    """Conversations by outcome."""

    completed: int = 0
    limit_reached: int = 0
    agent_error: int = 0
    simulator_error: int = 0
    judge_error: int = 0
    provider_error: int = 0
    harness_error: int = 0
    cancelled: int = 0
    not_run: int = Field(0, description="selected trials that never began")


class Verdicts(Record):
    """Selected rubric items by what became of them."""

    passed: int = 0
    failed: int = 0
    soft_failed: int = 0
    not_applicable: int = 0
    unmeasured: int = 0
    not_run: int = 0


class GateFigure(Record):
    name: str
    source: str = Field(description="the suite, or the option that set it")
    task: str | None
    agent: str | None
    k: int | None = Field(description="of pass_hat_k")
    bound: float | int | bool = Field(description="of baseline: 0 where a test decides")
    figure: float | None
    n: int
    status: Literal["passed", "failed", "not decided"]
    why: str = ""


class UsageFigure(Record):
    """What the model of one role took; null where an endpoint did not tell."""

    role: str
    calls: int = Field(description="answered by a model")
    failed: int
    tries: int = Field(description="requests sent, for both")
    replayed: int = Field(description="answered from a cassette, for nothing")
    input_tokens: int | None = Field(description="cached ones among them")
    cached_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None = Field(description="null where the price of a call is unknown")
    cost_usd_known: float = Field(description="of the calls whose price is known")
    cost_unknown: int = Field(description="calls whose price is unknown")
    seconds: float = Field(description="sum over calls, of which many run at once")


class BudgetFigure(Record):
    name: str
    limit: float
    spent: float
    left: float


class RatedAgent(Record):
    """One agent in one rating; null where no match was decided."""

    agent: str
    matches: int = Field(description="decided ones")
    wins: int
    ties: int
    losses: int
    elo: float | None = Field(description="mean over tasks of the Elo after each task's matches")
    elo_mean: float | None = Field(description="the same, mean over 200 shuffled orders")
    bradley_terry: float | None = Field(description="null where `apart` says why")
    low: float | None = Field(description="95 % interval of it; null below 10 clusters")
    high: float | None
    apart: Literal["", "never loses", "never wins", "not linked to the others"]


class RatedPair(Record):
    left: str
    right: str
    matches: int
    left_wins: int
    ties: int
    right_wins: int
    inconsistent: int = Field(
        description="ties by two orders in which a judge said different things"
    )
    separated: bool | None = Field(description="intervals do not overlap; null: too few to say")


class TaskElo(Record):
    """The ratings of one task, of which `elo` is the mean."""

    task: str
    source: str
    matches: int
    elo: dict[str, float] = Field(description="agent -> Elo in the order trial, case, round")
    elo_mean: dict[str, float]


class RatingFigures(Record):
    """All matches of one kind, rated."""

    by: Literal["score", "judge", "human"] = Field(description="who decided")
    rounds: Literal["all", "same instruction"]
    k: float | None = Field(description="null where suites differ: then there is no common Elo")
    start: float | None
    scale: float | None
    matches: int = Field(description="decided ones")
    undecided: int
    why_undecided: list[str] = Field(description="reasons, at most 5")
    both_bad: int = Field(description="ties among the matches that a vote called bad on both sides")
    judged_twice: int = Field(description="matches that a judge was asked in both orders")
    inconsistent: int
    inconsistent_share: float | None
    clustered_by: Literal["task", "case"]
    clusters: int
    agents: list[RatedAgent]
    pairs: list[RatedPair]
    tasks: list[TaskElo]


class RankedFigure(Record):
    """What agents are sorted by where a suite of the run has `scoring.ux`."""

    value: float | None = Field(
        description="mean over tasks: of the ranked reward, of the task score in suites without ux"
    )
    low: float | None = Field(description="95 % interval, clustered by case; null below 10 cases")
    high: float | None
    tasks: int = Field(description="tasks that have the figure")


class LeaderboardRow(Record):
    agent: str
    tasks: int = Field(description="tasks with a score of it")
    of_tasks: int
    task_score: float | None = Field(description="mean over tasks of their mean task scores")
    low: float | None = Field(description="95 % interval, clustered by case; null below 10 cases")
    high: float | None
    elo: dict[str, float] = Field(description="score, judge, human -> Elo over all rounds")
    ranked: RankedFigure | None = Field(None, description="null: no suite has `scoring.ux`")


class Ratings(Record):
    """Agents side by side."""

    comparer: str | None = Field(description="the model that compared; null where none did")
    leaderboard: list[LeaderboardRow] = Field(
        description="best `ranked` first where it is given, else best mean task score"
    )
    ratings: list[RatingFigures]
    notes: list[str] = Field([], description="votes that are left out, and why")


class SettingFigure(Record):
    value: str | int | float | bool | list[str] | None
    source: str


class Summary(Record):
    schema_: str = Field(SCHEMA, alias="schema")
    run_id: str
    label: str | None
    created: str
    exit_status: int
    outcomes: Outcomes
    verdicts: Verdicts
    tasks: list[TaskFigures]
    gates: list[GateFigure] = []
    usage: list[UsageFigure] = []
    budget: list[BudgetFigure] = []
    ratings: Ratings | None = Field(None, description="null: fewer than two agents")
    settings: dict[str, SettingFigure] = {}
    notes: list[str] = []


def summary_schema() -> dict[str, object]:
    """The JSON Schema of summary.json."""
    schema = Summary.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
