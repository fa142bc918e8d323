"""An agent as declared -> a factory of agents."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Mapping, Sequence
from os.path import exists
from pathlib import Path
from typing import cast

from pytest_dialeval.conversation.agent import AgentFactory, LimitedFactory
from pytest_dialeval.conversation.chat_agent import ChatAgents, Role
from pytest_dialeval.conversation.command import CommandAgent
from pytest_dialeval.conversation.http_agent import HttpSpec, http_agents
from pytest_dialeval.conversation.http_headers import variables_of
from pytest_dialeval.conversation.importing import imported, places
from pytest_dialeval.conversation.python_agent import adapt
from pytest_dialeval.conversation.replay import ReplayAgent
from pytest_dialeval.conversation.scripted import scripted
from pytest_dialeval.conversation.threads import Crew
from pytest_dialeval.conversation.tool import Tool, tool_of
from pytest_dialeval.conversation.web import Web
from pytest_dialeval.errors import DialevalError, HarnessFault, ModelProblem
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.models.chat import Chat
from pytest_dialeval.models.specs import parse_spec
from pytest_dialeval.models.watch import LoopWatch, Watch
from pytest_dialeval.records.model import ENDPOINT_NAMES, ModelSpec
from pytest_dialeval.records.suite import AgentSpec
from pytest_dialeval.records.wording import closest, meaning
from pytest_dialeval.suites.agent_script import AgentScript, read_agent_script
from pytest_dialeval.suites.agents import AGENT_KINDS, allowed_kinds
from pytest_dialeval.traces.recordings import read_recordings

__all__ = ["adapt", "agent_factory", "model_of", "secret_variables"]

_OF_MODEL = (
    *("base_url", "api_key_env", "temperature", "seed", "max_tokens"),
    *("requests_per_minute", "tokens_per_minute"),
)


def agent_factory(
    spec: AgentSpec,
    *,
    rootdir: Path,
    matchers: Mapping[str, Matcher],
    objects: Mapping[str, object] | None = None,
    chat: Chat | None = None,
    web: Web | None = None,
    watch: Watch | None = None,
) -> AgentFactory:
    """What makes the agents; HarnessFault says why there can be none, in one message.

    `objects` are agents that fixtures and hooks bring; `use:` may name one of them. Agents that a
    model plays talk through `chat`, those behind an address through `web`; without them such an
    agent can be checked, and a conversation with it is a harness_error.
    """
    declared = _Declared(spec, rootdir, matchers, objects or {}, chat, web, watch)
    try:
        return declared.factory()
    except DialevalError as error:
        line = f" (line {spec.line})" if spec.line else ""
        who = f"agent {spec.name!r}"
        what = str(error).removeprefix(f"{who}: ")
        raise HarnessFault(f"{who}{line}: {what}") from None


def model_of(spec: AgentSpec) -> ModelSpec | None:
    """The model that plays an agent; None where none does."""
    if not re.match(rf"(?:{'|'.join(ENDPOINT_NAMES)})[:/]", spec.use):
        return None
    given = {key: spec.options[key] for key in _OF_MODEL if key in spec.options}
    try:
        return parse_spec("agent", {"model": spec.use, **given})
    except ModelProblem as error:
        raise HarnessFault(str(error).removeprefix("agent: ")) from None


def secret_variables(spec: AgentSpec) -> tuple[str, ...]:
    """Environment variables whose values must stand in no file of the run."""
    key = spec.options.get("api_key_env")
    headers = cast("Mapping[str, str]", spec.options.get("headers", {}))
    return (*([str(key)] if key else ()), *variables_of(headers))


class _Declared:
    def __init__(
        self,
        spec: AgentSpec,
        rootdir: Path,
        matchers: Mapping[str, Matcher],
        objects: Mapping[str, object],
        chat: Chat | None,
        web: Web | None,
        watch: Watch | None,
    ) -> None:
        self._spec = spec
        self._rootdir = rootdir
        self._folders = [Path(spec.folder or rootdir), rootdir]
        self._matchers = matchers
        self._objects = objects
        self._chat = chat
        self._web = web
        self._watch = watch

    def factory(self) -> AgentFactory:
        """What makes the agents: an object brought by its name, else the kind that `use` names."""
        spec = self._spec
        if spec.use in self._objects:
            return adapt(self._objects[spec.use], concurrency=spec.concurrency, name=spec.name)
        if (model := model_of(spec)) is not None:
            return self._played(model)
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
            case "http" | "https" if colon:
                return self._limited(http_agents(HttpSpec.of(spec.use, spec.options), self._web))
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
        return self._limited(lambda: CommandAgent(command, folder))

    def _limited(self, make: AgentFactory) -> AgentFactory:
        if self._spec.concurrency is None:
            return make
        return LimitedFactory(make, asyncio.Semaphore(self._spec.concurrency))

    def _played(self, model: ModelSpec) -> AgentFactory:
        options = self._spec.options
        prompt = cast("str | None", options.get("prompt"))
        role = Role(model, self._tools(), "prompt" in options, prompt)
        crew, watch = Crew(self._spec.name), self._watch or LoopWatch()
        return self._limited(ChatAgents(role, self._chat, crew, watch))

    def _tools(self) -> dict[str, Tool]:
        tools: dict[str, Tool] = {}
        for each in cast("Sequence[str]", self._spec.options.get("tools", ())):
            found = imported(each.removeprefix("python:").strip(), self._folders)
            tool = tool_of(found, each)
            if tool.name in tools:
                text = f"two tools are called {tool.name!r}; a model could not tell them apart"
                raise HarnessFault(f"{text}: rename one function")
            tools[tool.name] = tool
        return tools

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
            if exists(folder / written):
                return folder / written
        raise HarnessFault(f"there is no {written!r} in {places(self._folders)}")

    def _unknown(self, kind: str) -> str:
        use = self._spec.use
        words = {each.partition(":")[0]: each for each in reversed([*AGENT_KINDS, *self._objects])}
        guess = closest(kind, words)
        meant = meaning(guess and words[guess])
        return f"unknown kind of agent {use!r}{meant} ({allowed_kinds(self._objects)})"
