"""Endpoints by name: addresses, keys, features."""

from __future__ import annotations

import pytest

from pytest_dialeval.errors import ProviderFault
from pytest_dialeval.models.endpoints import (
    ENDPOINTS,
    Features,
    address_of,
    base_url_of,
    features_of,
    missing_key,
)
from pytest_dialeval.records.model import ENDPOINT_NAMES, ModelSpec


def spec(endpoint: str = "openai", **values: str) -> ModelSpec:
    return ModelSpec("judge", endpoint, "m", **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("endpoint", "key"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("deepseek", "DEEPSEEK_API_KEY"),
        ("dashscope", "DASHSCOPE_API_KEY"),
    ],
)
def test_vendors_take_their_own_key(endpoint: str, key: str) -> None:
    assert missing_key(spec(endpoint), {key: " "}) == (
        f"judge: no key for {endpoint}:m: set {key}, or name another variable with api_key_env"
    )
    address = address_of(spec(endpoint), {key: " sk-1\n"})
    assert address.url == f"{ENDPOINTS[endpoint].base_url}/chat/completions"
    assert (address.key, address.key_env) == ("sk-1", key)


@pytest.mark.parametrize("endpoint", ["ollama", "vllm"])
def test_local_servers_need_no_key(endpoint: str) -> None:
    assert missing_key(spec(endpoint), {}) is None
    assert address_of(spec(endpoint), {}).key == ""


def test_a_server_of_ones_own_needs_no_key() -> None:
    assert address_of(spec(base_url="http://localhost:9/v1/"), {}).url == (
        "http://localhost:9/v1/chat/completions"
    )
    given = {"OPENAI_BASE_URL": "http://localhost:9/v1"}
    assert base_url_of(spec(), given) == ("http://localhost:9/v1", "OPENAI_BASE_URL")
    assert missing_key(spec(), given) is None


def test_a_named_variable_must_be_there() -> None:
    named = spec("vllm", api_key_env="MY_KEY")
    assert missing_key(named, {}) == "judge: no key: api_key_env names MY_KEY, which is not set"
    assert address_of(named, {"MY_KEY": "k", "VLLM_API_KEY": "other"}).key == "k"


def test_a_key_is_not_shown() -> None:
    assert "sk-1" not in repr(address_of(spec(), {"OPENAI_API_KEY": "sk-1"}))


def test_a_key_with_a_line_break_is_refused_without_showing_it() -> None:
    with pytest.raises(ProviderFault, match="OPENAI_API_KEY holds characters") as caught:
        address_of(spec(), {"OPENAI_API_KEY": "sk-1\r\nX-Evil: 1"})
    assert "sk-1" not in str(caught.value)


def test_features_weaken_step_by_step() -> None:
    features = Features()
    first = features.without("response_format")
    assert first is not None and first.schema == "json_object"
    second = first.without("response_format")
    assert second is not None and second.schema is None
    assert second.without("response_format") is None
    for name in ("seed", "temperature", "stream", "stream_options", "max_tokens"):
        weaker = features.without(name)
        assert weaker is not None and weaker != features
        assert weaker.without(name) is None
    assert features.without("messages") is None


def test_features_belong_to_the_server_and_not_to_the_name() -> None:
    assert features_of(spec("deepseek")).schema == "json_object"
    assert features_of(spec("deepseek", base_url="http://localhost:1/v1")).schema == "json_schema"
    assert features_of(spec()).max_tokens == "max_completion_tokens"
    assert features_of(spec(base_url="http://localhost:1/v1")).max_tokens == "max_tokens"


def test_suites_know_the_names_of_all_endpoints() -> None:
    assert ENDPOINT_NAMES == tuple(ENDPOINTS)
