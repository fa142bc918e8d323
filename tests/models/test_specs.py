"""Specs as users write them, and which of several sources holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.errors import ModelProblem
from pytest_dialeval.models.specs import PROJECT, ROLES, parse_spec, resolve_specs
from pytest_dialeval.records.model import ModelSpec, Role

SERVER = "http://127.0.0.1:8080/v1"


@pytest.mark.parametrize(
    ("written", "endpoint", "model", "base_url"),
    [
        ("openai:gpt-5", "openai", "gpt-5", None),
        ("openai/gpt-5", "openai", "gpt-5", None),
        (" deepseek:deepseek-chat ", "deepseek", "deepseek-chat", None),
        ("dashscope/qwen-max", "dashscope", "qwen-max", None),
        ("ollama:llama3:8b", "ollama", "llama3:8b", None),
        ("ollama/llama3:8b", "ollama", "llama3:8b", None),
        ("vllm:Qwen/Qwen2.5-7B", "vllm", "Qwen/Qwen2.5-7B", None),
        (f"openai:m@{SERVER}", "openai", "m", SERVER),
        (f"openai:@cf/meta/llama@{SERVER}/", "openai", "@cf/meta/llama", SERVER),
        (f"openai:m@{SERVER}/chat/completions", "openai", "m", SERVER),
        ("python:clients.py:azure", "python:clients.py:azure", "", None),
        ("python:a/b.py:x.y:llama3:8b", "python:a/b.py:x.y", "llama3:8b", None),
        ("python:my.module:client:gpt-5", "python:my.module:client", "gpt-5", None),
        ({"model": "openai:gpt-5"}, "openai", "gpt-5", None),
        ({"endpoint": "openai", "model": "a:b/c", "base_url": SERVER}, "openai", "a:b/c", SERVER),
        ({"endpoint": "python:c.py:x", "model": "m"}, "python:c.py:x", "m", None),
    ],
)
def test_specs(written: object, endpoint: str, model: str, base_url: str | None) -> None:
    assert parse_spec("agent", written) == ModelSpec("agent", endpoint, model, base_url)


def test_a_mapping_may_say_everything() -> None:
    values: dict[str, Any] = {
        "endpoint": "vllm",
        "model": "qwen",
        "base_url": SERVER,
        "api_key_env": "MY_KEY",
        "temperature": 0.7,
        "seed": -3,
        "max_tokens": 100,
        "concurrency": 4,
        "requests_per_minute": 60,
        "tokens_per_minute": 10_000,
    }
    assert parse_spec("user", values) == ModelSpec("user", **values)


def test_judges_are_cold_unless_they_are_told_otherwise() -> None:
    assert parse_spec("judge", "openai:m").temperature == 0
    assert parse_spec("comparer", "openai:m").temperature == 0
    assert parse_spec("user", "openai:m").temperature is None
    assert parse_spec("judge", {"model": "openai:m", "temperature": 0.3}).temperature == 0.3
    assert parse_spec("judge", {"model": "openai:m", "temperature": None}).temperature is None


FORMS = "openai:NAME, openai:NAME@BASE_URL, or python:file.py:object:NAME"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("gpt-5", f"judge: 'gpt-5' is no model; write {FORMS}"),
        ("openai:", f"judge: 'openai:' is no model; write {FORMS}"),
        (f"openai: @{SERVER}", f"judge: 'openai: @{SERVER}' names no model; write openai:NAME"),
        (
            "opanai:gpt-5",
            "judge: 'opanai:gpt-5': unknown endpoint 'opanai'; did you mean 'openai'? allowed: "
            "openai, deepseek, dashscope, ollama, vllm, python; any server that speaks OpenAI's "
            "protocol is openai:gpt-5@BASE_URL",
        ),
        ("python:x.py", "judge: 'python:x.py' names no object; write python:file.py:object:NAME"),
        (7, f"judge: a model is {FORMS}, or a mapping, not 7"),
        ({}, f"judge: no model is named; write {FORMS} as model"),
        ({"endpoint": "vllm"}, "judge: model must be text: a model of vllm"),
        (
            {"model": "openai:m", "temprature": 1},
            "judge: unknown key 'temprature'; did you mean 'temperature'? allowed: endpoint, model,"
            " base_url, api_key_env, temperature, seed, max_tokens, concurrency, "
            "requests_per_minute, tokens_per_minute",
        ),
        (
            {"endpoint": "vlm", "model": "m"},
            "judge: unknown endpoint 'vlm'; did you mean 'vllm'? allowed: openai, deepseek, "
            "dashscope, ollama, vllm, python",
        ),
        (
            {"model": "openai:m", "concurrency": 0},
            "judge: concurrency must be a whole number above 0, not 0",
        ),
        ({"model": "openai:m", "seed": True}, "judge: seed must be a whole number, not True"),
        (
            {"model": "openai:m", "temperature": 3},
            "judge: temperature must be a number from 0 to 2, not 3",
        ),
        ({"model": ["m"]}, "judge: model must be text, not ['m']"),
        (
            "openai:m@http://",
            "judge: base_url must be a URL such as http://localhost:8000/v1, not 'http://'",
        ),
        (
            "openai:m@localhost:8000/v1",
            "judge: 'openai:m@localhost:8000/v1': what follows @ is an address without http://; "
            "did you mean 'openai:m@http://localhost:8000/v1'?",
        ),
        (
            {"endpoint": "vllm", "model": "m@127.0.0.1:9/v1"},
            "judge: 'm@127.0.0.1:9/v1': what follows @ is an address without http://; "
            "did you mean 'm@http://127.0.0.1:9/v1'?",
        ),
        (
            "openai:m@https://me:pass@host/v1",
            "judge: base_url must hold no user, password, query or fragment; keys go into "
            "api_key_env",
        ),
        (
            {"model": "openai:m", "api_key": "sk-secret"},
            "judge: a key does not belong in a file; name its environment variable: api_key_env",
        ),
        (
            {"model": "openai:m", "api_key_env": "sk-secret"},
            "judge: api_key_env must be the name of an environment variable, e.g. OPENAI_API_KEY",
        ),
    ],
)
def test_what_is_wrong_is_said(written: object, text: str) -> None:
    with pytest.raises(ModelProblem) as caught:
        parse_spec("judge", written)
    assert str(caught.value) == text


def test_an_unknown_role() -> None:
    with pytest.raises(ModelProblem, match=r"unknown role 'juge'; did you mean 'judge'\?"):
        parse_spec("juge", "openai:m")


@given(st.text(max_size=30) | st.dictionaries(st.text(max_size=8), st.text(max_size=8)))
def test_anything_else_is_a_problem_and_no_traceback(written: object) -> None:
    try:
        assert parse_spec("agent", written).model
    except ModelProblem as error:
        assert str(error).startswith("agent: ")


# Sources


def test_option_beats_environment_beats_suite_beats_project() -> None:
    layers: list[dict[str, Any]] = [
        {"project": {"judge": "openai:p"}},
        {"suite": {"judge": "openai:s"}},
        {"environment": {"DIALEVAL_MODEL": "user=openai:u, judge=openai:e"}},
        {"environment": {"DIALEVAL_MODEL": "judge=openai:e", "DIALEVAL_MODEL_JUDGE": "openai:j"}},
        {"options": ["judge=openai:o"]},
    ]
    given: dict[str, Any] = {}
    found = []
    for layer in layers:
        given |= layer
        judge = resolve_specs(**given)["judge"]
        assert judge.spec is not None
        found.append((judge.spec.model, judge.sources["model"]))
    assert found == [
        ("p", "[tool.dialeval.models]"),
        ("s", "suite"),
        ("e", "environment"),
        ("j", "environment"),
        ("o", "--dialeval-model"),
    ]


def test_roles_without_a_model_are_not_there() -> None:
    assert resolve_specs() == {}
    assert [*resolve_specs(suite={"judge": "openai:m", "agent": "openai:m"})] == ["agent", "judge"]


def test_another_model_keeps_sampling_but_neither_address_nor_key_nor_limits() -> None:
    suite = {
        "judge": {
            "endpoint": "openai",
            "model": "s",
            "base_url": SERVER,
            "api_key_env": "SUITE_KEY",
            "temperature": 0.5,
            "seed": 3,
            "concurrency": 2,
        }
    }
    judge = resolve_specs(suite=suite, options=["judge=deepseek:d"])["judge"]
    assert judge.spec == ModelSpec("judge", "deepseek", "d", temperature=0.5, seed=3)
    assert judge.sources == {
        "endpoint": "--dialeval-model",
        "model": "--dialeval-model",
        "temperature": "suite",
        "seed": "suite",
    }


def test_a_role_can_be_switched_off_and_on_again() -> None:
    project = {"user": "openai:p"}
    off = resolve_specs(project=project, suite={"user": None})["user"]
    assert (off.spec, off.sources) == (None, {"model": "suite"})
    assert resolve_specs(project=project, options=["user=none"])["user"].spec is None
    on = resolve_specs(project=project, suite={"user": None}, options=["user=vllm:m"])["user"]
    assert on.spec == ModelSpec("user", "vllm", "m")


@pytest.mark.parametrize("role", ROLES)
def test_a_mapping_without_a_model_changes_the_weaker_sources(role: Role) -> None:
    project = {role: {"model": f"openai:p@{SERVER}", "api_key_env": "KEY", "temperature": 1}}
    found = resolve_specs(project=project, suite={role: {"temperature": 0.5, "seed": 3}})[role]
    assert found.spec == ModelSpec(role, "openai", "p", SERVER, "KEY", temperature=0.5, seed=3)
    project_gave = dict.fromkeys(("endpoint", "model", "base_url", "api_key_env"), PROJECT)
    assert found.sources == {**project_gave, "temperature": "suite", "seed": "suite"}


@pytest.mark.parametrize("written", [{}, {"temperature": 0.5}])
@pytest.mark.parametrize(
    "stronger",
    [
        {"options": ["judge=openai:m"]},
        {"environment": {"DIALEVAL_MODEL": "judge=openai:m"}},
        {"environment": {"DIALEVAL_MODEL_JUDGE": "openai:m"}},
    ],
)
def test_a_stronger_source_names_the_model_of_a_mapping_without_one(
    written: dict[str, Any], stronger: dict[str, Any]
) -> None:
    expected = ModelSpec("judge", "openai", "m", temperature=written.get("temperature", 0.0))
    judge = resolve_specs(suite={"judge": written}, **stronger)["judge"]
    assert judge.spec == expected


def test_a_stronger_address_leaves_the_weaker_ones_key_and_limits_behind() -> None:
    project = {"judge": {"model": "vllm:p", "api_key_env": "KEY", "concurrency": 2, "seed": 3}}
    judge = resolve_specs(project=project, suite={"judge": {"base_url": SERVER}})["judge"]
    assert judge.spec == ModelSpec("judge", "vllm", "p", SERVER, temperature=0.0, seed=3)
    assert judge.sources["base_url"] == "suite"
    own = {"base_url": SERVER, "api_key_env": "OTHER", "concurrency": 4}
    judge = resolve_specs(project=project, suite={"judge": own})["judge"]
    assert judge.spec is not None
    assert (judge.spec.api_key_env, judge.spec.concurrency) == ("OTHER", 4)


@pytest.mark.parametrize("role", ROLES)
def test_what_the_project_says_waits_for_a_model(role: Role) -> None:
    project = {role: {"temperature": 0.5}}
    assert resolve_specs(project=project) == {}
    for named in ({"suite": {role: "openai:m"}}, {"options": [f"{role}=openai:m"]}):
        found = resolve_specs(project=project, **named)[role]  # type: ignore[arg-type]
        assert found.spec == ModelSpec(role, "openai", "m", temperature=0.5)


def test_lines_of_the_project_file_are_under_its_table() -> None:
    table = {"judge": {"temperature": 0.5}, "user": "openai:t"}
    found = resolve_specs(project=table, project_lines=["judge=vllm:p", "user=vllm:p"])
    assert found["judge"].spec == ModelSpec("judge", "vllm", "p", temperature=0.5)
    assert found["user"].spec == ModelSpec("user", "openai", "t")
    assert found["judge"].sources == dict.fromkeys(("endpoint", "model", "temperature"), PROJECT)


@pytest.mark.parametrize("written", [{}, {"temperature": 0.5}, {"base_url": SERVER}])
@pytest.mark.parametrize(
    "project", [{}, {"judge": None}, {"judge": "none"}, {"judge": {"seed": 1}}]
)
def test_a_suite_that_changes_a_model_that_nobody_names(
    written: dict[str, Any], project: dict[str, Any]
) -> None:
    with pytest.raises(ModelProblem) as caught:
        resolve_specs(project=project, suite={"judge": written})
    assert str(caught.value) == (
        f"suite: judge: nobody names its model; add `model` here ({FORMS}), or name it in "
        "[tool.dialeval.models], in DIALEVAL_MODEL_JUDGE or by --dialeval-model judge=SPEC"
    )
    off = resolve_specs(project=project, suite={"judge": written}, options=["judge=none"])["judge"]
    assert (off.spec, off.sources) == (None, {"model": "--dialeval-model"})


def test_an_endpoints_own_variable_gives_its_base_url() -> None:
    given = {"OPENAI_BASE_URL": f"{SERVER}/"}
    agent = resolve_specs(suite={"agent": "openai:m"}, environment=given)["agent"]
    assert agent.spec == ModelSpec("agent", "openai", "m", SERVER)
    assert agent.sources["base_url"] == "OPENAI_BASE_URL"
    fixed = resolve_specs(suite={"agent": "openai:m@http://x:1/v1"}, environment=given)["agent"]
    assert fixed.spec is not None and fixed.spec.base_url == "http://x:1/v1"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"options": ["openai:m"]}, "--dialeval-model: 'openai:m' is not ROLE=SPEC"),
        ({"options": ["judge="]}, "--dialeval-model: 'judge=' is not ROLE=SPEC"),
        (
            {"options": ["juge=openai:m"]},
            "--dialeval-model: unknown role 'juge'; did you mean 'judge'",
        ),
        ({"project": {"juge": "openai:m"}}, "[tool.dialeval.models]: unknown role 'juge'"),
        (
            {"environment": {"DIALEVAL_MODEL": "juge=openai:m"}},
            "DIALEVAL_MODEL: unknown role 'juge'",
        ),
        ({"suite": {"judge": "m"}}, "suite: judge: 'm' is no model"),
        ({"environment": {"DIALEVAL_MODEL_USER": "m"}}, "environment: user: 'm' is no model"),
        ({"project": {"user": {"sed": 1}}}, "[tool.dialeval.models]: user: unknown key 'sed'"),
        ({"project": {"user": {"endpoint": "vllm"}}}, "user: model must be text: a model of vllm"),
        ({"suite": {"user": {"endpoint": "vllm"}}}, "user: model must be text: a model of vllm"),
        ({"suite": {"user": {"sed": 1}}}, "suite: user: unknown key 'sed'; did you mean 'seed'?"),
        ({"suite": {"user": {"api_key": "sk"}}}, "suite: user: a key does not belong in a file"),
        (
            {"suite": {"user": "openai:m"}, "environment": {"OPENAI_BASE_URL": "host:80"}},
            "user: OPENAI_BASE_URL must be a URL such as",
        ),
    ],
)
def test_problems_name_their_source(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ModelProblem) as caught:
        resolve_specs(**given)
    assert text in str(caught.value)
