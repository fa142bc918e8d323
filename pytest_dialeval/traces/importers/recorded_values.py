"""Values stored with a trial, which the matcher `recorded` asks for by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_dialeval.records.text import clean

_LONGEST = 200  # characters; longer texts are policies and notes, not values


def scalars(data: Any, *, leave: tuple[str, ...] = ()) -> dict[str, object]:
    """Numbers, booleans and short texts of an object, by their names."""
    if not isinstance(data, Mapping):
        return {}
    return {
        clean(str(name)): clean(value) if isinstance(value, str) else value
        for name, value in data.items()
        if name not in leave and _is_scalar(value)
    }


def known_costs(values: dict[str, object]) -> dict[str, object]:
    """The values without costs of 0: tau books a model without a known price as 0."""
    return {name: each for name, each in values.items() if each or not name.endswith("_cost")}


def _is_scalar(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST
    return isinstance(value, bool | int | float)
