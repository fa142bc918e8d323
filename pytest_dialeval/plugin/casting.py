"""Which models play which roles of a source, and whether the budget can be kept with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dialeval.errors import BudgetProblem, DialevalError, SuiteError
from pytest_dialeval.records.suite import Problem

if TYPE_CHECKING:
    from pytest_dialeval.plugin.engine import Engine
    from pytest_dialeval.plugin.sources import LoadedSource
    from pytest_dialeval.records.model import ModelSpec, Role
    from pytest_dialeval.records.suite import Suite


def cast_of(engine: Engine, suite: Suite) -> dict[Role, ModelSpec]:
    """The model of each role that has one; SuiteError names what is wrong."""
    from pytest_dialeval.errors import ModelProblem

    try:
        found = engine.settings.models(suite.models)
    except ModelProblem as error:
        raise SuiteError([Problem(engine.relative(Path(suite.path)), 1, str(error))]) from None
    return {role: each.spec for role, each in found.items() if each.spec is not None}


def named(spec: ModelSpec) -> str:
    """How a model is called in figures."""
    return spec.name


def players(source: LoadedSource) -> dict[str, dict[str, str]]:
    """For each agent: role -> model, of the roles that a model does play."""
    try:
        playing: dict[str, str] = {role: named(each) for role, each in source.playing.items()}
    except DialevalError:  # a hook's answer that can't be used: each of its items says so
        playing = {}
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
    agents = (agent_model(source, each) for each in source.agents)
    found = [*source.playing.values(), *(each for each in agents if each is not None)]
    by_body = source.body is not None and source.offers.judge is None and not source.no_judge
    if by_body and "judge" in source.models:  # its body may ask the judge
        found.append(source.models["judge"])
    if (comparer := comparer_of(source)) is not None:
        found.append(comparer)
    return found


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

    specs = [spec for each in sources for spec in asked(each)]
    try:
        check_prices(
            parse_budget(text), specs, Prices(read_prices(engine.settings.tables["prices"]))
        )
    except BudgetProblem as error:
        return f"--dialeval-budget: {error}"
    return None
