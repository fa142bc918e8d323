"""The parameters that matchers share, and how a bare value is read."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Annotated, Any, TypeVar

import pydantic
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from pytest_dialeval.matching.normal import normal
from pytest_dialeval.matching.view import By, Turns, View
from pytest_dialeval.records.transcript import Turn


def as_list(value: object) -> object:
    """A bare value as a list of one."""
    if isinstance(value, str | int | float):
        return [value]
    return list(value) if isinstance(value, tuple | set | frozenset) else value


def _word(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticCustomError("word", "a truth value is no word; quote it")
    if isinstance(value, float) and not math.isfinite(value):
        raise PydanticCustomError("word", "it is no finite number")
    if isinstance(value, int | float):
        return format(Decimal(repr(value)).normalize(), "f")
    return value


def _speaks(value: str) -> str:
    if not normal(value).text.strip():
        raise PydanticCustomError("word", "it holds nothing that could be found")
    return value


# What may be written is wider than what is kept, and editors are told the former.
_Item = TypeVar("_Item")
_Filled = Annotated[list[_Item], Field(min_length=1)]
_Written = str | float
Word = Annotated[
    str, BeforeValidator(_word, json_schema_input_type=_Written), AfterValidator(_speaks)
]
Words = Annotated[
    list[Word],
    Field(min_length=1),
    BeforeValidator(as_list, json_schema_input_type=_Written | _Filled[_Written]),
]
Count = Annotated[int, Field(ge=0)]
Steps = Annotated[
    list[Words],
    Field(min_length=1),
    BeforeValidator(
        as_list, json_schema_input_type=_Written | _Filled[_Written | _Filled[_Written]]
    ),
]


class Params(pydantic.BaseModel):
    """Below a matcher's name nothing but its own keys is allowed."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, defer_build=True, strict=True)


class Where(Params):
    """Whose turns are searched, and which of them."""

    by: By = Field("agent", description="whose turns are searched")
    turns: Turns = Field(
        "all",
        description="which of them: all (behind the trigger, where there is one), the first or "
        "last of the conversation, the next after the trigger",
    )

    def searched(self, view: View) -> tuple[Turn, ...]:
        """The turns with words that these parameters choose."""
        return view.searched(self.by, self.turns, said=True)

    @property
    def one_turn(self) -> bool:
        """Whether at most one turn is ever searched."""
        return self.turns in ("first", "last", "next")


def scope(params: Where) -> str:
    """Which of the agent's turns are searched; `all` where the user's are."""
    return params.turns if params.by == "agent" else "all"


def always(_: Any) -> bool:
    """Boolean, whatever the parameters."""
    return True
