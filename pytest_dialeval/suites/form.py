"""The kinds of value that a suite is written in; each says itself what it must be."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, TypeVar
from unicodedata import combining, normalize

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    WithJsonSchema,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from pytest_dialeval.records.wording import did_you_mean

_SHOWN = 60
_LONGEST_NAME = 200
VARIABLE_NAME = "[A-Za-z_][A-Za-z0-9_]*"


class Form(BaseModel):
    """A mapping of a suite file: its keys, their meaning and their defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    noun: ClassVar[str] = "a mapping"
    later: ClassVar[frozenset[str]] = frozenset()  # keys that a later version reads

    @classmethod
    def keys(cls) -> list[str]:
        """The keys as users write them."""
        return [each.alias or name for name, each in cls.model_fields.items()]

    @classmethod
    def field(cls, key: str) -> Any:
        """The annotation of a key."""
        return next(
            each.annotation for name, each in cls.model_fields.items() if key in (name, each.alias)
        )

    @classmethod
    def meaning(cls, key: str) -> str:
        """What a key is for, in one phrase."""
        fields = cls.model_fields.items()
        found = next(each for name, each in fields if key in (name, each.alias))
        return found.description or ""

    @classmethod
    def sketch(cls) -> str:
        """`id, script, ...`: a mapping of this form in a few words."""
        keys = cls.keys()
        return ", ".join(keys[:4]) + (", ..." if len(keys) > 4 else "")


def shown(value: object) -> str:
    """A value as a message names it."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case str():
            return repr(value if len(value) <= _SHOWN else value[:_SHOWN] + "...")
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
    return repr(value)[:_SHOWN]


def _expected(what: str, hint: Callable[[object], str] = lambda value: "") -> WrapValidator:
    """A validator whose every error reads `must be WHAT, not VALUE; HINT`."""

    def validate(value: object, handler: Callable[[object], object]) -> object:
        try:
            return handler(value)
        except ValidationError:
            raise _refuse(f"must be {what}, not {shown(value)}{hint(value)}") from None

    return WrapValidator(validate)


def _quote_or_empty(value: object) -> str:
    return '; write "" for an empty text' if value is None else _quote(value)


def _quote(value: object) -> str:
    return f"; quote it: '{shown(value)}'" if isinstance(value, bool | int | float) else ""


def _named_like(allowed: str) -> Callable[[object], str]:
    """A hint: the name as it may be written."""

    def hint(value: object) -> str:
        if not isinstance(value, str):
            return _quote(value)
        plain = value
        if allowed.startswith("a-z"):
            parts = normalize("NFKD", value.lower())
            plain = "".join(each for each in parts if not combining(each))
        joined = re.sub(rf"(?:[^{allowed}]|_)+", "_", plain)
        name = re.sub(r"\.{2,}", ".", joined).strip("_.")[:_LONGEST_NAME]
        return f"; write {name!r}" if name else ""

    return hint


def _unquote(value: object) -> str:
    number = isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d+)?", value.strip())
    return "; write it without quotes" if number else ""


def _flag(value: object) -> str:
    words = {"yes": "true", "on": "true", "no": "false", "off": "false"}
    meant = words.get(value.lower()) if isinstance(value, str) else None
    return f"; write {meant}" if meant else _unquote(value)


def _as_text(value: object) -> object:
    """Whole numbers read back as they were written, so that they can be text without quotes."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def one_of(*choices: str) -> WrapValidator:
    """For a Literal: the allowed words, and the one that was probably meant."""
    listed = ", ".join(repr(each) for each in choices)

    def guess(value: object) -> str:
        return did_you_mean(value, choices) if isinstance(value, str) else ""

    return _expected(f"one of {listed}", guess)


def _refuse(text: str) -> PydanticCustomError:
    # Braces are fields in a pydantic message: the text goes in as one.
    return PydanticCustomError("expected", "{text}", {"text": text})


def must(condition: Callable[[Any], bool], what: str) -> BeforeValidator:
    """A validator that says `must be WHAT, not VALUE` where the condition does not hold."""

    def validate(value: object) -> object:
        if condition(value):
            return value
        raise _refuse(f"must be {what}, not {shown(value)}")

    return BeforeValidator(validate)


def _variable(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(VARIABLE_NAME, value):
        return value
    # What stands there is likely the key itself, so it is not repeated.
    raise _refuse("must be the name of an environment variable, e.g. OPENAI_API_KEY, not a key")


def _visible(value: str) -> str:
    if any(each.isprintable() and not each.isspace() for each in value):
        return value
    raise ValueError("blank")


def _named(value: str) -> str:
    if re.fullmatch(r"[\w.-]+", value):
        return value
    raise ValueError("no name")


def _pattern(pattern: str) -> Any:
    return Field(pattern=f"^(?:{pattern})$", max_length=_LONGEST_NAME)


_Item = TypeVar("_Item")
_Filled = Annotated[list[_Item], Field(min_length=1)]

Text = Annotated[str, Strict(), _expected("text", _quote_or_empty)]
Line = Annotated[
    str,
    Strict(),
    Field(pattern=r"\S"),
    AfterValidator(_visible),
    _expected("text that is not blank", _quote),
]
Lines = Annotated[
    list[Line],
    Field(min_length=1),
    BeforeValidator(_as_list, json_schema_input_type=str | _Filled[str]),
]
LooseText = Annotated[
    str,
    Strict(),
    _expected("text", _quote_or_empty),
    BeforeValidator(_as_text, json_schema_input_type=str | int),
]
LooseLine = Annotated[Line, BeforeValidator(_as_text, json_schema_input_type=str | int)]
Words = Annotated[
    list[LooseLine],
    Field(min_length=1),
    BeforeValidator(_as_list, json_schema_input_type=str | _Filled[str | int]),
]
Id = Annotated[
    str, Strict(), _pattern("[a-z0-9_]+"), _expected("of a-z, 0-9 and _", _named_like("a-z0-9"))
]
RubricId = Annotated[
    str,
    Strict(),
    _pattern(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*"),
    _expected("of a-z, 0-9 and _, with single dots between", _named_like("a-z0-9.")),
]
Name = Annotated[
    str,
    Strict(),
    # Editors know \w as ASCII alone, so what they are told is wider.
    _pattern(r"\S+"),
    AfterValidator(_named),
    _expected("of letters, digits, _ . and -", _named_like(r"\w.-")),
]
Language = Annotated[
    str,
    Strict(),
    _pattern("[A-Za-z]{2,3}(?:-[A-Za-z0-9]+)*"),
    _expected("a language code such as en, zh or pt-BR", _quote),
]
One = Annotated[
    int,
    Strict(),
    Field(ge=1, le=1),
    _expected("1, the version of the format that is read here", _unquote),
    WithJsonSchema({"const": 1}),
]
Flag = Annotated[bool, Strict(), _expected("true or false", _flag)]
Count = Annotated[int, Strict(), Field(ge=0), _expected("a whole number of at least 0", _unquote)]
Whole = Annotated[int, Strict(), Field(ge=1), _expected("a whole number of at least 1", _unquote)]
Positive = Annotated[
    float,
    Strict(),
    Field(gt=0, allow_inf_nan=False),
    _expected("a number above 0", _unquote),
]
Number = Annotated[
    float,
    Strict(),
    Field(allow_inf_nan=False),
    _expected("a number", _unquote),
]
NotNegative = Annotated[
    float,
    Strict(),
    Field(ge=0, allow_inf_nan=False),
    _expected("a number of at least 0", _unquote),
]
Share = Annotated[
    float,
    Strict(),
    Field(ge=0, le=1, allow_inf_nan=False),
    _expected("a number from 0 to 1", _unquote),
]
Integer = Annotated[int, Strict(), _expected("a whole number", _unquote)]
Temperature = Annotated[
    float,
    Strict(),
    Field(ge=0, le=2, allow_inf_nan=False),
    _expected("a number from 0 to 2", _unquote),
]
Variable = Annotated[
    str,
    BeforeValidator(_variable),
    WithJsonSchema({"type": "string", "pattern": f"^{VARIABLE_NAME}$"}),
]
RawSpec = Annotated[
    dict[str, Any],
    must(
        lambda value: isinstance(value, dict) and len(value) == 1,
        "one matcher with its parameters, such as keyword: {any: [...]}",
    ),
    WithJsonSchema({"$comment": "matcher"}),
]
