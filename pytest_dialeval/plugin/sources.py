"""A suite as pytest collected it: its plan, its agents, its rubrics ready to grade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_dialeval.conversation.resolve import secret_variables
from pytest_dialeval.errors import SuiteError
from pytest_dialeval.grading.grade import CompiledRubric, compile_rubrics
from pytest_dialeval.models.specs import PROJECT
from pytest_dialeval.planning.cases import Naming, plan_personas, plan_recordings
from pytest_dialeval.planning.schedule import schedule
from pytest_dialeval.plugin.bounds import breaches_gated, decides
from pytest_dialeval.plugin.casting import cast_of, named_by, players
from pytest_dialeval.plugin.choice import FIXTURE, HOOK, Chosen, definition
from pytest_dialeval.plugin.matching_up import comparison
from pytest_dialeval.plugin.recorded import recorded_of
from pytest_dialeval.records.follow_up import ANCHOR, Behaviour
from pytest_dialeval.records.model import ModelSpec, Role
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.run import Source, fails_its_item
from pytest_dialeval.records.suite import (
    AgentSpec,
    Gates,
    Limits,
    Problem,
    Scoring,
    Suite,
)
from pytest_dialeval.records.task import Persona
from pytest_dialeval.records.transcript import Recording
from pytest_dialeval.records.verdict import Verdict

if TYPE_CHECKING:
    from pytest_dialeval.conversation.user import Simulator
    from pytest_dialeval.grading.judge import Judge
    from pytest_dialeval.plugin.collection import Cell
    from pytest_dialeval.plugin.engine import Engine
    from pytest_dialeval.plugin.offers import Offers

RECORDED = "recorded"
MOST_TRIALS = 100_000  # an item costs half a millisecond and 8 kB; a slip of the finger hours


@dataclass(eq=False)
class LoadedSource:
    """One suite file, or one decorated function, in this session."""

    engine: Engine
    name: str
    suite: Suite
    seed: str
    limits: Limits
    agents: Mapping[str, AgentSpec]
    trials: tuple[PlannedTrial, ...]
    rubrics: tuple[Rubric, ...]
    compiled: Mapping[str, CompiledRubric]
    offers: Offers
    models: Mapping[Role, ModelSpec] = field(default_factory=dict)
    anchor: str = ""  # names the fixture that brings the agent
    recordings: dict[str, Recording] = field(default_factory=dict)
    recorded_agents: tuple[str, ...] = ()  # whose recordings there are, wanted or not
    bodies: dict[str, dict[str, Verdict]] = field(default_factory=dict)  # trial -> item -> verdict
    fixtures: dict[Any, Any] = field(default_factory=dict)  # item's function -> what it needs
    shown: dict[str, str] = field(default_factory=dict)  # a rubric's file -> what pytest calls it
    _paths: dict[str, Path] = field(default_factory=dict)

    @property
    def recorded(self) -> bool:
        """Whether its conversations exist already, in a file or a stored run."""
        return bool(self.suite.transcripts) or self.engine.stored is not None

    @property
    def body(self) -> str | None:
        """The rubric that stands for a decorated function's body."""
        return next((each.id for each in self.rubrics if each.spec.method == "body"), None)

    @property
    def scoring(self) -> Scoring | None:
        """A decorated function's trial passes when its body and its hard rubrics do."""
        return None if self.body else self.suite.scoring

    @property
    def gates(self) -> Gates:
        return Gates() if self.body else self.suite.gates

    @cached_property
    def decide(self) -> Literal["items", "gates"]:
        """Whether its items or its gates fail the run."""
        return decides(self.engine.settings, self.gates)

    def fails(self, rubric: Rubric) -> bool:
        """Whether a failed verdict of that rubric is an F."""
        return fails_its_item(rubric, self.decide, breaches_gated=self.breaches_gated)

    @cached_property
    def breaches_gated(self) -> bool:
        return breaches_gated(self.engine.settings, self.gates)

    @cached_property
    def judged(self) -> bool:
        """Whether a judge decides any of its rubrics."""
        return any(each.spec.method == "judge" for each in self.rubrics)

    @property
    def no_judge(self) -> bool:
        """Whether judging is switched off by choice."""
        return bool(self.engine.settings.get("no-judge").value)

    @property
    def secrets(self) -> set[str]:
        """Names of variables whose values must reach no file."""
        by_role = {each.api_key_env for each in self.models.values() if each.api_key_env}
        return by_role.union(*map(secret_variables, self.agents.values()))

    @cached_property
    def judge(self) -> Judge | None:
        """The judge that a hook brings, unless the suite or this call of pytest names a model."""
        return None if self._named("judge") else self.offers.judge

    @cached_property
    def simulator(self) -> Simulator | None:
        """The same of the simulated user."""
        return None if self._named("user") else self.offers.simulator

    def _named(self, role: Role) -> bool:
        # Hooks stand between: nearer to a suite than the project's file, not as near as its own.
        return role in self.models and named_by(self.engine, self.suite, role) != PROJECT

    @cached_property
    def playing(self) -> Mapping[Role, ModelSpec]:
        """Roles beside the agent's that a model plays here."""
        return {role: each for role, each in self.models.items() if self._plays(role)}

    def _plays(self, role: Role) -> bool:
        match role:
            case "user":
                return not self.recorded and self.simulator is None
            case "judge":
                asked = self.judged or self.body is not None  # what a body asks is its own affair
                return asked and not self.no_judge and self.judge is None
        return False

    @cached_property
    def personas(self) -> dict[str, Persona]:
        return {each.id: each for each in self.suite.personas}

    def path_of(self, rubric: Rubric) -> Path:
        """The file that the rubric is written in."""
        if rubric.file not in self._paths:
            self._paths[rubric.file] = self.engine.rootdir / rubric.file
        return self._paths[rubric.file]

    def persona(self, name: str) -> Persona:
        return self.personas[name]

    def recording(self, trial: PlannedTrial) -> Recording:
        """The conversation that exists; RunError where a stored run has none."""
        if self.engine.stored is not None and not self.suite.transcripts:
            return self.engine.stored.recording(trial)
        return self.recordings[trial.id]

    def uses_fixture(self, agent: str) -> bool:
        return self.agents[agent].use == FIXTURE and not self.recorded

    def in_process(self, agent: str) -> bool:
        """Whether the agent's code runs in this process, where it could reach our verdicts."""
        spec = self.agents[agent]
        ours = spec.use in (FIXTURE, HOOK) or spec.use in self.offers.agents
        return ours or spec.use.startswith("python:") or bool(spec.options.get("tools"))

    def tags(self, cell: Cell) -> tuple[str, ...]:
        """Tags of the rubric and of the persona."""
        persona = self.personas.get(cell.trial.persona)
        found = (*(cell.rubric.tags if cell.rubric else ()), *(persona.tags if persona else ()))
        return tuple(dict.fromkeys(found))

    def header(self, trial: PlannedTrial) -> dict[str, object]:
        """The start event of a trace: what is to be held, and digests of what it stands on."""
        persona = self.personas[trial.persona]
        return {
            "trial_id": trial.id,
            "source": self.name,
            "task": trial.task,
            "version": self.suite.task.version,
            "agent": trial.agent,
            "agent_version": self.agents[trial.agent].version,
            "persona": trial.persona,
            "traits": dict(persona.traits),
            "trial": trial.number,
            "attempt": trial.attempt,
            "seed": self.seed,
            **self._follow_ups(),
            "digests": {
                "suite": self.suite.sha256,
                "agent": definition(
                    self.agents[trial.agent], self.anchor, str(self.engine.rootdir)
                ),
            },
        }

    def _follow_ups(self) -> dict[str, object]:
        """Which follow-up comes in which round, and by whose leaning; nothing where none does."""
        task = self.suite.task
        if task.rounds is None or self.simulator is not None:
            return {}
        due = schedule(self.seed, task.id, task.rounds, task.max_rounds)
        named = {
            str(number): each.id if isinstance(each, Behaviour) else ANCHOR
            for number, each in due.items()
        }
        return {"profile": task.rounds.profile.id, "schedule": named}

    def facts(self, selected: Mapping[str, Sequence[str]]) -> Source:
        """What this source contributes to plan.json."""
        suite, root = self.suite, self.engine.relative
        ids = {each.id for each in self.trials}
        return Source(
            name=self.name,
            suite=root(Path(suite.path)),
            sha256=suite.sha256,
            files={root(Path(path)): digest for path, digest in suite.files.items()},
            task=suite.task.id,
            version=suite.task.version,
            title=suite.task.title,
            seed=self.seed,
            scoring=self.scoring,
            gates=self.gates,
            rubrics=self.rubrics,
            agents={each.name: each.version for each in self.agents.values()},
            uses={each.name: each.use for each in self.agents.values()},
            models=players(self),
            trials=self.trials,
            selected={
                each.id: tuple(selected[each.id]) for each in self.trials if each.id in selected
            },
            decide=self.decide,
            breaches_gated=self.breaches_gated,
            notes=tuple(map(str, suite.notes)),
            items={nodeid: trial for nodeid, trial in self.engine.homes.items() if trial in ids},
            asked={
                trial: tuple(found) for trial, found in self.engine.asked.items() if trial in ids
            },
            compare=comparison(self),
        )


def from_personas(
    engine: Engine,
    name: str,
    suite: Suite,
    chosen: Chosen,
    offers: Offers,
    *,
    anchor: str = "",
    trials: int | None = None,
    personas: Sequence[str] | None = None,
    rubrics: Sequence[Rubric] | None = None,
) -> LoadedSource:
    """A source whose conversations are still to be held."""
    settings = engine.settings
    graded = tuple(suite.rubrics if rubrics is None else rubrics)
    count = settings.get("trials", 1, suite=trials or suite.own("trials")).value
    _check_size(suite, count * len(chosen.specs) * len(suite.personas), engine)
    planned = plan_personas(
        suite,
        Naming(name, chosen.show),
        [(each.name, definition(each, anchor, str(engine.rootdir))) for each in chosen.specs],
        trials=count,
        personas=personas,
        rubrics=[each.id for each in graded],
    )
    return LoadedSource(
        engine=engine,
        name=name,
        suite=suite,
        seed=settings.get("seed", suite.task.id, suite=suite.own("seed")).value,
        limits=engine.limits(suite),
        agents={each.name: each for each in chosen.specs},
        trials=tuple(planned),
        rubrics=graded,
        compiled=_compile(graded, offers),
        offers=offers,
        models=cast_of(engine, suite),
        anchor=anchor,
    )


def from_transcripts(engine: Engine, name: str, suite: Suite, offers: Offers) -> LoadedSource:
    """A source whose conversations exist already."""
    found = recorded_of(engine, suite)
    naming = Naming(name, show_agent=len(found.agents) > 1)
    planned = [
        trial
        for agent, recordings in found.recordings.items()
        for trial in plan_recordings(suite, naming, agent, recordings)
    ]
    return LoadedSource(
        engine=engine,
        name=name,
        suite=suite,
        seed=suite.seed or suite.task.id,
        limits=engine.limits(suite),
        agents={each: AgentSpec(each, RECORDED) for each in found.recordings},
        trials=tuple(each.trial for each in planned),
        rubrics=suite.rubrics,
        compiled=_compile(suite.rubrics, offers),
        offers=offers,
        models=cast_of(engine, suite),
        recordings={each.trial.id: each.recording for each in planned},
        recorded_agents=tuple(found.agents),
    )


def _check_size(suite: Suite, trials: int, engine: Engine) -> None:
    if trials > MOST_TRIALS:
        name = engine.relative(Path(suite.path))
        text = f"{trials} trials are more than {MOST_TRIALS}, the most of one suite"
        raise SuiteError([Problem(name, 1, f"{text}: lower `trials`")])


def _compile(rubrics: Sequence[Rubric], offers: Offers) -> dict[str, CompiledRubric]:
    graded = [each for each in rubrics if each.spec.method != "body"]
    return {each.rubric.id: each for each in compile_rubrics(graded, offers.matchers)}
