"""A file that recordings come from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_dialeval.records.transcript import Recording, Transcript


@dataclass(frozen=True, slots=True)
class RecordingFile:
    """What a file holds, and what its reader noticed about it."""

    recordings: tuple[Recording, ...]
    notes: tuple[str, ...] = ()
    details: tuple[str, ...] = ()  # what notes sum up, one by one
    # Where recordings go under the agents that it names: their names -> who they are.
    agents: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Source:
    """Names its recordings: path, digest, index."""

    path: Path
    sha256: str

    @classmethod
    def of(cls, data: bytes, path: Path) -> Source:
        """The source with the digest of its bytes."""
        return cls(path, hashlib.sha256(data).hexdigest())

    def recording(
        self,
        index: int,
        task_id: str,
        transcript: Transcript,
        *,
        trial: int | None = None,
        agent: str | None = None,
    ) -> Recording:
        """The recording at that place of the file."""
        return Recording(
            task_id=task_id,
            transcript=transcript,
            path=str(self.path),
            sha256=self.sha256,
            index=index,
            trial=trial,
            agent=agent,
        )
