"""What is wrong with a value, said in our own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from inspect import isclass
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pytest_dialeval.records.wording import did_you_mean
from pytest_dialeval.suites.form import Form, shown

Path = tuple[str | int, ...]

_NAMED = 20


def there(known: Iterable[str]) -> str:
    """`there: a, b`: what a name could have named."""
    names = list(dict.fromkeys(known))
    listed = [each if re.fullmatch(r"[\w.-]+", each) else shown(each) for each in names[:_NAMED]]
    return f"there: {', '.join(listed) or 'none'}{', ...' if len(names) > _NAMED else ''}"


def unknown(what: str, word: str, known: Sequence[str]) -> str:
    """`unknown key 'x'; did you mean 'y'? Allowed: ...`: the likeliest word, then all of them."""
    guess = did_you_mean(word, known)
    allowed = f"allowed: {', '.join(known)}" if known else "none is allowed here"
    return f"unknown {what} {shown(word)}{guess}{' ' if guess else '; '}{allowed}"


def dotted(path: Path) -> str:
    """`script.states.start.say[0]`: how a place is called in a message."""
    name = ""
    for part in path:
        plain = isinstance(part, str) and re.fullmatch(r"[\w.-]{1,60}", part)
        step = str(part) if plain else f"[{part if isinstance(part, int) else shown(part)}]"
        name += f".{step}" if name and plain else step
    return name


def worded(form: type[Form], exc: ValidationError) -> Iterator[tuple[Path, str]]:
    """Every error of a form as its place below the form, and a sentence."""
    for error in exc.errors(include_url=False):
        path = tuple(part for part in error["loc"] if part != "[key]")
        yield path, _sentence(form, path, error)


def _sentence(form: type[Form], path: Path, error: ErrorDetails) -> str:
    kind = error["type"]
    if kind in ("extra_forbidden", "missing"):
        owner = _form_at(form, path[:-1])
        return _unknown_key(owner, str(path[-1])) if kind[0] == "e" else _missing(owner, path)
    if kind == "model_type":
        nested = _form_at(form, path)
        return f"{dotted(path) or nested.noun} must be a mapping ({nested.sketch()}), {_not(error)}"
    return f"{dotted(path) or form.noun} {_predicate(error)}"


def _predicate(error: ErrorDetails) -> str:
    match error["type"]:
        case "expected" | "value_error":
            return error["msg"].removeprefix("Value error, ")
        case "list_type":
            return f"must be a list, {_not(error)}{_list_hint(error['input'])}"
        case "dict_type":
            return f"must be a mapping (key: value), {_not(error)}"
        case "too_short":
            return "must not be empty"
        case kind:
            return f"is not allowed to be {shown(error['input'])} ({kind.replace('_', ' ')})"


def _unknown_key(owner: type[Form], key: str) -> str:
    if key in owner.later:
        return f"key {key!r} comes in a later version: remove it"
    return unknown(f"key of {owner.noun}", key, owner.keys())


def _missing(owner: type[Form], path: Path) -> str:
    return f"{owner.noun} needs {path[-1]!r} ({owner.meaning(str(path[-1]))})"


def _not(error: ErrorDetails) -> str:
    return f"not {shown(error['input'])}"


def _list_hint(value: object) -> str:
    simple = isinstance(value, str | int | float) and not isinstance(value, bool)
    return f"; write [{value}]" if simple and re.fullmatch(r"[\w .-]{1,40}", str(value)) else ""


def _form_at(form: type[Form], path: Path) -> type[Form]:
    parts = list(path)
    while parts:
        nested, layers = _nested(form.field(str(parts.pop(0))))
        del parts[:layers]
        form = nested
    return form


def _nested(annotation: Any) -> tuple[type[Form], int]:
    """The form that an annotation holds, and the lists and mappings round it."""
    if isclass(annotation) and issubclass(annotation, Form):
        return annotation, 0
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return _nested(next(each for each in arguments if each is not type(None)))
    nested, layers = _nested(arguments[-1] if origin is dict else arguments[0])
    return nested, layers + (origin in (list, dict))
