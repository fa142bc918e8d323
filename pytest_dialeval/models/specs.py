"""Which model plays which role: specs as users write them, and which of several holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args
from urllib.parse import urlsplit

from pytest_dialeval.errors import ModelProblem
from pytest_dialeval.models.endpoints import ENDPOINTS, PYTHON, base_url_of
from pytest_dialeval.records.model import ModelSpec, Role
from pytest_dialeval.suites.addresses import bare_address_problem
from pytest_dialeval.suites.wording import unknown

ROLES: tuple[Role, ...] = get_args(Role)
KEYS = tuple(each.name for each in fields(ModelSpec) if each.name != "role")
# Who grades should say the same twice. A model that has no temperature: `temperature: null`.
_COLD: frozenset[Role] = frozenset({"judge", "comparer"})
_IDENTITY = ("endpoint", "model", "base_url", "api_key_env")
PROJECT = "[tool.dialeval.models]"
_LIMITS = ("concurrency", "requests_per_minute", "tokens_per_minute")
_COUNTS = frozenset({"max_tokens", *_LIMITS})
# A name may hold an @; what looks like any URL behind it must not go unread to the vendor's own.
_ADDRESS = re.compile(r"@(?=http|[\w+.-]*:/)")
_FORMS = "openai:NAME, openai:NAME@BASE_URL, or python:file.py:object:NAME"


@dataclass(frozen=True, slots=True)
class ResolvedSpec:
    """The model of a role; `sources` says for each value that was given who gave it."""

    spec: ModelSpec | None  # None: the role is switched off (`user: null`)
    sources: Mapping[str, str] = field(default_factory=dict)


def parse_spec(role: str, written: object) -> ModelSpec:
    """A spec as text or as mapping; ModelProblem says what is wrong with it."""
    values = _values(_role(role), written)
    return _spec(_role(role), values)


def resolve_specs(
    suite: Mapping[str, object] | None = None,
    project: Mapping[str, object] | None = None,
    options: Iterable[str] = (),
    environment: Mapping[str, str] | None = None,
    project_lines: Iterable[str] = (),
) -> dict[Role, ResolvedSpec]:
    """Roles that have a model: option > environment > suite > project file, key by key.

    Where a stronger source names another model, address, key variable and limits of the weaker
    ones go, and with another address key variable and limits: a key must not travel to an endpoint
    that it was not meant for. What a suite says of a model that nobody names is a ModelProblem;
    what the project file says of one waits for a suite that names it. `project_lines` are the
    project file's ROLE=SPEC, under its table.
    """
    environment = environment or {}
    layers = [
        (PROJECT, _of_options(project_lines, PROJECT)),
        (PROJECT, _by_role(project or {}, PROJECT)),
        ("suite", _by_role(suite or {}, "suite")),
        ("environment", _of_environment(environment)),
        ("--dialeval-model", _of_options(options, "--dialeval-model")),
    ]
    found: dict[Role, ResolvedSpec] = {}
    for role in ROLES:
        given = [(source, layer[role]) for source, layer in layers if role in layer]
        if given and (resolved := _resolved(role, given, environment)):
            found[role] = resolved
    return found


def texts_of(options: Iterable[str], environment: Mapping[str, str]) -> dict[Role, str]:
    """The specs that options and the environment give, as they were written; `null` for none."""
    found = _of_environment(environment) | _of_options(options, "--dialeval-model")
    return {role: "null" if text is None else str(text) for role, text in found.items()}


def _resolved(
    role: Role, given: list[tuple[str, object]], environment: Mapping[str, str]
) -> ResolvedSpec | None:
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for source, written in given:
        if written is None:
            values, sources = {}, {}
            continue
        try:
            new = _values(role, written)
        except ModelProblem as error:
            raise ModelProblem(f"{source}: {error}") from None
        for key in _outdated_by(new):
            values.pop(key, None)
            sources.pop(key, None)
        values |= new
        sources |= dict.fromkeys(new, source)
    if "endpoint" not in values:
        return _unnamed(role, *given[-1])
    return _with_address(_spec(role, values), sources, environment)


def _outdated_by(new: Mapping[str, Any]) -> tuple[str, ...]:
    """What weaker sources say of another model or server."""
    if "model" in new:
        return (*_IDENTITY, *_LIMITS)
    return ("api_key_env", *_LIMITS) if "base_url" in new else ()


def _unnamed(role: Role, strongest: str, written: object) -> ResolvedSpec | None:
    """A role whose model nobody names: switched off, not there, or a mistake of the suite."""
    if written is None:
        return ResolvedSpec(None, {"model": strongest})
    if strongest == PROJECT:  # which says what holds wherever a suite names one
        return None
    raise ModelProblem(
        f"{strongest}: {role}: nobody names its model; add `model` here ({_FORMS}), or name it in "
        f"{PROJECT}, in DIALEVAL_MODEL_{role.upper()} or by --dialeval-model {role}=SPEC"
    )


def _with_address(
    spec: ModelSpec, sources: dict[str, str], environment: Mapping[str, str]
) -> ResolvedSpec:
    """The spec with the base URL that the endpoint's own variable gives."""
    if spec.endpoint.startswith(PYTHON):
        return ResolvedSpec(spec, sources)
    base_url, source = base_url_of(spec, environment)
    if source not in ("spec", "default"):
        _check_url(spec.role, base_url, source)
        return ResolvedSpec(replace(spec, base_url=base_url), {**sources, "base_url": source})
    return ResolvedSpec(spec, sources)


def _role(written: str, source: str = "") -> Role:
    for role in ROLES:
        if role == written:
            return role
    raise ModelProblem(f"{source and f'{source}: '}{unknown('role', written, ROLES)}")


def _by_role(models: Mapping[str, object], source: str) -> dict[Role, object]:
    return {
        _role(name, source): _off(written) if isinstance(written, str) else written
        for name, written in models.items()
    }


def _of_environment(environment: Mapping[str, str]) -> dict[Role, object]:
    """DIALEVAL_MODEL="judge=SPEC,user=SPEC", and DIALEVAL_MODEL_JUDGE=SPEC, which holds."""
    found = _of_options(environment.get("DIALEVAL_MODEL", "").split(","), "DIALEVAL_MODEL")
    for role in ROLES:
        if text := environment.get(f"DIALEVAL_MODEL_{role.upper()}", "").strip():
            found[role] = _off(text)
    return found


def _of_options(options: Iterable[str], source: str) -> dict[Role, object]:
    found: dict[Role, object] = {}
    for option in filter(str.strip, options):
        role, equals, text = option.strip().partition("=")
        if not equals or not text.strip():
            raise ModelProblem(f"{source}: {option!r} is not ROLE=SPEC, e.g. judge=openai:NAME")
        found[_role(role.strip(), source)] = _off(text.strip())
    return found


def _off(text: str) -> str | None:
    return None if text in ("none", "null") else text


def _values(role: Role, written: object) -> dict[str, Any]:
    """What a spec says, and nothing that it leaves open."""
    if isinstance(written, str):
        return _of_text(role, written)
    if isinstance(written, Mapping):
        return _of_mapping(role, written)
    raise ModelProblem(f"{role}: a model is {_FORMS}, or a mapping, not {written!r}")


def _of_text(role: Role, written: str) -> dict[str, Any]:
    text = written.strip()
    if text.startswith(PYTHON):
        return _of_python(role, text)
    found = re.match(r"([\w.-]+)([:/])(.+)", text)
    if found is None:
        raise ModelProblem(f"{role}: {written!r} is no model; write {_FORMS}")
    name, separator, rest = found.groups()
    if name not in ENDPOINTS:
        hint = f"; any server that speaks OpenAI's protocol is openai:{rest}@BASE_URL"
        wrong = unknown("endpoint", name, [*ENDPOINTS, "python"])
        raise ModelProblem(f"{role}: {text!r}: {wrong}{hint}")
    model, *address = _ADDRESS.split(rest, maxsplit=1)
    if not model.strip():
        raise ModelProblem(f"{role}: {written!r} names no model; write {name}{separator}NAME")
    if not address:
        _check_name(role, text)
    values = {"endpoint": name, "model": model.strip()}
    return values | ({"base_url": _check_url(role, address[0], "base_url")} if address else {})


def _check_name(role: Role, written: str) -> None:
    """An address in a name would be asked of the endpoint's own server, with its key."""
    if problem := bare_address_problem(written):
        raise ModelProblem(f"{role}: {problem}")


def _of_python(role: Role, text: str) -> dict[str, Any]:
    """`python:file.py:object:NAME`; the name may hold colons and may be missing."""
    found = re.fullmatch(r"(python:[^:]+:[\w.]+)(?::(.+))?", text)
    if found is None:
        raise ModelProblem(f"{role}: {text!r} names no object; write python:file.py:object:NAME")
    return {"endpoint": found[1], "model": found[2] or ""}


def _of_mapping(role: Role, written: Mapping[Any, Any]) -> dict[str, Any]:
    values = {str(key): value for key, value in written.items()}
    if "api_key" in values:
        text = "a key does not belong in a file; name its environment variable: api_key_env"
        raise ModelProblem(f"{role}: {text}")
    for key in values.keys() - KEYS:
        raise ModelProblem(f"{role}: {unknown('key', key, KEYS)}")
    for key, value in values.items():
        _check(role, key, value)
    if "endpoint" not in values:
        model = values.pop("model", None)
        return (_of_text(role, model) if model is not None else {}) | values
    endpoint = values["endpoint"]
    if endpoint in ENDPOINTS:
        _check_name(role, values.get("model") or "")
    if endpoint not in ENDPOINTS and not re.fullmatch(r"python:[^:]+:[\w.]+", endpoint):
        raise ModelProblem(f"{role}: {unknown('endpoint', endpoint, [*ENDPOINTS, 'python'])}")
    return {"model": "", **values}


def _check(role: Role, key: str, value: object) -> None:
    wrong = f"{role}: {key} must be "
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None and key not in ("endpoint", "model"):
        return
    if key in _COUNTS:
        if not (isinstance(value, int) and number and value > 0):
            raise ModelProblem(f"{wrong}a whole number above 0, not {value!r}")
    elif key == "seed":
        if not (isinstance(value, int) and number):
            raise ModelProblem(f"{wrong}a whole number, not {value!r}")
    elif key == "temperature":
        if not (number and 0 <= value <= 2):  # type: ignore[operator]
            raise ModelProblem(f"{wrong}a number from 0 to 2, not {value!r}")
    elif not isinstance(value, str) or not value.strip():
        raise ModelProblem(f"{wrong}text, not {value!r}")
    elif key == "base_url":
        _check_url(role, value, key)
    elif key == "api_key_env" and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        # What stands there is likely the key itself, so it is not repeated.
        raise ModelProblem(f"{wrong}the name of an environment variable, e.g. OPENAI_API_KEY")


def _check_url(role: Role, written: str, source: str) -> str:
    text = written.strip()
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        example = "http://localhost:8000/v1"
        raise ModelProblem(f"{role}: {source} must be a URL such as {example}, not {text!r}")
    if "@" in parts.netloc or parts.query or parts.fragment:
        what = "user, password, query or fragment"
        raise ModelProblem(f"{role}: {source} must hold no {what}; keys go into api_key_env")
    return text.rstrip("/").removesuffix("/chat/completions")


def _spec(role: Role, values: Mapping[str, Any]) -> ModelSpec:
    if not values.get("endpoint"):
        raise ModelProblem(f"{role}: no model is named; write {_FORMS} as model")
    if not values["endpoint"].startswith(PYTHON):
        if not values.get("model"):
            raise ModelProblem(f"{role}: model must be text: a model of {values['endpoint']}")
    if role in _COLD:
        values = {"temperature": 0.0, **values}
    return ModelSpec(role=role, **values)
