"""The JSON Schema of a suite file, for editors: keys, meanings, allowed values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import models_json_schema

from pytest_dialeval.matching.combining import Children
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.records.model import ENDPOINT_NAMES
from pytest_dialeval.records.rubric import JUDGE
from pytest_dialeval.records.task import USER_TURN
from pytest_dialeval.suites.agent_form import (
    CommandForm,
    HookForm,
    HttpForm,
    ModelAgentForm,
    PythonForm,
    ReplayForm,
    ScriptedForm,
)
from pytest_dialeval.suites.form import Form
from pytest_dialeval.suites.persona_form import PersonaForm, UserTurnForm
from pytest_dialeval.suites.profiles import PROFILES
from pytest_dialeval.suites.rounds_form import ProfileForm, RoundsPersonaForm
from pytest_dialeval.suites.rubric_form import JudgeForm, RubricForm
from pytest_dialeval.suites.suite_form import ModelForm, SuiteForm

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_AGENTS: dict[type[Form], Schema] = {
    ScriptedForm: {"const": "scripted"},
    ReplayForm: {"const": "replay"},
    PythonForm: {"pattern": "^python:.+:.+"},
    CommandForm: {"pattern": "^command:.*\\S"},
    ModelAgentForm: {"pattern": rf"^(?:{'|'.join(ENDPOINT_NAMES)})[:/].*\S"},
    HttpForm: {"pattern": r"^https?://[^\s/]"},
    HookForm: {"pattern": r"^(?!scripted$|replay$)[^\s:/]+$"},
}
_FORMS: tuple[type[Form], ...] = (
    SuiteForm,
    PersonaForm,
    RubricForm,
    JudgeForm,
    UserTurnForm,
    ModelForm,
    ProfileForm,
    RoundsPersonaForm,
    *_AGENTS,
)
_Mode = Literal["validation"]
_NAMES = ("properties", "patternProperties", "$defs")  # their keys are names, not keywords


def json_schema(matchers: Mapping[str, Matcher]) -> Schema:
    """The schema (draft 2020-12) of a suite file that may use these matchers."""
    modes: list[tuple[type[BaseModel], _Mode]] = [(each, "validation") for each in _FORMS]
    defs: Schema = models_json_schema(modes, ref_template="#/$defs/{model}")[1]["$defs"]
    for name, matcher in matchers.items():
        _add_matcher(defs, name, matcher)
    defs["matcher"] = _one_of_these(_references(matchers))
    conditions = {**_references(matchers), USER_TURN: _bare(UserTurnForm, {"type": "integer"})}
    defs["condition"] = _one_of_these(conditions)
    _join_rubric(defs, matchers)
    _join_suite(defs)
    root = _plain({**defs.pop("SuiteForm"), "$defs": defs})
    return {"$schema": _DIALECT, "title": "A pytest-dialeval suite", **root}


def _add_matcher(defs: Schema, name: str, matcher: Matcher) -> None:
    """What may stand below a matcher's name; definitions it needs are kept under its name."""
    if issubclass(matcher.params, Children):
        defs[f"matcher.{name}"] = {**_combined(name), "description": matcher.params.__doc__}
        return
    try:
        params = matcher.params.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
    except PydanticInvalidForJsonSchema:  # a user's parameter of a type that JSON has no word for
        params = {}
    for key, value in params.pop("$defs", {}).items():
        defs[f"{name}.{key}"] = value
    bare = params.get("properties", {}).get(matcher.shorthand)
    allowed = [params] if params.get("required") else [params, {"type": "null"}]
    schema = {"anyOf": [*allowed, bare] if bare else allowed}
    # Above the alternatives, so that an editor says it whichever of them is written.
    about = params.pop("description", None)
    defs[f"matcher.{name}"] = {"description": about, **schema} if about else schema


def _combined(name: str) -> Schema:
    """What may stand below a matcher of matchers."""
    child = {"anyOf": [_ref("matcher"), {"type": "string"}]}
    many = {"type": "array", "items": child, "minItems": 1}
    written = child if name == "not" else many
    return {"anyOf": [written, _object({"of": written})]}


def _references(matchers: Mapping[str, Matcher]) -> Schema:
    return {name: _ref(f"matcher.{name}") for name in matchers}


def _join_rubric(defs: Schema, matchers: Mapping[str, Matcher]) -> None:
    """A rubric's own keys, and exactly one method."""
    methods = {**_references(matchers), JUDGE: _bare(JudgeForm, {"type": "string"})}
    rubric = defs["RubricForm"]
    rubric["properties"] |= methods
    rubric["oneOf"] = [{"required": [each]} for each in methods]
    trigger = defs["TriggerForm"]
    kinds = [each for each in trigger["properties"] if each != "then"]
    trigger["oneOf"] = [{"required": [each]} for each in kinds]


def _join_suite(defs: Schema) -> None:
    """What the suite file's forms read one by one."""
    suite = defs["SuiteForm"]["properties"]
    suite["rubrics"]["items"] = _ref("RubricForm")
    model = [{"type": "string"}, {"type": "null"}, _ref("ModelForm")]
    suite["models"]["additionalProperties"] = {"anyOf": model}
    for form, use in _AGENTS.items():
        defs[form.__name__]["properties"]["use"] |= {"type": "string", **use}
    agents = [_ref(each.__name__) for each in _AGENTS]
    (pattern,) = suite["agents"]["patternProperties"]
    suite["agents"]["patternProperties"] = {pattern: {"anyOf": [*agents, {"type": "string"}]}}
    condition = defs["TransitionForm"]["properties"]["when"]
    condition["anyOf"] = [_ref("condition"), {"type": "null"}]
    profile = defs["RoundsForm"]["properties"]["profile"]
    profile["anyOf"] = [{"enum": [*PROFILES]}, _ref("ProfileForm")]
    _join_personas(defs["SuiteForm"])


def _join_personas(suite: Schema) -> None:
    """Where rounds follow a request, personas have no script."""

    def personas(form: type[Form]) -> Schema:
        return {"properties": {"personas": {"items": _ref(form.__name__)}}}

    rounds = {"required": ["rounds"], "properties": {"rounds": {"type": "object"}}}
    suite["if"] = {"required": ["task"], "properties": {"task": {"type": "object", **rounds}}}
    suite["then"] = personas(RoundsPersonaForm)
    suite["else"] = personas(PersonaForm)


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _bare(form: type[Form], bare: Schema) -> Schema:
    return {"anyOf": [_ref(form.__name__), bare]}


def _object(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _one_of_these(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }


def _plain(schema: Any) -> Any:
    """Without titles and empty defaults; matchers stand where forms mark their places."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("$comment") == "matcher":
        return _ref("matcher")
    plain = {key: _keyword(key, value) for key, value in schema.items() if _tells(key, value)}
    if "patternProperties" in plain:
        plain["additionalProperties"] = False
    return plain


def _keyword(key: str, value: Any) -> Any:
    if key in _NAMES:
        return {name: _plain(each) for name, each in value.items()}
    return value if key in ("default", "const", "enum") else _plain(value)


def _tells(key: str, value: Any) -> bool:
    return key != "title" and not (key == "default" and (value is None or value in ({}, [])))
