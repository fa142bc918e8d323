"""What lint says: a place in the suite and a sentence; Places knows its file and line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_dialeval.records.suite import Problem, Suite
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.source import Level
from pytest_dialeval.suites.wording import Path


class Remark(NamedTuple):
    """One error or note; the path leads through the suite: `("personas", 2, "probes", 0)`."""

    path: Path
    text: str
    level: Level = "error"

    def below(self, *path: str | int) -> Remark:
        """The same, seen from above."""
        return self._replace(path=(*path, *self.path))


def note(path: Path, text: str) -> Remark:
    """A remark that stops nothing."""
    return Remark(path, text, "note")


@dataclass(frozen=True, slots=True)
class Places:
    """Where the parts of a suite stand; personas and rubrics may be in included files."""

    suite: Place
    personas: Sequence[Place]
    rubrics: Sequence[Place]

    def problem(self, remark: Remark) -> Problem:
        """The remark with its file and line."""
        place = self._place(remark.path)
        return Problem(place.source.file, place.line, remark.text, remark.level)

    def _place(self, path: Path) -> Place:
        match path:
            case ("personas", int(index), *rest):
                return self.personas[index].at(*rest)
            case ("rubrics", int(index), *rest) if index < len(self.rubrics):
                return self.rubrics[index].at(*rest)
            case ("rubrics", int(_), *_):
                return self.suite.at("scoring", "ux")
        return self.suite.at(*path)


def nearby(suite: Suite, remark: Remark) -> Problem:
    """The remark at the line that the record of its part remembers."""
    file, line = suite.path, 1
    match remark.path:
        case ("personas", int(index), *_):
            file, line = suite.personas[index].file or file, suite.personas[index].line
        case ("rubrics", int(index), *_):
            file, line = suite.rubrics[index].file or file, suite.rubrics[index].line
        case ("agents", str(name), *_) if name in suite.agents:
            line = suite.agents[name].line
    return Problem(file, max(line, 1), remark.text, remark.level)
