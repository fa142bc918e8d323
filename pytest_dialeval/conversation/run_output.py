"""What a run of tests printed: whether any failed, which, and with what error."""

from __future__ import annotations

import re

from pytest_dialeval.records.text import clean

_READ = 20_000  # characters at the end: what counts is said last
# The name of a test that failed: of pytest, unittest and go, of TAP, of cargo.
_FAILED = re.compile(
    r"^(?:(?:FAILED|ERROR) |(?:(?:--- )?FAIL|ERROR): )([^\s(]\S*)"
    r"|^not ok \d+ (?:- )?(\S.*)|^test (\S+) \.\.\. FAILED$",
    re.MULTILINE,
)
_FAILURES = re.compile(
    r"\b[1-9]\d* (?:failed|failures?|errors?)\b|\b(?:failures|errors)=[1-9]|^E  |^Traceback ",
    re.MULTILINE,
)
_ERROR = re.compile(r"\b\w*(?:Error|Exception)\b|\berror\b|\bpanic\b|^E  ", re.MULTILINE)


def failed_test(output: str) -> str:
    """The name of the first test that failed; empty where none is named."""
    found = _FAILED.search(output)
    return next(filter(None, found.groups())) if found else ""


def fails(output: str) -> bool:
    """Whether tests that printed this failed: names of those that pass may speak of errors."""
    return bool(_FAILED.search(output) or _FAILURES.search(output))


def error_line(text: str) -> str:
    """The last line that speaks of an error."""
    lines = [each.strip() for each in clean(text[-_READ:]).splitlines()]
    named = (each.removeprefix("E  ").strip() for each in reversed(lines) if _ERROR.search(each))
    return next(named, "")
