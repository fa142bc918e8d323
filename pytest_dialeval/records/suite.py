"""A suite as read: everything that the user wrote, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_dialeval.records.rubric import Rubric
from pytest_dialeval.records.task import Persona, Task

TURN_TIMEOUT = 60.0
TIMEOUT = 600.0


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with what the user wrote, or one note about it."""

    file: str
    line: int
    text: str
    level: Literal["error", "note"] = "error"

    def __str__(self) -> str:
        note = "note: " if self.level == "note" else ""
        return f"{self.file}:{self.line}: {note}{self.text}"


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent as declared: `use` names its kind (scripted, python:..., openai:..., ...)."""

    name: str
    use: str
    options: Mapping[str, object] = field(default_factory=dict)
    folder: str = ""  # relative files and modules are looked up here, then in rootdir
    version: str | None = None
    concurrency: int | None = None  # conversations at once with a blocking agent
    line: int = 0


@dataclass(frozen=True, slots=True)
class TranscriptSource:
    """A file, or a folder, of conversations that exist already."""

    format: str
    path: str  # absolute
    agent: str | None = None  # None: as the file names its agents
    line: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how much a conversation may be."""

    turn_timeout: float = TURN_TIMEOUT  # seconds
    timeout: float = TIMEOUT
    max_context_chars: int | None = None


@dataclass(frozen=True, slots=True)
class Scoring:
    """Declared `scoring:`; a suite without it passes a trial when no hard rubric failed."""

    pass_mark: float = 0.6
    completion: float = 0.8
    robustness: float = 0.2
    pass_on: str | None = None
    ux: Mapping[str, float] | None = None  # subscore -> weight; None: they are not asked for


@dataclass(frozen=True, slots=True)
class PassHatK:
    """The least Pass^k."""

    k: int
    min: float


@dataclass(frozen=True, slots=True)
class AgainstBaseline:
    """A run or baseline file that this run must not be worse than."""

    path: str  # from the suite's folder
    max_drop: float | None = None  # the most that a figure may fall; None: a test decides


@dataclass(frozen=True, slots=True)
class Gates:
    """What a run must reach; None: not asked for."""

    decide: Literal["items", "gates"] | None = None
    pass_hat_k: PassHatK | None = None
    mean_score: float | None = None
    safety_breaches: int | None = None
    unmeasured: int | None = None
    distinct_models: bool | None = None
    baseline: AgainstBaseline | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """Everything that one suite file says, with what it includes."""

    path: str  # absolute
    sha256: str
    task: Task
    agents: Mapping[str, AgentSpec]
    run: tuple[str, ...]  # names of agents; empty: none declared
    personas: tuple[Persona, ...]
    rubrics: tuple[Rubric, ...]
    transcripts: tuple[TranscriptSource, ...] = ()
    trials: int = 1
    seed: str = ""
    limits: Limits = Limits()
    scoring: Scoring | None = None
    gates: Gates = Gates()
    models: Mapping[str, object] = field(default_factory=dict)
    model_lines: Mapping[str, int] = field(default_factory=dict)  # role -> its line in the file
    compare: Mapping[str, Any] = field(default_factory=dict)
    votes: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)  # every file read -> sha256
    notes: tuple[Problem, ...] = ()
    stated: frozenset[str] = frozenset()  # keys, also those of `limits`, that the file has

    def own(self, name: str) -> Any:
        """What the file itself says of a setting; None where it leaves that to the project."""
        if name not in self.stated:
            return None
        return getattr(self.limits if hasattr(self.limits, name) else self, name)
