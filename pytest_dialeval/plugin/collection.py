"""Suite files -> collectors and items."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_dialeval.errors import DialevalError
from pytest_dialeval.plugin import COLLECTING, outcomes

if TYPE_CHECKING:
    from pytest_dialeval.plugin.engine import Engine
    from pytest_dialeval.plugin.sources import LoadedSource
    from pytest_dialeval.records.plan import PlannedTrial
    from pytest_dialeval.records.rubric import Rubric

SCORE = "score"


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """What an item is about: a rubric of a trial, the trial's score, or a decorated test's body."""

    kind: Literal["rubric", "score", "body"]
    source: LoadedSource
    trial: PlannedTrial
    rubric: Rubric | None  # None for the score

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubrics that this item grades."""
        return self.trial.rubrics if self.rubric is None else (self.rubric.id,)

    @property
    def name(self) -> str:
        return SCORE if self.rubric is None else self.rubric.id


CELL = pytest.StashKey[Cell]()


class SuiteFile(pytest.Module):
    """A suite; a Module, so that fixtures of every scope find their node."""

    obj = None
    engine: Engine

    @classmethod
    def make(cls, parent: pytest.Collector, path: Path, engine: Engine) -> SuiteFile:
        node = cls.from_parent(parent, path=path)
        node.engine = engine
        return node

    def collect(self) -> Iterator[TrialNode]:
        if self.path.suffix == ".yml":
            name = self.engine.relative(self.path)
            raise self.CollectError(f"{name}: suites end in .dialeval.yaml; rename the file")
        try:
            source = self.engine.load(self)
        except DialevalError as error:
            raise self.CollectError(str(error)) from None
        if self.config.stash.get(COLLECTING, False):
            gc.disable()  # items only grow in number: walking them again and again finds nothing
        for trial in source.trials:
            yield TrialNode.make(self, source, trial)


class TrialNode(pytest.Collector):
    """One trial: its items are its rubrics."""

    source: LoadedSource
    trial: PlannedTrial

    @classmethod
    def make(cls, parent: SuiteFile, source: LoadedSource, trial: PlannedTrial) -> TrialNode:
        node = cls.from_parent(parent, name=trial.name)
        node.source, node.trial = source, trial
        return node

    def collect(self) -> Iterator[RubricItem]:
        call = needs_fixture if self.source.uses_fixture(self.trial.agent) else needs_nothing
        for rubric in self.source.suite.rubrics:
            yield RubricItem.make(
                self, rubric.id, call, Cell("rubric", self.source, self.trial, rubric)
            )
        if self.source.suite.scoring is not None:
            yield RubricItem.make(self, SCORE, call, Cell("score", self.source, self.trial, None))


def needs_nothing() -> None:
    """Fixtures of an item whose agent the suite declares."""


def needs_fixture(dialeval_agent: object) -> None:
    """Fixtures of an item whose agent a fixture brings."""


class RubricItem(pytest.Function):
    """One rubric on one trial: setup obtains the evidence, the call asserts it."""

    cell: Cell

    @classmethod
    def make(cls, parent: TrialNode, name: str, call: Any, cell: Cell) -> RubricItem:
        known = cell.source.fixtures.get(call)
        item = cls.from_parent(parent, name=name, callobj=call, fixtureinfo=known)
        if known is None:  # equal for all items of the file, as for a function's parameters
            cell.source.fixtures[call] = item._fixtureinfo
        item.cell = item.stash[CELL] = cell
        for mark in marks(cell):
            item.add_marker(mark)
        return item

    def reportinfo(self) -> tuple[Path, int, str]:
        rubric = self.cell.rubric
        # Not the id's own tail: with -v pytest would write `::` for each of its dots.
        name = f"{self.cell.trial.name} {self.name}"
        if rubric is None or not rubric.line:
            return self.path, 0, name
        return self.cell.source.path_of(rubric), rubric.line - 1, name

    @cached_property
    def location(self) -> tuple[str, int | None, str]:
        """Pytest's own, which looks for the file's short name in each item of the file anew."""
        _, line, name = self.reportinfo()
        shown, rubric = self.cell.source.shown, self.cell.rubric
        file = rubric.file if rubric is not None and rubric.line else ""
        if file not in shown:
            shown[file] = super().location[0]
        return shown[file], line, name

    def setup(self) -> None:
        super().setup()
        if not self.config.getoption("setupplan"):  # it only shows what would be set up
            outcomes.obtain(self, self.cell, self.funcargs.get("dialeval_agent"))

    def runtest(self) -> None:
        outcomes.decide(self, self.cell)


def marks(cell: Cell) -> Iterator[pytest.MarkDecorator]:
    """`dialeval(dimension=, severity=, method=, persona=, agent=)` and one a tag."""
    rubric, trial = cell.rubric, cell.trial
    yield pytest.mark.dialeval(
        dimension=rubric.dimension if rubric else SCORE,
        severity=rubric.severity if rubric else "hard",
        method=rubric.spec.method if rubric else SCORE,
        persona=trial.persona,
        agent=trial.agent,
    )
    for tag in cell.source.tags(cell):
        yield pytest.mark.dialeval(tag=tag)
