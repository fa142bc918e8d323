"""What is asked of a chat model, and what it answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_dialeval.records.transcript import Usage

Role = Literal["agent", "user", "judge", "comparer", "attacker", "improver"]
# Named here for those who read suites; where they are is known to the door alone.
ENDPOINT_NAMES = ("openai", "deepseek", "dashscope", "ollama", "vllm")


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model for one role, as resolved from the suite, the project file, an option or nothing."""

    role: Role
    endpoint: str  # its name: openai, deepseek, dashscope, ollama, vllm, or `python:file.py:object`
    model: str
    base_url: str | None = None  # None: the endpoint's own
    api_key_env: str | None = None  # name of the variable; the key itself is kept nowhere
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    concurrency: int | None = None  # hard cap on calls in flight
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    @property
    def name(self) -> str:
        """As figures call it: `openai:gpt-4o`, with the server's address if told."""
        where = f"@{self.base_url}" if self.base_url else ""
        return f"{self.endpoint}:{self.model}{where}".rstrip(":")


@dataclass(frozen=True, slots=True)
class ChatCall:
    """One request. `purpose` says what for: `turn 3`, `rubric flow.explain, vote 1, re-ask`."""

    spec: ModelSpec
    messages: tuple[Mapping[str, object], ...]  # OpenAI's chat form
    case: str  # trial id without its number, so that trials of a case share it
    trial: int
    purpose: str
    tools: tuple[Mapping[str, object], ...] = ()
    schema: Mapping[str, object] | None = None  # JSON Schema of the reply
    nonce: str = ""  # fences data in the messages; blanked in a cassette's key


@dataclass(frozen=True, slots=True)
class ModelToolCall:
    """A call that a model asks for; `arguments` is the text that it wrote, valid JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """One reply, whole or not: `finish` is the endpoint's reason, e.g. stop, length."""

    text: str
    tool_calls: tuple[ModelToolCall, ...] = ()
    finish: str = "stop"
    refusal: str | None = None
    usage: Usage = field(default_factory=Usage)
    model: str = ""  # as the endpoint names it
    seconds: float | None = None
    first_token: float | None = None  # seconds until the first token
    tries: int = 1

    def after(self, seconds: float, tries: int) -> ChatAnswer:
        """The same with what it took; written out, as `replace` takes twice as long."""
        return ChatAnswer(
            self.text,
            self.tool_calls,
            self.finish,
            self.refusal,
            self.usage,
            self.model,
            seconds,
            self.first_token,
            tries,
        )
