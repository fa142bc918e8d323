"""What a run intends to do: the denominator of every figure."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_dialeval.records.slug import slug


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One conversation that a suite asks for; frozen before anything runs."""

    id: str  # unique in a run and safe as a file name; nothing is keyed by node id
    suite: str  # its path from rootdir, or a decorated function's node id
    task: str  # task id as written
    agent: str
    persona: str  # persona id; for a recording the slug of its task id
    number: int  # 1..k
    rubrics: tuple[str, ...]
    name: str  # `hesitant-2`, or `improved-hesitant-2` where the agent is shown
    original: str | None = None  # the recorded task id where slugging changed it
    attempt: int = 1  # reruns by other plugins

    @property
    def case(self) -> str:
        """The case's name where calls of models are recorded: equal in every checkout."""
        return ".".join(map(slug, (self.task, self.agent, self.persona)))


@dataclass(frozen=True, slots=True)
class Case:
    """Task x persona x agent."""

    task: str
    agent: str
    persona: str
