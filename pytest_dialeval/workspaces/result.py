"""What a verifier's command says: its exit status, or the file that it wrote."""

from __future__ import annotations

import json
import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_dialeval.records.text import clean
from pytest_dialeval.workspaces.junit import NoJunit, junit_tests

_LARGEST = 16_000_000  # bytes
_MOST = 5_000  # names
_KEYS = ("passed", "reward", "checks")
_FULL = 1 - 1e-9  # a reward of 0.9999999999 was 1 before somebody averaged it


class NoResult(Exception):
    """It could not be told; the text is a person's sentence."""


@dataclass(frozen=True, slots=True)
class Result:
    """Of one command."""

    passed: bool
    reward: float
    checks: Mapping[str, bool] = field(default_factory=dict)


def by_exit(status: int) -> Result:
    """0 is right, anything else wrong."""
    return Result(status == 0, float(status == 0))


def by_file(path: Path, status: int, shown: str) -> Result:
    """What the file says; `shown` is how the suite names it. NoResult where it says nothing."""
    data = _read(path, shown, status)
    try:
        result = _junit(data) if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<" else _json(data)
    except (NoResult, NoJunit) as error:
        raise NoResult(f"its result file {shown} can't be used: {error}") from None
    if result.passed and status != 0:
        raise NoResult(f"its result file {shown} says all is well, its exit status is {status}")
    return result


def _read(path: Path, shown: str, status: int) -> bytes:
    try:
        seen = path.lstat()
        if not stat.S_ISREG(seen.st_mode):
            raise NoResult(f"its result {shown} is no file")
        if seen.st_size > _LARGEST:
            raise NoResult(f"its result file {shown} has {seen.st_size} bytes; {_LARGEST} are read")
        return path.read_bytes()
    except FileNotFoundError:
        text = f"it wrote no result file {shown} (exit status {status})"
        raise NoResult(text) from None
    except OSError as error:
        raise NoResult(f"its result file {shown} can't be read: {error.strerror}") from None


def _junit(data: bytes) -> Result:
    tests = junit_tests(data)
    if not tests:
        raise NoResult("no test ran")
    passed = all(tests.values())
    return Result(passed, float(passed), _names(tests))


def _json(data: bytes) -> Result:
    try:
        value = json.loads(data, parse_constant=_no_number, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise NoResult(f"it is neither JSON nor JUnit's XML ({str(error)[:100]})") from None
    if not isinstance(value, dict) or not value:
        raise NoResult('it is no object such as {"passed": true, "reward": 1.0}')
    known = set(value) & {"passed", "checks"}
    return _told(value) if known or set(value) == {"reward"} else _figures(value)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two answers to one question, neither is believed."""
    value = dict(pairs)
    if len(value) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice[:40]!r} stands twice in an object")
    return value


def _told(value: Mapping[str, Any]) -> Result:
    if strange := sorted(set(value) - set(_KEYS)):
        raise NoResult(f"the key {strange[0]!r} is not known; {', '.join(_KEYS)} are")
    checks = value.get("checks", {})
    if not isinstance(checks, dict) or not all(type(each) is bool for each in checks.values()):
        raise NoResult("checks must be an object of true and false")
    passed, reward = value.get("passed"), _reward(value.get("reward"))
    if passed is not None and type(passed) is not bool:
        raise NoResult("passed must be true or false")
    if passed is None:
        passed = all(checks.values()) if checks else reward is not None and reward >= _FULL
        if not checks and reward is None:
            raise NoResult("no test ran")
    if not passed and reward is not None and reward >= _FULL:
        raise NoResult("its reward is 1, though not all passed")
    return Result(passed, float(passed) if reward is None else reward, _names(checks))


def _figures(value: Mapping[str, Any]) -> Result:
    """Rewards by name, as Harbor's verifiers write them: `reward` counts, else their mean."""
    figures = {name: _reward(each) for name, each in value.items()}
    known = {name: each for name, each in figures.items() if each is not None}
    if len(known) < len(figures):
        raise NoResult("a reward is null; each must be a number from 0 to 1")
    reward = known.get("reward", sum(known.values()) / len(known))
    checks = {name: each >= _FULL for name, each in known.items() if name != "reward"}
    return Result(reward >= _FULL, reward, _names(checks))


def _reward(value: object) -> float | None:
    if value is None:
        return None
    if type(value) is bool or not isinstance(value, int | float):
        raise NoResult(f"the reward {str(value)[:40]} is no number from 0 to 1")
    if not 0 <= value <= 1:
        raise NoResult(f"the reward {str(value)[:40]} is not from 0 to 1")
    return float(value)


def _names(checks: Mapping[str, bool]) -> dict[str, bool]:
    if len(checks) > _MOST:
        raise NoResult(f"it has {len(checks)} checks; {_MOST} are read")
    names: dict[str, bool] = {}
    for name, held in checks.items():  # two may look the same: both must hold
        names[clean(name)] = held and names.get(clean(name), True)
    return names
