"""A file that recordings come from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pytest_dialeval.records.transcript import Recording, Transcript


@dataclass(frozen=True, slots=True)
class RecordingFile:
    """What a file holds, and what its reader noticed about it."""

    recordings: tuple[Recording, ...]
    notes: tuple[str, ...] = ()


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
