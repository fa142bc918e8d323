"""Endpoints known by name: where they are, whose key they take, what they support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

from pytest_dialeval.errors import ProviderFault
from pytest_dialeval.records.model import ModelSpec

PYTHON = "python:"


@dataclass(frozen=True, slots=True)
class Features:
    """What may stand in a request; the door strikes out what an endpoint refuses."""

    schema: Literal["json_schema", "json_object"] | None = "json_schema"
    seed: bool = True
    temperature: bool = True
    stream: bool = True
    stream_usage: bool = True  # stream_options: {include_usage: true}
    max_tokens: str = "max_tokens"

    def without(self, parameter: str) -> Features | None:
        """The same but for a parameter that was refused; None where it can't be left out."""
        match parameter:
            case "response_format":
                weaker = {"json_schema": "json_object"}.get(self.schema or "")
                return replace(self, schema=weaker) if self.schema else None  # type: ignore[arg-type]
            case "max_tokens":
                newer = self.max_tokens == "max_completion_tokens"
                return None if newer else replace(self, max_tokens="max_completion_tokens")
            case "stream_options":
                return replace(self, stream_usage=False) if self.stream_usage else None
            case "seed":
                return replace(self, seed=False) if self.seed else None
            case "temperature":
                return replace(self, temperature=False) if self.temperature else None
            case "stream":
                return replace(self, stream=False) if self.stream else None
        return None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that speaks OpenAI's chat protocol."""

    name: str
    base_url: str
    key_env: str
    base_url_env: str
    needs_key: bool = True  # at its own address; another server may do without
    features: Features = Features()


_OWN_SERVER = Features()
# OpenAI has called max_tokens deprecated since its reasoning models refuse it.
_OPENAI = Features(max_tokens="max_completion_tokens")
_JSON_MODE = Features(schema="json_object")
_DASHSCOPE = "https://dashscope.aliyuncs.com/compatible-mode/v1"

ENDPOINTS: Mapping[str, Endpoint] = {
    each.name: each
    for each in (
        Endpoint(
            "openai",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            features=_OPENAI,
        ),
        Endpoint(
            "deepseek",
            "https://api.deepseek.com/v1",
            "DEEPSEEK_API_KEY",
            "DEEPSEEK_BASE_URL",
            features=_JSON_MODE,
        ),
        Endpoint(
            "dashscope",
            _DASHSCOPE,
            "DASHSCOPE_API_KEY",
            "DASHSCOPE_BASE_URL",
            features=_JSON_MODE,
        ),
        Endpoint(
            "ollama",
            "http://localhost:11434/v1",
            "OLLAMA_API_KEY",
            "OLLAMA_BASE_URL",
            needs_key=False,
        ),
        Endpoint(
            "vllm", "http://localhost:8000/v1", "VLLM_API_KEY", "VLLM_BASE_URL", needs_key=False
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a call goes and with which key; the key is never shown."""

    base_url: str
    key: str
    key_env: str

    def __repr__(self) -> str:
        return f"Address({self.base_url!r}, key of {self.key_env})"

    @property
    def url(self) -> str:
        """Where chat completions are posted to."""
        return f"{self.base_url}/chat/completions"

    @property
    def host(self) -> str:
        """Host and port, for messages."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]


def base_url_of(spec: ModelSpec, environment: Mapping[str, str]) -> tuple[str, str]:
    """Its base URL, and where that was said: `spec`, a variable's name, or `default`."""
    endpoint = ENDPOINTS[spec.endpoint]
    if spec.base_url:
        return spec.base_url.rstrip("/"), "spec"
    if given := environment.get(endpoint.base_url_env, "").strip():
        return given.rstrip("/"), endpoint.base_url_env
    return endpoint.base_url, "default"


def address_of(spec: ModelSpec, environment: Mapping[str, str]) -> Address:
    """Where its calls go; ProviderFault where a key is needed and there is none."""
    if problem := missing_key(spec, environment):
        raise ProviderFault(problem, transient=False, tries=0)
    name = spec.api_key_env or ENDPOINTS[spec.endpoint].key_env
    base_url, _ = base_url_of(spec, environment)
    key = environment.get(name, "").strip()
    if not all("!" <= each <= "~" for each in key):
        text = f"{spec.role}: {name} holds characters that no key has"
        raise ProviderFault(text, transient=False, tries=0)
    return Address(base_url, key, name)


def missing_key(spec: ModelSpec, environment: Mapping[str, str]) -> str | None:
    """What to do where a key is needed and there is none; None where all is well."""
    if spec.endpoint.startswith(PYTHON):
        return None
    endpoint = ENDPOINTS[spec.endpoint]
    name = spec.api_key_env or endpoint.key_env
    if environment.get(name, "").strip():
        return None
    if spec.api_key_env:
        return f"{spec.role}: no key: api_key_env names {name}, which is not set"
    base_url, _ = base_url_of(spec, environment)
    if not endpoint.needs_key or base_url != endpoint.base_url:
        return None
    return (
        f"{spec.role}: no key for {spec.endpoint}:{spec.model}: set {name}, or name "
        f"another variable with api_key_env"
    )


def features_of(spec: ModelSpec) -> Features:
    """What its endpoint is known to support; another server under its name may support all."""
    if spec.endpoint.startswith(PYTHON):
        return _OPENAI
    endpoint = ENDPOINTS[spec.endpoint]
    if spec.base_url and spec.base_url.rstrip("/") != endpoint.base_url:
        return _OWN_SERVER
    return endpoint.features
