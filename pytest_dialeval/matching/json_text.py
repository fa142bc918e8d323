"""`json`: the turn is JSON, as a program behind the agent would need it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

import pydantic
from pydantic_core import PydanticCustomError

from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.params import Where, Words, always, scope
from pytest_dialeval.matching.pattern import SEARCHED_AT_MOST, pattern
from pytest_dialeval.matching.view import View
from pytest_dialeval.matching.wording import beginnings, ids, not_searched, quoted
from pytest_dialeval.records.verdict import MatcherResult
from pytest_dialeval.records.wording import plural

_FENCE = "```"


class JsonParams(Where):
    """`keys` must be there (`order.id` reaches inside), `schema` is a JSON Schema."""

    keys: Words | None = pydantic.Field(
        None, description="keys that must be there; dots reach into objects (order.id)"
    )
    schema_: dict[str, Any] | None = pydantic.Field(
        None, alias="schema", description="a JSON Schema that the value must fit"
    )

    @pydantic.model_validator(mode="after")
    def _has_schema(self) -> Self:
        if self.schema_ is not None and (why := _schema_problem(self.schema_)):
            raise PydanticCustomError("json", "{why}", {"why": why})
        return self

    @property
    def expected(self) -> str:
        """What it asks for, in words."""
        asked = "JSON"
        asked += f" with {quoted(self.keys, 'and')}" if self.keys else ""
        return asked + (" that fits the schema" if self.schema_ is not None else "")


def json_text() -> Matcher:
    """1 where every searched turn is JSON, alone or in one fenced block, with what is asked."""
    return Matcher("json", JsonParams, _match, always, scope, "keys", _is_slow)


def _is_slow(params: JsonParams) -> bool:
    return any(pattern(each).slow for each in _patterns(params.schema_))


def _match(view: View, params: JsonParams) -> MatcherResult:
    turns = params.searched(view)
    if not turns:
        return not_searched(params.expected, params)
    wrong = [(turn, why) for turn in turns if (why := _fault(turn.text, params))]
    if not wrong:
        reason = f"{plural(len(turns), 'searched turn')} fit"
        return MatcherResult(1.0, reason, params.expected, beginnings(turns), ids(turns))
    turn, why = wrong[0]
    quotes = beginnings([each for each, _ in wrong])
    return MatcherResult(0.0, f"turn {turn.id} {why}", params.expected, quotes, ids(turns))


def _fault(text: str, params: JsonParams) -> str:
    """What is wrong with it, `` where nothing is."""
    try:
        value = json.loads(_unfenced(text), parse_constant=_refuse)
    except RecursionError:
        return "is nested too deeply"
    except ValueError as error:
        return f"is not JSON: {error}"
    missing = [key for key in params.keys or () if not _has(value, key)]
    if missing:
        return f"lacks {quoted(missing, 'and')}"
    if params.schema_ is None:
        return ""
    if len(text) > SEARCHED_AT_MOST and _patterns(params.schema_):
        return f"has more than the {SEARCHED_AT_MOST} characters that a schema's pattern may search"
    return _unfit(value, params.schema_)


def _long_name(value: object, schema: Mapping[str, Any]) -> str:
    """The name that is too long for the patterns of names, which are searched in one go."""
    most = min((pattern(each).window for each in _name_patterns(schema)), default=math.inf)
    longest = max(map(len, _names(value)), default=0)
    if longest <= most:
        return ""
    return f"has a name of {longest} characters; a pattern of the schema searches at most {most}"


def _names(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from value
    if isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _names(each)


def _unfenced(text: str) -> str:
    """What stands in the fenced block, where the text is one."""
    stripped = text.strip()
    first, line_break, rest = stripped.partition("\n")
    is_fenced = first.strip().casefold() in (_FENCE, f"{_FENCE}json") and bool(line_break)
    return rest.removesuffix(_FENCE) if is_fenced and rest.endswith(_FENCE) else stripped


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")


def _has(value: object, key: str) -> bool:
    if not isinstance(value, Mapping):
        return False
    if key in value:
        return True
    first, dot, rest = key.partition(".")
    return bool(dot) and first in value and _has(value[first], rest)


def _unfit(value: object, schema: Mapping[str, Any]) -> str:
    from jsonschema.exceptions import best_match
    from referencing.exceptions import Unresolvable

    try:
        if too_long := _long_name(value, schema):
            return too_long
        worst = best_match(_validator(schema).iter_errors(value))
    except (RecursionError, Unresolvable) as error:
        return f"cannot be held against the schema: {type(error).__name__}"
    if worst is None:
        return ""
    return f"does not fit the schema at {worst.json_path}: {worst.message[:200]}"


def _validator(schema: Mapping[str, Any]) -> Any:
    import jsonschema
    import referencing

    # An empty registry: a `$ref` to elsewhere must never fetch anything.
    kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    extend: Any = jsonschema.validators.extend  # which is not typed
    ours = extend(kind, {"pattern": _match_pattern})
    # Without its `$schema`, by which a `$ref` to the root would find the other kind again.
    own = {key: each for key, each in schema.items() if key != "$schema"}
    return ours(own, registry=referencing.Registry())


def _match_pattern(validator: Any, written: str, text: object, _: object) -> Iterator[Exception]:
    """The keyword `pattern`, for which jsonschema would search a long text in one go."""
    from jsonschema import ValidationError

    if isinstance(text, str) and pattern(written).first(text) is None:
        yield ValidationError(f"{text!r} does not match {written!r}")


def _schema_problem(schema: dict[str, Any]) -> str:
    try:
        import jsonschema
    except ImportError:
        return "json.schema needs the package jsonschema: pip install jsonschema"
    try:
        kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
        kind.check_schema(schema)
        for each in _patterns(schema):
            pattern(each)
    except jsonschema.SchemaError as error:
        return f"this is no JSON Schema: {error.message[:200]}"
    except (RecursionError, ValueError) as error:
        return str(error)
    return ""


def _patterns(schema: object) -> list[str]:
    """Its regular expressions, which must not hang a run either."""
    if isinstance(schema, Mapping):
        own = [
            value for key, value in schema.items() if key == "pattern" and isinstance(value, str)
        ]
        return own + _own_name_patterns(schema) + _below(schema.values(), _patterns)
    return _below(schema, _patterns) if isinstance(schema, list) else []


def _name_patterns(schema: object) -> list[str]:
    """Those of them that are about names."""
    if isinstance(schema, Mapping):
        return _own_name_patterns(schema) + _below(schema.values(), _name_patterns)
    return _below(schema, _name_patterns) if isinstance(schema, list) else []


def _own_name_patterns(schema: Mapping[str, object]) -> list[str]:
    named = schema.get("patternProperties")
    return [str(key) for key in named] if isinstance(named, Mapping) else []


def _below(schemas: Iterable[object], find: Callable[[object], list[str]]) -> list[str]:
    return [each for schema in schemas for each in find(schema)]
