"""What is wrong with a value, said in our own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from inspect import isclass
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pytest_dialeval.matching.wording import unknown_key
from pytest_dialeval.records.wording import closest, did_you_mean
from pytest_dialeval.suites.form import Form, shown

Path = tuple[str | int, ...]
Level = tuple[str, tuple[str, ...]]  # what a mapping is called, and its keys

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


def level(form: type[Form], *more: str) -> Level:
    """The mapping that a form describes."""
    return form.noun, (*form.keys(), *more)


def misplaced(key: str, around: Iterable[Level]) -> str:
    """`: it is a key of a persona, so move it left`; nothing where no mapping around has it."""
    noun = next((noun for noun, keys in around if key in keys), None)
    return f": it is a key of {noun}, so move it left" if noun else ""


def worded(
    form: type[Form],
    exc: ValidationError,
    *,
    around: Sequence[Level] = (),
    strange: Iterable[str] = (),
) -> Iterator[tuple[Path, str]]:
    """Every error of a form as its place below the form, and a sentence.

    `around` are the mappings that hold the form's, nearest first. A key that is missing because it
    is misspelt or misplaced is left out: `strange` are keys that are reported elsewhere.
    """
    errors = [
        (tuple(part for part in error["loc"] if part != "[key]"), error)
        for error in exc.errors(include_url=False)
    ]
    unknown_paths = [path for path, error in errors if error["type"] == "extra_forbidden"]
    unknown_paths += [(each,) for each in strange]
    for path, error in errors:
        if error["type"] != "missing" or not any(
            _meant(form, path, each) for each in unknown_paths
        ):
            yield path, _sentence(form, path, error, around)


def _meant(form: type[Form], missing: Path, unknown: Path) -> bool:
    """Whether the unknown key is the missing one, misspelt or at the wrong depth."""
    above, key, found = missing[:-1], missing[-1], str(unknown[-1])
    if unknown[:-1] == above:
        owner = _form_at(form, above)
        return key in (closest(found, owner.keys()), _below(owner, found))
    return unknown[: len(above)] == above and found == key


def _sentence(
    form: type[Form], path: Path, error: ErrorDetails, around: Sequence[Level] = ()
) -> str:
    kind = error["type"]
    if kind == "extra_forbidden":
        inner = [level(_form_at(form, path[:end])) for end in reversed(range(len(path) - 1))]
        return _unknown_key(_form_at(form, path[:-1]), str(path[-1]), [*inner, *around])
    if kind == "missing":
        return _missing(_form_at(form, path[:-1]), path)
    if kind == "model_type":
        nested = _form_at(form, path)
        return f"{dotted(path) or nested.noun} must be a mapping ({nested.sketch()}), {_not(error)}"
    if kind == "list_type":
        return f"{dotted(path) or form.noun} must be {_list(form, path, error)}"
    return f"{dotted(path) or form.noun} {_predicate(error)}"


def _predicate(error: ErrorDetails) -> str:
    match error["type"]:
        case "expected" | "value_error":
            return error["msg"].removeprefix("Value error, ")
        case "dict_type":
            return f"must be a mapping (key: value), {_not(error)}"
        case "too_short" if (least := error["ctx"]["min_length"]) > 1:
            return f"must have {least} or more, not {error['ctx']['actual_length']}"
        case "too_short":
            return "must not be empty"
        case kind:
            return f"is not allowed to be {shown(error['input'])} ({kind.replace('_', ' ')})"


def _unknown_key(owner: type[Form], key: str, around: Iterable[Level]) -> str:
    if key in owner.later:
        return f"key {key!r} comes in a later version: remove it"
    hint = misplaced(key, around)
    if not hint and (below := _below(owner, key)):
        noun = _nested(owner.field(below))[0].noun
        hint = f": it is a key of {noun}, so move it below {below!r}"
    return unknown_key(key, owner.noun, owner.keys(), hint=hint)


def _below(owner: type[Form], key: str) -> str | None:
    """The key of a form below which the other key belongs."""
    return next((each for each in owner.keys() if _holds(owner.field(each), key)), None)


def _holds(annotation: Any, key: str) -> bool:
    if isclass(annotation) and issubclass(annotation, Form):
        return key in annotation.keys()
    return any(_holds(each, key) for each in get_args(annotation))


def _missing(owner: type[Form], path: Path) -> str:
    return f"{owner.noun} needs {path[-1]!r} ({owner.meaning(str(path[-1]))})"


def _not(error: ErrorDetails) -> str:
    return f"not {shown(error['input'])}"


def _list(form: type[Form], path: Path, error: ErrorDetails) -> str:
    """A list, with brackets to write round a word; a word in brackets is no list of mappings."""
    items = _items(form, path)
    if isclass(items) and issubclass(items, Form):
        return f"a list of mappings ({items.sketch()}), {_not(error)}"
    return f"a list, {_not(error)}{'' if items is Any else _list_hint(error['input'])}"


def _items(form: type[Form], path: Path) -> Any:
    """What a list is of; None where the form does not tell."""
    if not path or not isinstance(path[-1], str):
        return None
    annotation = _form_at(form, path[:-1]).field(path[-1])
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(each for each in get_args(annotation) if each is not type(None))
    return get_args(annotation)[0] if get_origin(annotation) is list else None


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
