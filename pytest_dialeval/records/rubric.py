"""One criterion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_dialeval.records.task import MatcherSpec
from pytest_dialeval.records.verdict import Dimension

Severity = Literal["hard", "soft"]
JUDGE = "judge"  # the method of a rubric that no matcher decides
SCORE = "score"  # the name of a trial's own item; no rubric may have it


@dataclass(frozen=True, slots=True)
class Trigger:
    """When a rubric counts; exactly one of the first four is set.

    `then: after` (default) narrows the searched turns to those after the turn that fired it.
    """

    probe: str | None = None
    state: str | None = None
    user_keyword: tuple[str, ...] = ()
    when: MatcherSpec | None = None
    then: Literal["after", "all"] = "after"


@dataclass(frozen=True, slots=True)
class Rubric:
    """`spec.method` is a matcher's name, or JUDGE (params: criterion, ...)."""

    id: str
    dimension: Dimension
    spec: MatcherSpec
    weight: float = 1.0
    severity: Severity = "hard"
    trigger: Trigger | None = None
    min: float = 1.0
    tags: tuple[str, ...] = ()
    file: str = ""  # where it is written; line from 1
    line: int = 0
