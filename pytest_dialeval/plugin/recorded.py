"""The recordings of a suite's `transcripts`, each under the agent that it is of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.slug import slug
from pytest_dialeval.records.suite import Suite, TranscriptSource
from pytest_dialeval.records.transcript import Recording
from pytest_dialeval.records.wording import did_you_mean, listed, plural
from pytest_dialeval.traces.importers.source import RecordingFile
from pytest_dialeval.traces.recordings import read_recording_file

if TYPE_CHECKING:
    from pytest_dialeval.plugin.engine import Engine

DIGEST = "task_checksum"  # the value by which Harbor tells versions of a task apart
UNNAMED = "recorded"  # what reports call an agent that nobody named


@dataclass(slots=True)
class Recorded:
    """What a suite's sources hold of the agents that were asked for."""

    recordings: dict[str, list[Recording]] = field(default_factory=dict)  # by agent, in order
    agents: list[str] = field(default_factory=list)  # all of them, wanted or not
    known: dict[str, str] = field(default_factory=dict)  # agent -> who its file says it is

    def take(self, agent: str, recordings: Sequence[Recording], wanted: Sequence[str]) -> None:
        """Note an agent; keep its recordings where it is wanted (or nobody is named)."""
        if agent not in self.agents:
            self.agents.append(agent)
        if not wanted or agent in wanted:
            self.recordings.setdefault(agent, []).extend(recordings)


def recorded_of(engine: Engine, suite: Suite) -> Recorded:
    """Read the sources; what is wrong with one is said at its line."""
    found, wanted = Recorded(), engine.wanted.names
    for source in suite.transcripts:
        if source.agent is not None and wanted and source.agent not in wanted:
            found.take(source.agent, (), wanted)
            continue
        path = Path(source.path)
        try:
            file = read_recording_file(source.format, path)
            for agent, recordings in by_agent(file, source).items():
                found.take(agent, recordings, wanted)
            _one_each(found, file, source)
        except TranscriptError as error:
            text = str(error).replace(str(path), engine.relative(path))
            where = f"{engine.relative(Path(suite.path))}:{source.line}"
            raise TranscriptError(f"{where}: {text}") from None
        engine.notes += [_noted(engine, path, note) for note in file.notes]
    engine.notes += [f"{engine.relative(Path(suite.path))}: {each}" for each in _changed(found)]
    return found


def _changed(found: Recorded) -> Iterator[str]:
    """Tasks of which recordings were made in several versions, where their tool tells them apart.

    Within a job they are cases of their own; between jobs nobody but the user knows.
    """
    digests: dict[str, set[object]] = {}
    for each in chain.from_iterable(found.recordings.values()):
        digest = each.transcript.recorded.get(DIGEST)
        if digest is not None:
            digests.setdefault(each.task_id, set()).add(digest)
    changed = [task for task, several in digests.items() if len(several) > 1]
    if changed:
        yield (
            f"{plural(len(changed), 'task')} ({listed(changed, 3)}) changed between the recordings "
            f"(their {DIGEST} differs): agents that are compared had different work"
        )


def _noted(engine: Engine, path: Path, note: str) -> str:
    """The note with the file in front, once, and without the path of this machine."""
    if note.startswith(str(path)):
        return engine.relative(path) + note[len(str(path)) :]
    return f"{engine.relative(path)}: {note}"


def by_agent(file: RecordingFile, source: TranscriptSource) -> Mapping[str, Sequence[Recording]]:
    """Recordings by agent.

    A name in the suite chooses among the agents of a file that names several, else it is what
    reports call the agent. Without one, each agent of such a file goes under its own name.
    """
    named = _named(file)
    if len(named) < 2:
        own = next(iter(named)) if file.agents else UNNAMED
        return {source.agent or own: file.recordings}
    if source.agent is None:
        return named
    if source.agent not in named:
        guess = did_you_mean(source.agent, named)
        raise TranscriptError(
            f"{source.path}: it holds no agent {source.agent!r}; its agents are "
            f"{', '.join(named)} (without `agent:` each goes under its own name){guess}"
        )
    return {source.agent: named[source.agent]}


def _named(file: RecordingFile) -> dict[str, list[Recording]]:
    """Recordings under the agents that the file names; two names must not become one."""
    origins: dict[str, str | None] = {}
    found: dict[str, list[Recording]] = {}
    for each in file.recordings:
        name = slug(each.agent) if each.agent else UNNAMED
        if origins.setdefault(name, each.agent) != each.agent:
            raise TranscriptError(
                f"{each.path}: {each.agent!r} and {origins[name]!r} would both be {name!r}; "
                "give each a file"
            )
        found.setdefault(name, []).append(each)
    return found


def _one_each(found: Recorded, file: RecordingFile, source: TranscriptSource) -> None:
    """Two agents of one name in two files must not be pooled, where the files tell them apart."""
    if source.agent is not None:
        return  # the suite says that they are one
    for name, who in file.agents.items():
        other = found.known.setdefault(name, who)
        if other != who:
            raise TranscriptError(
                f"{source.path}: its agent {name!r} is {who}, and that of another source is "
                f"{other}; give each source its `agent:`"
            )
