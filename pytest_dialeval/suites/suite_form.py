"""How a suite file is written at its top, and everything that is small."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field

from pytest_dialeval.records.match import Comparison
from pytest_dialeval.records.model import Role
from pytest_dialeval.records.suite import TIMEOUT, TURN_TIMEOUT, Scoring
from pytest_dialeval.suites.form import (
    Count,
    Flag,
    Form,
    Id,
    Line,
    LooseText,
    Name,
    NotNegative,
    Number,
    One,
    Positive,
    Share,
    Whole,
    must,
    one_of,
)
from pytest_dialeval.suites.task_form import TaskForm

Format = Literal["dialeval", "harbor", "openai", "tau-bench", "tau2"]
Decide = Literal["items", "gates"]
By = Literal["judge", "score"]
_SCORING = Scoring()
_COMPARISON = Comparison()


def _weights(value: object) -> object:
    """Weights that are all equal where true stands."""
    return ({} if value else None) if isinstance(value, bool) else value


class TranscriptForm(Form):
    """A file, or a folder, of conversations that exist already."""

    noun: ClassVar[str] = "a transcript source"

    format: Annotated[Format, one_of(*get_args(Format))] = Field(
        description="how the file is written"
    )
    path: Line = Field(description="the file or folder, from the suite's folder")
    agent: Id | None = Field(
        None,
        description="what reports call the agent that spoke; of a file that names several, the one "
        "to grade",
    )


class LimitsForm(Form):
    """How long anything may take."""

    noun: ClassVar[str] = "limits"

    turn_timeout: Positive = Field(TURN_TIMEOUT, description="seconds for one answer of the agent")
    timeout: Positive = Field(TIMEOUT, description="seconds for a whole conversation")
    max_context_chars: Whole | None = Field(
        None, description="characters of a conversation that a model is shown at most"
    )


class WeightsForm(Form):
    """The parts of the task score."""

    noun: ClassVar[str] = "scoring weights"

    completion: NotNegative = Field(
        _SCORING.completion, description="weight of the completion rubrics"
    )
    robustness: NotNegative = Field(
        _SCORING.robustness, description="weight of the robustness rubrics"
    )


class UxForm(Form):
    """How much each subscore counts in `ux_reward`."""

    noun: ClassVar[str] = "weights of ux"

    task_success: Positive = Field(1.0, description="what was asked for at first is done")
    final_requirement: Positive = Field(1.0, description="what is wanted at the end is met")
    correction: Positive = Field(1.0, description="mistakes that were shown are put right")
    testing: Positive = Field(1.0, description="what was changed is tested, and told as it was")
    context_keeping: Positive = Field(1.0, description="earlier rounds are kept to")
    user_burden: Positive = Field(1.0, description="the user was spared work")


class ScoringForm(Form):
    """When a trial passes by its score."""

    noun: ClassVar[str] = "scoring"

    pass_mark: Share = Field(
        _SCORING.pass_mark, alias="pass", description="the task score that passes"
    )
    weights: WeightsForm = Field(WeightsForm(), description="what the task score is made of")
    pass_on: Name | None = Field(None, description="one rubric that decides alone")
    ux: Annotated[
        UxForm | None,
        BeforeValidator(_weights, json_schema_input_type=bool | UxForm),
        must(lambda value: isinstance(value, bool | dict), "true, false or weights by subscore"),
    ] = Field(None, description="six judged rubrics about work over several rounds, or none")


class PassHatKForm(Form):
    """A bound on Pass^k."""

    noun: ClassVar[str] = "a pass_hat_k gate"

    k: Whole = Field(description="trials in a row that must pass")
    min: Share = Field(description="the least Pass^k")


class BaselineForm(Form):
    """A run that is not to be fallen behind."""

    noun: ClassVar[str] = "a baseline gate"

    path: Line = Field(description="a file that `dialeval baseline` wrote, from the suite's folder")
    max_drop: Share | None = Field(
        None,
        description="an engineering threshold: the most that pass rate or task score may fall; "
        "without it a test tells a fall from chance",
    )


class GatesForm(Form):
    """What a run must reach."""

    noun: ClassVar[str] = "gates"
    # Nothing decides this yet, and a gate that decides nothing would let everything pass.
    later: ClassVar[frozenset[str]] = frozenset({"coverage"})

    decide: Annotated[Decide, one_of(*get_args(Decide))] | None = Field(
        None, description="whether single items or only gates fail the run"
    )
    pass_hat_k: PassHatKForm | None = Field(
        None, description="the least Pass^k, read pessimistically"
    )
    mean_score: Share | None = Field(None, description="the least mean task score")
    safety_breaches: Count | None = Field(None, description="safety breaches allowed")
    unmeasured: Count | None = Field(None, description="unmeasured trials allowed")
    distinct_models: Flag | None = Field(
        None, description="whether agent, user and judge must be three models"
    )
    baseline: BaselineForm | None = Field(
        None, description="a run that this one must not be worse than"
    )


class CompareForm(Form):
    """How two agents are compared."""

    noun: ClassVar[str] = "compare"

    by: Annotated[By, one_of(*get_args(By))] = Field("score", description="what decides a match")
    k: Positive = Field(_COMPARISON.k, description="how far one match moves an Elo rating")
    start: Number = Field(_COMPARISON.start, description="the rating before the first match")
    scale: Positive = Field(
        _COMPARISON.scale, description="the distance at which ten wins are expected for one loss"
    )


class VotesForm(Form):
    """What people may say of a match."""

    noun: ClassVar[str] = "votes"

    both_bad: Flag = Field(
        _COMPARISON.both_bad, description="whether a vote may say that both answers were bad"
    )


class ModelForm(Form):
    """A model for one role, or what changes of one that another source names."""

    model_config: ClassVar[Any] = {"extra": "allow", "frozen": True}
    noun: ClassVar[str] = "a model"

    # A factory, as the schema would tell the default of a key that must not be blank.
    model: Line = Field(default_factory=str, description="the model's name")


class PartForm(Form):
    """An included file: personas, rubrics, and what it includes itself."""

    noun: ClassVar[str] = "an included file"

    personas: list[Any] = Field([], description="simulated users")
    rubrics: list[Any] = Field([], description="criteria")
    include: list[Line] = Field([], description="more files, from this file's folder")


class SuiteForm(Form):
    """A suite file. Agents, personas, rubrics and models are read one by one."""

    noun: ClassVar[str] = "a suite"

    dialeval: One = Field(description="the version of this format: 1")
    task: TaskForm = Field(description="what the agent is asked to do")
    agents: dict[Id, Any] = Field({}, description="agents by name")
    run: list[Id] | None = Field(
        None, description="which of the agents run; all where it is not given", min_length=1
    )
    personas: list[Any] = Field([], description="simulated users; or give `transcripts`")
    transcripts: list[TranscriptForm] = Field(
        [], description="files of conversations that exist already, instead of `personas`"
    )
    rubrics: list[Any] = Field([], description="criteria")
    include: list[Line] = Field(
        [], description="files with more personas and rubrics, from this file's folder"
    )
    trials: Whole = Field(1, description="conversations a case")
    seed: LooseText | None = Field(None, description="changes every draw; the task's id by default")
    limits: LimitsForm = Field(LimitsForm(), description="deadlines and sizes")
    scoring: ScoringForm | None = Field(
        None, description="pass by score; without it a trial passes when no hard rubric failed"
    )
    gates: GatesForm = Field(GatesForm(), description="what the run must reach")
    models: dict[Annotated[Role, one_of(*get_args(Role))], Any] = Field(
        {}, description="models by role: a spec such as openai:NAME, or a mapping; null for none"
    )
    compare: CompareForm | None = Field(None, description="how agents are compared")
    votes: VotesForm = Field(VotesForm(), description="what people may say when they compare")
