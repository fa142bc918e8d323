"""Every matcher that comes with the plugin."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_dialeval.matching.blacklist import blacklist
from pytest_dialeval.matching.claimed_tests import claimed_tests
from pytest_dialeval.matching.combining import all_of, any_of, not_of
from pytest_dialeval.matching.json_text import json_text
from pytest_dialeval.matching.keywords import keyword
from pytest_dialeval.matching.language import language
from pytest_dialeval.matching.length import length
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.number_whitelist import number_whitelist
from pytest_dialeval.matching.ordered_keyword import ordered_keyword
from pytest_dialeval.matching.pace import pace
from pytest_dialeval.matching.placeholder import placeholder
from pytest_dialeval.matching.recorded import recorded
from pytest_dialeval.matching.regex import regex
from pytest_dialeval.matching.regression import no_regression
from pytest_dialeval.matching.repetition import repetition
from pytest_dialeval.matching.tools import tool_called, tool_sequence
from pytest_dialeval.matching.verified import verifier

_MAKERS = (
    keyword,
    ordered_keyword,
    blacklist,
    length,
    number_whitelist,
    placeholder,
    pace,
    repetition,
    regex,
    language,
    tool_called,
    tool_sequence,
    json_text,
    recorded,
    verifier,
    no_regression,
    claimed_tests,
    all_of,
    any_of,
    not_of,
)


def builtin_matchers() -> Mapping[str, Matcher]:
    """A fresh mapping of them by name; users' own stand beside them under names of their own."""
    return {each.name: each for each in (make() for make in _MAKERS)}
