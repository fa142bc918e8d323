"""An agent as declared -> a factory of agents."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from pathlib import Path

from pytest_dialeval.conversation.agent import AgentFactory, LimitedFactory
from pytest_dialeval.conversation.command import CommandAgent
from pytest_dialeval.conversation.importing import imported, places
from pytest_dialeval.conversation.python_agent import adapt
from pytest_dialeval.conversation.replay import ReplayAgent
from pytest_dialeval.conversation.scripted import scripted
from pytest_dialeval.errors import DialevalError, HarnessFault
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.records.suite import AgentSpec
from pytest_dialeval.records.wording import closest, meaning
from pytest_dialeval.suites.agent_script import AgentScript, read_agent_script
from pytest_dialeval.traces.recordings import read_recordings

__all__ = ["adapt", "agent_factory"]

_KINDS = ("scripted", "python:module:object", "python:file.py:object", "command:...", "replay")
_LATER = ("openai", "http", "https")


def agent_factory(
    spec: AgentSpec,
    *,
    rootdir: Path,
    matchers: Mapping[str, Matcher],
    objects: Mapping[str, object] | None = None,
) -> AgentFactory:
    """What makes the agents; HarnessFault says why there can be none, in one message.

    `objects` are agents that fixtures and hooks bring; `use:` may name one of them.
    """
    try:
        return _Declared(spec, rootdir, matchers, objects or {}).factory()
    except DialevalError as error:
        line = f" (line {spec.line})" if spec.line else ""
        raise HarnessFault(f"agent {spec.name!r}{line}: {error}") from None


class _Declared:
    def __init__(
        self,
        spec: AgentSpec,
        rootdir: Path,
        matchers: Mapping[str, Matcher],
        objects: Mapping[str, object],
    ) -> None:
        self._spec = spec
        self._rootdir = rootdir
        self._folders = [Path(spec.folder or rootdir), rootdir]
        self._matchers = matchers
        self._objects = objects

    def factory(self) -> AgentFactory:
        """What makes the agents: an object brought by its name, else the kind that `use` names."""
        spec = self._spec
        if spec.use in self._objects:
            return adapt(self._objects[spec.use], concurrency=spec.concurrency, name=spec.name)
        kind, colon, rest = spec.use.partition(":")
        match kind:
            case "scripted":
                return scripted(self._script(rest), self._matchers)
            case "python" if colon:
                found = imported(rest.strip(), self._folders)
                return adapt(found, concurrency=spec.concurrency, name=spec.name)
            case "command" if colon:
                return self._command(rest)
            case "replay":
                return self._replay(rest)
        raise HarnessFault(self._unknown(kind))

    def _script(self, path: str) -> AgentScript:
        script = self._spec.options.get("script", path)
        if isinstance(script, AgentScript):
            return script
        file = self._file(str(script), "script")
        return read_agent_script(file, rootdir=self._rootdir, matchers=self._matchers)

    def _command(self, written: str) -> AgentFactory:
        try:
            command = shlex.split(written)
        except ValueError as error:
            raise HarnessFault(f"{written!r} cannot be split into words: {error}") from None
        if not command:
            raise HarnessFault("'command:' names no program; write command:PROGRAM ARGUMENTS")
        folder = self._folders[0]
        if self._spec.concurrency is None:
            return lambda: CommandAgent(command, folder)
        slots = asyncio.Semaphore(self._spec.concurrency)
        return LimitedFactory(lambda: CommandAgent(command, folder), slots)

    def _replay(self, path: str) -> AgentFactory:
        form = str(self._spec.options.get("format", "dialeval"))
        file = self._file(str(self._spec.options.get("path", path)), "path")
        recordings = read_recordings(form, file)
        if not recordings:
            raise HarnessFault(f"there is no recording in {str(file)!r}")
        return lambda: ReplayAgent(recordings)

    def _file(self, written: str, key: str) -> Path:
        if not written:
            raise HarnessFault(f"{self._spec.use!r} needs the key {key!r}: its file")
        for folder in self._folders:
            if (folder / written).exists():
                return folder / written
        raise HarnessFault(f"there is no {written!r} in {places(self._folders)}")

    def _unknown(self, kind: str) -> str:
        use = self._spec.use
        if kind in _LATER:
            return f"{use!r}: agents over the network come in a later version"
        known = [*_KINDS, *self._objects]
        words = {each.partition(":")[0]: each for each in reversed(known)}
        guess = closest(kind, words)
        meant = meaning(guess and words[guess])
        return f"unknown kind of agent {use!r}; known: {', '.join(known)}{meant}"
