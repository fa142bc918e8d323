"""Which models play which roles of a source, and whether the budget can be kept with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dialeval.errors import (
    BudgetProblem,
    DialevalError,
    RunError,
    SuiteError,
    TranscriptError,
)
from pytest_dialeval.plugin.choice import MODEL
from pytest_dialeval.records.suite import Problem

if TYPE_CHECKING:
    from pytest_dialeval.models.cassette import Cassette
    from pytest_dialeval.models.recorder import Mode
    from pytest_dialeval.plugin.calling import Desk
    from pytest_dialeval.plugin.engine import Engine
    from pytest_dialeval.plugin.sources import LoadedSource
    from pytest_dialeval.records.model import ModelSpec, Role
    from pytest_dialeval.records.suite import Suite


_NOBODY: tuple[Role, ...] = ("attacker", "improver")  # asked by nobody yet


def cast_of(engine: Engine, suite: Suite) -> dict[Role, ModelSpec]:
    """The model of each role that has one; SuiteError names what is wrong."""
    from pytest_dialeval.errors import ModelProblem

    try:
        found = engine.settings.models(suite.models)
    except ModelProblem as error:
        text = str(error).removeprefix("suite: ")
        line = suite.model_lines.get(text.partition(":")[0], 1)
        raise SuiteError([Problem(engine.relative(Path(suite.path)), line, text)]) from None
    return {role: each.spec for role, each in found.items() if each.spec is not None}


def named_by(engine: Engine, suite: Suite, role: Role) -> str:
    """Who gave the role its model: an option, the environment, the suite, or the project's file."""
    return engine.settings.models(suite.models)[role].sources["endpoint"]


def idle(sources: Sequence[LoadedSource]) -> Iterator[str]:
    """What to note of models that are named and play nothing in any of the sources."""
    whys: dict[Role, list[str]] = {}
    for source in sources:
        for role in source.models:
            try:
                whys.setdefault(role, []).append(_why_idle(source, role))
            except DialevalError:  # a hook's answer that can't be used: each of its items says so
                whys[role] = [""]
    for role, found in whys.items():
        if all(found):
            yield f"the model of {role!r} plays nothing: {found[0]}"


def unnamed(engine: Engine, sources: Sequence[LoadedSource]) -> Iterator[str]:
    """What to note of the project file's models that neither it nor any of the sources names."""
    from pytest_dialeval.models.specs import PROJECT

    tables = engine.settings.tables["models"]
    if not (sources and tables):
        return
    known = {*engine.settings.models(), *(role for each in sources for role in each.models)}
    for role, written in tables.items():
        if written and role not in known:
            says = ", ".join(written)
            remedy = f'add model = "openai:NAME" to {role} in {PROJECT}'
            yield f"nobody names the model of {role!r}, of which {PROJECT} says {says}: {remedy}"


def _why_idle(source: LoadedSource, role: Role) -> str:
    """Empty where it plays, or where an option of this run says that it shall not."""
    if role in _NOBODY:
        return "nobody asks it yet"
    if role in source.playing or (role == "agent" and MODEL in source.agents):
        return ""
    if role == "comparer":
        why = "a model compares agents where `compare: {by: judge}` asks for it and two run"
        return why if comparer_of(source) is None else ""
    if role == "judge":
        if source.no_judge:
            return ""
        hook = source.judge is not None
        return "the hook pytest_dialeval_judges brings a judge" if hook else "no rubric is judged"
    if source.suite.transcripts:
        return "the conversations exist already, in the suite's `transcripts`"
    if source.recorded:
        return ""
    if role == "user":
        return "the hook pytest_dialeval_simulators brings the simulated user"
    named = "the agents are declared or brought, and their `use` names their models"
    return f"{named}; --dialeval-agent NAME=SPEC tests a model in their place"


def clientless(source: LoadedSource) -> Iterator[tuple[str, Role, str]]:
    """Models whose client object is not there: who names it, for which role, what is missing."""
    from pytest_dialeval.conversation.importing import missing_object
    from pytest_dialeval.models.endpoints import PYTHON

    engine, path = source.engine, Path(source.suite.path)
    found = {role: each for role, each in _playing(source).items() if PYTHON in each.endpoint}
    if not found or mode_of(engine, path) == "none":  # which needs no client
        return
    given = engine.settings.models(source.suite.models)
    for role, spec in found.items():
        reference = spec.endpoint.removeprefix(PYTHON)
        if missing := missing_object(reference, [path.parent, engine.rootdir]):
            yield given[role].sources["endpoint"], role, missing


def refuse_clientless(source: LoadedSource) -> None:
    """SuiteError where the suite itself names a client object that is not there."""
    file, lines = source.engine.relative(Path(source.suite.path)), source.suite.model_lines
    problems = [
        Problem(file, lines.get(role, 1), f"{role}: {missing}")
        for given_by, role, missing in clientless(source)
        if given_by == "suite"
    ]
    if problems:
        raise SuiteError(problems)


def _playing(source: LoadedSource) -> Mapping[Role, ModelSpec]:
    try:
        return source.playing
    except DialevalError:  # a hook's answer that can't be used: each of its items says so
        return {}


def named(spec: ModelSpec) -> str:
    """How a model is called in figures."""
    return spec.name


def players(source: LoadedSource) -> dict[str, dict[str, str]]:
    """For each agent: role -> model, of the roles that a model does play."""
    playing: dict[str, str] = {role: named(each) for role, each in _playing(source).items()}
    return {name: {**_agents_own(source, name), **playing} for name in source.agents}


def _agents_own(source: LoadedSource, name: str) -> dict[str, str]:
    spec = agent_model(source, name)
    return {} if spec is None else {"agent": named(spec)}


def agent_model(source: LoadedSource, name: str) -> ModelSpec | None:
    """The model that an agent is, where it is one."""
    from pytest_dialeval.conversation.resolve import model_of

    try:
        return model_of(source.agents[name])
    except DialevalError:  # a spec from an option that can't be read: each of its items says so
        return None


def asked(source: LoadedSource) -> list[ModelSpec]:
    """All models that may be called for a source."""
    talking = () if source.recorded else source.agents
    agents = (agent_model(source, each) for each in talking)
    comparer = comparer_of(source)
    others = (each for each in (*agents, comparer) if each is not None)
    return [*source.playing.values(), *others]


def mode_of(engine: Desk, suite: Path) -> Mode:
    """Whether replies of a suite's models come from its cassette, go into it, or neither."""
    from pytest_dialeval.models.cassette_file import cassette_path
    from pytest_dialeval.models.recorder import default_mode

    mode: Mode = engine.settings.get("record").value or default_mode(cassette_path(suite))
    return mode


def cassette_of(engine: Desk, suite: Path) -> Cassette:
    """What was recorded for a suite; TranscriptError names file and line."""
    from pytest_dialeval.models.cassette import Cassette
    from pytest_dialeval.models.cassette_file import cassette_path, read_cassette

    if mode_of(engine, suite) == "off":
        return Cassette()
    path = cassette_path(suite)
    try:
        return read_cassette(path)
    except (TranscriptError, RunError) as error:
        raise TranscriptError(str(error).replace(str(path), engine.relative(path))) from None


def unreadable(engine: Engine, sources: Iterable[LoadedSource]) -> str | None:
    """What is wrong with a cassette that will be needed: said once, not by every item."""
    for path in dict.fromkeys(each.suite.path for each in sources if asked(each)):
        try:
            engine.cassettes[path] = cassette_of(engine, Path(path))
        except TranscriptError as error:
            return str(error)
    return None


def comparer_of(source: LoadedSource) -> ModelSpec | None:
    """The model that compares the agents of a source; None where none does."""
    if source.suite.compare.get("by") != "judge" or source.no_judge or len(source.agents) < 2:
        return None
    given = source.engine.settings.models(source.suite.models)
    if "comparer" in given:  # `comparer: null` switches it off
        return given["comparer"].spec
    user = source.models.get("user")
    return None if user is None else replace(user, role="comparer", temperature=0.0)


def unaffordable(engine: Engine, sources: Iterable[LoadedSource]) -> str | None:
    """Why the budget can't be kept: an amount in usd where a model's price is unknown."""
    text = engine.settings.get("budget").value
    if text is None:
        return None
    from pytest_dialeval.models.budget import parse_budget
    from pytest_dialeval.models.budgeted import check_prices
    from pytest_dialeval.models.prices import Prices, read_prices

    calling = (each for each in sources if mode_of(engine, Path(each.suite.path)) != "none")
    specs = [spec for each in calling for spec in asked(each)]
    try:
        check_prices(
            parse_budget(text), specs, Prices(read_prices(engine.settings.tables["prices"]))
        )
    except BudgetProblem as error:
        return f"--dialeval-budget: {error}"
    return None
