"""Task ids and trial numbers of recordings: what may not be pooled is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import Recording
from pytest_dialeval.records.wording import listed
from pytest_dialeval.traces.codec import shown

_SHOWN = 5


def task_ids(items: Sequence[Any], path: Path, word: str) -> list[str]:
    """The task id of each record; where one is missing, trials of other tasks would be pooled."""
    ids = [task_id(each.get("task_id")) for each in items]
    missing = [place for place, each in enumerate(ids) if each is None]
    if missing:
        raise TranscriptError(
            f"{path}: {len(missing)} of {len(items)} {word}s have no usable task_id "
            f"(text or a whole number): {word} {listed(missing, _SHOWN)}; trials of different "
            "tasks would be pooled: give each its task_id"
        )
    return [each for each in ids if each is not None]


def task_id(value: Any) -> str | None:
    """A task id as text, or None where it is none."""
    if type(value) is int:
        return str(value)
    return clean(value) if isinstance(value, str) and clean(value).strip() else None


def trial_number(value: Any) -> int | None:
    """The number that a file gives to a trial, if it does."""
    if value is None:
        return None
    if type(value) is not int or value < 0:
        raise TranscriptError(f"'trial' is {shown(value)}; it must be a whole number from 0")
    return value


def refuse_duplicates(recordings: Iterable[Recording], place: Callable[[Recording], str]) -> None:
    """Refuse two recordings of one trial, and trials of a task that are numbered only in part."""
    first: dict[tuple[str, str | None, int], Recording] = {}
    of_task: dict[tuple[str, str | None], Recording] = {}
    for each in recordings:
        other = of_task.setdefault((each.task_id, each.agent), each)
        if (other.trial is None) != (each.trial is None):
            raise TranscriptError(
                f"{place(each)}: task {each.task_id!r} numbers some of its trials and not others "
                f"({place(other)}); number all or none"
            )
        if each.trial is None:
            continue
        other = first.setdefault((each.task_id, each.agent, each.trial), each)
        if other is not each:
            raise TranscriptError(
                f"{place(each)}: is trial {each.trial} of task {each.task_id!r}, and so is "
                f"{place(other)}; keep one of them, or number them apart"
            )
