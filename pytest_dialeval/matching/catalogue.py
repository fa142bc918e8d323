"""Every matcher that comes with the plugin."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_dialeval.matching.combining import all_of, any_of, not_of
from pytest_dialeval.matching.compiling import (
    Check,
    SpecError,
    compile_spec,
    did_you_mean,
    spec_of,
    spec_problems,
)
from pytest_dialeval.matching.keywords import keyword
from pytest_dialeval.matching.matcher import Matcher

__all__ = [
    "Check",
    "SpecError",
    "builtin_matchers",
    "compile_spec",
    "did_you_mean",
    "spec_of",
    "spec_problems",
]


def builtin_matchers() -> Mapping[str, Matcher]:
    """A fresh mapping of them by name; users' own are merged over it."""
    made = (keyword(), all_of(), any_of(), not_of())
    return {each.name: each for each in made}
