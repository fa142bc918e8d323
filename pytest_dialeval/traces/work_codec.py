"""Work in a folder <-> JSON-able data: the events `work` and `check` of event schema 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.work import Check, RoundWork
from pytest_dialeval.traces.codec import decode_text, decode_texts, shown


def encode_record(record: RoundWork | Check) -> dict[str, object]:
    """The fields that say something; `changed` and `passed` always do."""
    data: dict[str, object] = {}
    for each in fields(record):
        value = getattr(record, each.name)
        if each.name in ("round", "changed", "passed") or value not in (None, "", (), {}):
            data[each.name] = value
    return data


def decode_work(data: Mapping[str, Any]) -> RoundWork:
    """The record that the data say; TranscriptError names the field that is wrong."""
    return RoundWork(
        round=_round(data),
        changed=_truth(data, "changed") is True,
        files=decode_texts(data, "files"),
        patch=decode_text(data, "patch") or None,
        sha256=decode_text(data, "sha256") or None,
        note=decode_text(data, "note"),
    )


def decode_check(data: Mapping[str, Any]) -> Check:
    """The same for a verifier's word; a reward is from 0 to 1, and follows from `passed`."""
    passed, reward = _truth(data, "passed"), _number(data, "reward")
    if reward is None and passed is not None:
        reward = float(passed)
    if reward is not None and not 0 <= reward <= 1:
        raise TranscriptError(f"'reward' is {shown(reward)}; it is from 0 to 1")
    return Check(
        round=_round(data),
        passed=passed,
        reward=reward,
        checks=_checks(data),
        exit_status=_whole(data, "exit_status"),
        seconds=_number(data, "seconds"),
        output=decode_text(data, "output"),
        left_out=decode_texts(data, "left_out"),
        why=decode_text(data, "why"),
    )


def _round(data: Mapping[str, Any]) -> int:
    number = _whole(data, "round")
    if number is None or number < 0:
        raise TranscriptError(f"'round' is {shown(data.get('round'))}; it counts from 0")
    return number


def _whole(data: Mapping[str, Any], name: str) -> int | None:
    value = data.get(name)
    if value is not None and type(value) is not int:
        raise TranscriptError(f"{name!r} is {shown(value)}; it must be a whole number")
    return value


def _number(data: Mapping[str, Any], name: str) -> float | None:
    value = data.get(name)
    if value is not None and type(value) not in (int, float):
        raise TranscriptError(f"{name!r} is {shown(value)}; it must be a number")
    return None if value is None else float(value)


def _truth(data: Mapping[str, Any], name: str) -> bool | None:
    value = data.get(name)
    if value is not None and type(value) is not bool:
        raise TranscriptError(f"{name!r} is {shown(value)}; it must be true or false")
    return value


def _checks(data: Mapping[str, Any]) -> Mapping[str, bool]:
    checks = data.get("checks") or {}
    if not isinstance(checks, dict) or any(type(each) is not bool for each in checks.values()):
        raise TranscriptError(f"'checks' is {shown(checks)}; it is an object of true and false")
    return {clean(name): each for name, each in checks.items()}
