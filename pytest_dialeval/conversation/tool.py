"""A Python function as a tool that a model may call: what the model is told, how it is called."""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dialeval.conversation.agent import Brief
from pytest_dialeval.conversation.answer import plain
from pytest_dialeval.conversation.fault import shortened
from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.records.text import clean

if TYPE_CHECKING:
    import pydantic

_SECTION = re.compile(r"^\s*(?:Args|Arguments|Parameters|Returns|Raises|Yields|Examples?):\s*$")
_SPHINX = re.compile(r"^\s*:(?:param|return|returns|raises|rtype|type)\b")
_GIVEN = re.compile(r"^\s*(?::param\s+(?:\w+\s+)?)?\**(\w+)\s*(?:\([^)]*\))?:\s*(\S.*)$")
_MESSAGE = 2000


class Unfit(Exception):
    """Arguments that the function can't be called with; the text says why, to the model."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function with its name, and its parameters as a pydantic model."""

    name: str
    function: Callable[..., object]
    params: type[pydantic.BaseModel]
    definition: Mapping[str, object]  # in OpenAI's form
    briefed: tuple[str, ...] = ()  # parameters that get the conversation's brief, not the model's

    def bound(self, arguments: Mapping[str, object], brief: Brief) -> Callable[[], object]:
        """The function with these arguments; Unfit where they don't fit."""
        import pydantic

        try:
            given = self.params.model_validate(arguments)
        except pydantic.ValidationError as error:
            raise Unfit(_worded(error)) from None
        fields = self.params.model_fields
        # What was not given is left to the function's own defaults.
        values = {str(fields[each].alias): getattr(given, each) for each in given.model_fields_set}
        values |= dict.fromkeys(self.briefed, brief)
        return lambda: self.function(**values)


def tool_of(function: object, reference: str) -> Tool:
    """The tool that a function is; HarnessFault where no model could call it."""
    import pydantic

    if not callable(function) or inspect.isclass(function):
        raise HarnessFault(f"tool {reference!r} must be a function, not {function!r:.80}")
    name = getattr(function, "__name__", type(function).__name__)
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        text = "a model can call names of A-Z, a-z, 0-9, _ and - up to 64 characters"
        raise HarnessFault(f"tool {reference!r}: {name!r} is no name for a tool; {text}")
    summary, about = _documented(inspect.getdoc(function) or "")
    try:
        hints = _hints(function)
        params = _params(name, function, hints, about)
        schema = _schema(params)
    except (TypeError, NameError, ValueError, pydantic.errors.PydanticUserError) as error:
        first = shortened(str(error).splitlines()[0] if str(error) else type(error).__name__, 300)
        raise HarnessFault(f"tool {reference!r}: {first}") from None
    told: dict[str, object] = {"name": name, "description": summary, "parameters": schema}
    if not summary:
        del told["description"]
    briefed = tuple(each for each, hint in hints.items() if hint is Brief and each != "return")
    return Tool(name, function, params, {"type": "function", "function": told}, briefed)


def result_text(value: object) -> str:
    """What a function returned, as a model reads it: text as it is, other values as JSON."""
    if isinstance(value, str):
        return clean(value)
    from pydantic_core import to_jsonable_python

    try:  # records of all kinds, dates, decimals
        value = to_jsonable_python(value, fallback=str, inf_nan_mode="strings")
    except ValueError:  # in itself, or no text that JSON could hold
        pass
    return json.dumps(plain(value, "tool's result"), ensure_ascii=False)


def _params(
    name: str, function: object, hints: Mapping[str, object], about: Mapping[str, str]
) -> type[pydantic.BaseModel]:
    import pydantic

    given: dict[str, Any] = {}
    for each in inspect.signature(typing.cast(Callable[..., object], function)).parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        if each.kind is each.POSITIONAL_ONLY:
            raise TypeError(f"a model gives arguments by name, which {each.name!r} can't be")
        if hints.get(each.name) is Brief:
            continue
        default = ... if each.default is each.empty else each.default
        said: dict[str, Any] = {"description": about[each.name]} if each.name in about else {}
        field = pydantic.Field(default, alias=each.name, **said)
        # A parameter may be called `schema` or `copy`, which would shadow pydantic's own.
        given[f"given_{each.name}"] = (hints.get(each.name, Any), field)
    config = pydantic.ConfigDict(extra="forbid")
    return pydantic.create_model(name, __config__=config, **given)


def _hints(function: object) -> dict[str, Any]:
    plain_function = inspect.isroutine(function)
    source = function if plain_function else type(function).__call__
    return typing.get_type_hints(source, include_extras=True)


def _schema(params: type[pydantic.BaseModel]) -> dict[str, object]:
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    schema = params.model_json_schema(schema_generator=Untitled)
    schema.pop("title", None)
    schema.setdefault("properties", {})
    return schema


def _documented(doc: str) -> tuple[str, dict[str, str]]:
    """The text before the first section, and what is said of each parameter."""
    lines = doc.splitlines()
    ends = [n for n, each in enumerate(lines) if _SECTION.match(each) or _SPHINX.match(each)]
    first = ends[0] if ends else len(lines)
    found = [match for each in lines[first:] if (match := _GIVEN.match(each))]
    return "\n".join(lines[:first]).strip(), {each[1]: each[2].strip() for each in found}


def _worded(error: pydantic.ValidationError) -> str:
    found = [
        f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}"
        for each in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    return shortened(f"the arguments are wrong: {'; '.join(found)}", _MESSAGE)
