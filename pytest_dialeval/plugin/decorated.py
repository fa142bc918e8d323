"""`@dialogue_case` functions -> one item per trial for the body, and one per rubric."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from os.path import isfile
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dialeval.errors import DialevalError, NotMeasured
from pytest_dialeval.plugin import outcomes
from pytest_dialeval.plugin.choice import Wanted
from pytest_dialeval.plugin.collection import CELL, Cell, marks
from pytest_dialeval.plugin.fixture_agent import NAME, fixture_anchor
from pytest_dialeval.plugin.sources import from_personas
from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.records.wording import did_you_mean

if TYPE_CHECKING:
    from pytest_dialeval.plugin.engine import Engine
    from pytest_dialeval.plugin.sources import LoadedSource
    from pytest_dialeval.records.suite import Suite
    from pytest_dialeval.suites.decorated import DecoratedCase

ARGUMENT = "dialogue"
_WORST_FIRST = ("failed", "unscored", "passed", "not_applicable")
BODY = "body"


def parametrize(engine: Engine, metafunc: pytest.Metafunc, case: DecoratedCase) -> None:
    """Give the function its cells."""
    node = metafunc.definition
    if ARGUMENT not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(
            f"{node.nodeid}: a function with @dialogue_case takes the argument `dialogue`"
        )
    try:
        source = _source(engine, metafunc, case)
    except DialevalError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    cells = [
        Cell("body" if rubric.spec.method == BODY else "rubric", source, trial, rubric)
        for trial in source.trials
        for rubric in source.rubrics
    ]
    names = [_id(each) for each in cells]
    metafunc.parametrize(ARGUMENT, cells, ids=names, indirect=True)


def _id(cell: Cell) -> str:
    return cell.trial.name if cell.kind == "body" else f"{cell.trial.name}/{cell.name}"


def _source(engine: Engine, metafunc: pytest.Metafunc, case: DecoratedCase) -> LoadedSource:
    node = metafunc.definition
    path = (node.path.parent / case.suite).resolve()
    if not isfile(path):
        raise pytest.Collector.CollectError(
            f"{node.nodeid}: no suite {case.suite!r} beside {node.path.name} "
            "(the path is relative to the test file)"
        )
    offers = engine.offers(node)
    suite = engine.read(path, offers)
    if suite.transcripts:
        raise pytest.Collector.CollectError(
            f"{node.nodeid}: {case.suite} grades recordings; @dialogue_case needs personas"
        )
    where = f"{node.nodeid}: @dialogue_case"
    _known(case.personas or (), [each.id for each in suite.personas], f"{where} personas")
    _known(case.rubrics, [each.id for each in suite.rubrics], f"{where} rubrics")
    anchor = fixture_anchor(node) if not suite.agents else None
    chosen = engine.choose(suite, _wanted(engine, suite, case, where), offers, anchor)
    if not chosen.declared:
        raise pytest.Collector.CollectError(
            f"{node.nodeid}: {case.suite} declares no agent and no `dialeval_agent` fixture is here"
        )
    source = from_personas(
        engine,
        node.nodeid,
        suite,
        chosen,
        offers,
        anchor=anchor or "",
        trials=case.trials,
        personas=case.personas,
        rubrics=[_body(node, path, engine), *_chosen(suite, case.rubrics)],
    )
    return engine.keep(source)


def _known(given: Sequence[str], allowed: Sequence[str], where: str) -> None:
    for name in given:
        if name not in allowed:
            raise pytest.Collector.CollectError(
                f"{where}: {name!r} is not in the suite (it has {', '.join(allowed)})"
                f"{did_you_mean(name, allowed)}"
            )


def _wanted(engine: Engine, suite: Suite, case: DecoratedCase, where: str) -> Wanted:
    if engine.wanted.names or case.agent is None:
        return engine.wanted
    if suite.agents:
        _known([case.agent], list(suite.agents), f"{where} agent")
    return Wanted((case.agent,))


def _body(node: Any, path: Path, engine: Engine) -> Rubric:
    name = getattr(node, "originalname", None) or node.name
    line = (node.reportinfo()[1] or 0) + 1
    return Rubric(
        id=name,
        dimension="completion",
        spec=MatcherSpec(BODY),
        file=engine.relative(node.path),
        line=line,
    )


def _chosen(suite: Suite, names: Sequence[str]) -> list[Rubric]:
    return [each for each in suite.rubrics if each.id in names]


def adopt(item: pytest.Item) -> None:
    """Mark a collected item with its cell."""
    callspec = getattr(item, "callspec", None)
    cell = callspec.params.get(ARGUMENT) if callspec is not None else None
    if isinstance(cell, Cell):
        item.stash[CELL] = cell
        for mark in marks(cell):
            item.add_marker(mark)


def obtain(request: pytest.FixtureRequest) -> Any:
    """The fixture's value: a finished conversation for a body, nothing for a rubric."""
    from pytest_dialeval.plugin.dialogue import made

    cell = getattr(request, "param", None)
    if not isinstance(cell, Cell):
        pytest.fail(
            f"{request.node.nodeid}: the fixture `dialogue` needs @dialogue_case on the function",
            pytrace=False,
        )
    brings = cell.source.uses_fixture(cell.trial.agent)
    fixture = request.getfixturevalue(NAME) if brings else None
    outcomes.obtain(request.node, cell, fixture)
    transcript = request.node.stash[outcomes.GRADED][0].transcript
    return made(cell, transcript) if transcript is not None else None


def decide(item: pytest.Item, cell: Cell) -> bool | None:
    """Answer pytest_pyfunc_call: None lets the body run; a rubric's item never runs it."""
    graded = item.stash[outcomes.GRADED][0]
    if cell.kind == "body" and graded.verdict.status == "passed":
        return None
    outcomes.decide(item, cell)
    return True


def file_body(item: pytest.Item, cell: Cell) -> Generator[None, object, object]:
    """Put into the ledger what becomes of a body, before any report of it exists."""
    verdict = Verdict(cell.name, "passed", score=1.0, reason="the test's body passed")
    try:
        return (yield)
    except pytest.skip.Exception as skipped:
        verdict = Verdict(cell.name, "not_applicable", reason=str(skipped))
        raise
    except NotMeasured as error:
        verdict = Verdict(cell.name, "unscored", reason=str(error), fault="judge_error")
        raise
    except (AssertionError, pytest.fail.Exception) as error:
        verdict = Verdict(cell.name, "failed", score=0.0, reason=_first_line(error))
        verdict = _broken(cell, error) if _never_began(error) else verdict
        raise
    except BaseException as error:
        verdict = _broken(cell, error)
        raise
    finally:
        bodies = cell.source.bodies.setdefault(cell.trial.id, {})
        bodies[item.nodeid] = verdict
        # A body with parameters of its own has several items a trial: the worst one counts.
        worst = min(bodies.values(), key=lambda each: _WORST_FIRST.index(each.status))
        ledger = cell.source.engine.run().ledger
        ledger.verdict(cell.trial.id, worst, getattr(item, "execution_count", 1))


def _broken(cell: Cell, error: BaseException) -> Verdict:
    """A test that is broken says nothing about the agent."""
    reason = f"the test raised {_first_line(error)}"
    return Verdict(cell.name, "unscored", reason=reason, fault="harness_error")


def _never_began(error: BaseException) -> bool:
    """Whether pytest itself refused to call the body: an async one without a plugin to run it."""
    modules = [frame.f_globals.get("__name__") for frame, _ in walk_tb(error.__traceback__)]
    callers = [each for each in modules if each != "_pytest.outcomes"]  # where fail() itself is
    return bool(callers) and callers[-1] == "_pytest.python"


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
