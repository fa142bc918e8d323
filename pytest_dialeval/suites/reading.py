"""What the reading of every part of a suite needs to know."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.suites.place import Place
from pytest_dialeval.suites.source import Source, read_source
from pytest_dialeval.suites.spec import read_spec
from pytest_dialeval.suites.variables import filled
from pytest_dialeval.suites.wording import Level


@dataclass(slots=True)
class Reading:
    """One suite being read: the files so far, and what its parts are read with."""

    rootdir: Path
    matchers: Mapping[str, Matcher]
    user_model: bool = False  # a model plays the user where the suite itself does not say
    running: Collection[str] | None = None  # the only agents that run; None: all may
    variables: Mapping[str, str] | None = None  # None: the task can't be read, so nothing is filled
    sources: dict[Path, Source] = field(default_factory=dict)

    def open(self, path: Path) -> Source:
        """Read a file once; SuiteError where it can't be read."""
        if path not in self.sources:
            self.sources[path] = read_source(path, file_name(path, self.rootdir))
        return self.sources[path]

    def fill(self, place: Place, text: str, *, later: Collection[str] = ()) -> str:
        """A line or prompt with its variables; `later` are filled in when it is said."""
        if self.variables is None:
            return text
        return filled(place, text, self.variables, later=later)

    def spec(
        self, place: Place, raw: Mapping[str, object], around: Sequence[Level] = ()
    ) -> MatcherSpec:
        """A matcher that stands alone in a mapping; `around` are the mappings that hold it."""
        return read_spec(place, raw, self.matchers, around)


def file_name(path: Path, rootdir: Path) -> str:
    """How problems name a file: relative to rootdir where it lies there."""
    for base, each in ((rootdir, path), (rootdir.resolve(), path.resolve())):
        if each.is_relative_to(base):
            return each.relative_to(base).as_posix()
    return path.as_posix()
