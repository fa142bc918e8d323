"""How an agent is written, one form a kind, and how a scripted agent's file is."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field

from pytest_dialeval.suites.form import (
    Flag,
    Form,
    Integer,
    Line,
    Lines,
    LooseLine,
    LooseText,
    Name,
    RawSpec,
    Temperature,
    Text,
    Variable,
    Whole,
    one_of,
)
from pytest_dialeval.suites.suite_form import Format


class AgentForm(Form):
    """What every agent has."""

    noun: ClassVar[str] = "an agent"

    use: Line = Field(
        description="scripted, replay, python:..., command:..., openai:... or another endpoint's, "
        "http://..., https://..., or a hook's name"
    )
    version: LooseText | None = Field(None, description="stored with the run, shown in reports")


class ScriptedForm(AgentForm):
    """An agent that answers from a script."""

    noun: ClassVar[str] = "a scripted agent"

    script: Line = Field(description="its file, from the suite's folder")


class PythonForm(AgentForm):
    """An agent that is Python code: `use: python:module:object`, or `python:file.py:object`."""

    noun: ClassVar[str] = "a python: agent"

    concurrency: Whole | None = Field(
        None, description="conversations at once, for an agent that blocks its thread"
    )


class HookForm(AgentForm):
    """An agent that the hook pytest_dialeval_agents gives: `use: NAME`."""

    noun: ClassVar[str] = "an agent of the hook pytest_dialeval_agents"

    concurrency: Whole | None = Field(
        None, description="conversations at once, for an agent that blocks its thread"
    )


class CommandForm(AgentForm):
    """An agent that is a program: `use: command:PROGRAM ARGUMENTS`."""

    noun: ClassVar[str] = "a command: agent"

    concurrency: Whole | None = Field(None, description="programs at once")


class ModelAgentForm(AgentForm):
    """An agent that a chat model plays: `use: openai:NAME`, or another endpoint's name."""

    noun: ClassVar[str] = "an agent that a model plays"

    prompt: Text | None = Field(
        None, description="its system prompt instead of the task's; null for none"
    )
    tools: list[Line] = Field(
        [], description="Python functions that it may call: python:file.py:function"
    )
    temperature: Temperature | None = Field(None, description="how much its answers vary")
    seed: Integer | None = Field(None, description="sent to the endpoint")
    max_tokens: Whole | None = Field(None, description="tokens of one answer at most")
    base_url: Line | None = Field(None, description="where the server is")
    api_key_env: Variable | None = Field(
        None, description="name of the environment variable that holds the key"
    )
    concurrency: Whole | None = Field(None, description="conversations at once")
    requests_per_minute: Whole | None = Field(None, description="what the endpoint allows")
    tokens_per_minute: Whole | None = Field(None, description="what the endpoint allows")


History = Literal["all", "last"]


class HttpForm(AgentForm):
    """An agent behind an address: `use: https://HOST/PATH`."""

    noun: ClassVar[str] = "an http agent"

    headers: dict[str, Line] = Field(
        {}, description="headers by name; ${NAME} stands for an environment variable"
    )
    history: Annotated[History, one_of(*get_args(History))] = Field(
        "all", description="whether each turn sends all that was said, or the last message alone"
    )
    prompt: Text | None = Field(
        None, description="the prompt that is sent instead of the task's; null for none"
    )
    concurrency: Whole | None = Field(None, description="conversations at once")


class ReplayForm(AgentForm):
    """An agent that answers as it did in a stored transcript."""

    noun: ClassVar[str] = "a replay agent"

    path: Line = Field(description="the transcript, from the suite's folder")
    format: Annotated[Format, one_of(*get_args(Format))] = Field(
        "dialeval", description="how the transcript is written"
    )


class ToolForm(Form):
    """A tool call that a scripted agent claims to have made."""

    noun: ClassVar[str] = "a tool call"

    name: Line = Field(description="the tool's name")
    arguments: dict[str, Any] = Field({}, description="its arguments")
    result: Any = Field(None, description="what it returned: text, or any value, stored as JSON")
    error: Flag = Field(False, description="whether the result is an error")


def _split(value: object) -> object:
    try:
        return shlex.split(value) if isinstance(value, str) else value
    except ValueError:
        return [value]


CommandWords = Annotated[
    list[LooseLine],
    Field(min_length=1),
    BeforeValidator(_split, json_schema_input_type=str | list[str | int]),
]


class ReplyForm(Form):
    """One answer of a scripted agent."""

    noun: ClassVar[str] = "a reply"

    when: RawSpec | None = Field(
        None, description="a matcher over the user's last turn; always without it"
    )
    state: Name | None = Field(None, description="only in this state; `start` is the first")
    say: Lines = Field([], description="lines, of which one is drawn by seed")
    to: Name | None = Field(None, description="the state after this reply")
    hang_up: Flag = Field(False, description="whether the agent ends the conversation with it")
    tools: list[ToolForm] = Field([], description="tool calls made with it")
    write: dict[Line, Text] = Field({}, description="files that it writes in task.workspace")
    delete: list[Line] = Field([], description="files and folders that it deletes there, before")
    run: CommandWords = Field([], description="a command that it runs there, after")


class AgentScriptForm(Form):
    """The words of a scripted agent."""

    noun: ClassVar[str] = "an agent script"

    opening: Lines = Field([], description="first lines, needed where the agent opens")
    replies: list[ReplyForm] = Field([], description="tried in this order; the first that holds")
    otherwise: Lines = Field([], description="lines for when no reply holds")
