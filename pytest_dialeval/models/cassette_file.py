"""Cassettes on disk: the sorted whole beside the suite, into which workers' tapes are taken."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.models.cassette import Cassette, Entry, Part, Trial
from pytest_dialeval.models.cassette_lines import (
    SCHEMA,
    checked_part,
    entry_of,
    lines_of,
    trial_of,
)
from pytest_dialeval.traces.disk import disk_fault, read_file
from pytest_dialeval.traces.file_text import without_bom
from pytest_dialeval.traces.json_bytes import from_json, to_json

SUFFIX = ".cassette.jsonl"
_SUITE = ".dialeval.yaml"
_BESIDE = "make the suite's folder one that can be written, and record again"


def cassette_path(suite: Path) -> Path:
    """`shop.dialeval.yaml` -> `shop.cassette.jsonl` beside it."""
    return suite.with_name(suite.name.removesuffix(_SUITE) + SUFFIX)


def read_cassette(path: Path) -> Cassette:
    """The cassette at `path`, empty where there is none; TranscriptError names a line."""
    cassette = Cassette()
    if path.exists():
        changes = _read(path, whole=True)
        cassette.entries = changes.recorded
        cassette.again = changes.again
    return cassette


def merge(path: Path, parts: Sequence[Path]) -> int:
    """Take the workers' parts into the cassette at `path`; how many replies they brought."""
    tapes = [_read(each, whole=False) for each in parts if each.exists()]
    if not any(each.changed for each in tapes):
        return 0
    with _locked(path.parent):
        cassette = read_cassette(path)
        for tape in tapes:
            _apply(cassette, tape)
        _replace(path, b"".join(to_json(each) + b"\n" for each in lines_of(cassette)))
    return sum(len(each.recorded) for each in tapes)


@dataclass(slots=True)
class _Changes:
    recorded: dict[str, Entry] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)  # replayed or recorded
    restarted: set[Trial] = field(default_factory=set)
    again: set[Trial] = field(default_factory=set)

    @property
    def changed(self) -> bool:
        return bool(self.recorded or self.restarted or self.again)

    def take(self, line: dict[str, Any], parts: dict[str, Part]) -> None:
        if "key" in line:
            entry = entry_of(line, parts)
            self.recorded[entry.key] = entry
            self.used.add(entry.key)
        elif "used" in line:
            self.used.add(str(line["used"]))
        elif "restart" in line:
            self._restart(trial_of(line["restart"]))
        elif "again" in line:
            self.again.add(trial_of(line["again"]))

    def _restart(self, trial: Trial) -> None:
        self.restarted.add(trial)
        self.again.discard(trial)
        for key, each in list(self.recorded.items()):
            if each.request.of_trial == trial:
                del self.recorded[key]
                self.used.discard(key)


def _apply(cassette: Cassette, tape: _Changes) -> None:
    slots = {each.request.slot for each in tape.recorded.values()}
    cassette.entries = {
        key: each
        for key, each in cassette.entries.items()
        if each.request.of_trial not in tape.restarted
        and (key in tape.used or each.request.slot not in slots)
    }
    cassette.entries |= tape.recorded
    cassette.again = (cassette.again - tape.restarted) | tape.again


def _read(path: Path, *, whole: bool) -> _Changes:
    """All lines of a file; a part may end in half a line, where its worker was killed."""
    rows = without_bom(read_file(path), path).split(b"\n")
    last = rows.pop()
    if whole and last:
        raise TranscriptError(
            f"{path}:{len(rows) + 1}: is cut off; restore the file, or delete it and record anew"
        )
    lines = [(number, _line(path, number, row)) for number, row in enumerate(rows, 1) if row]
    if lines and lines[0][1].get("cassette") != SCHEMA:
        found = lines[0][1].get("cassette")
        what = "is no cassette" if found is None else f"is a cassette of schema {found!r}"
        remedy = f"this version reads schema {SCHEMA}: delete the file and record anew"
        raise TranscriptError(f"{path}:1: {what}; {remedy}")
    changes, parts = _Changes(), dict[str, Part]()
    # Parts first: a merge of two files in git may have moved them behind what names them.
    for number, line in sorted(lines, key=lambda each: "part" not in each[1]):
        try:
            if "part" in line:
                part = checked_part(line)
                parts[part.name] = part
            else:
                changes.take(line, parts)
        except ValueError as error:
            raise TranscriptError(f"{path}:{number}: {error}") from None
    return changes


def _line(path: Path, number: int, row: bytes) -> dict[str, Any]:
    try:
        line = from_json(row)
    except ValueError:
        line = None
    if not isinstance(line, dict):
        conflict = (
            "; a merge conflict? keep the lines of both sides"
            if row[:7] in (b"<" * 7, b"=" * 7, b">" * 7)
            else ""
        )
        raise TranscriptError(f"{path}:{number}: is no JSON object{conflict}")
    return line


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    # Two runs that record the same suite at once must not lose each other's replies. The folder
    # itself is locked: a lock file would lie beside the suite for ever.
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise disk_fault(error, folder) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(path: Path, data: bytes) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        raise disk_fault(error, path, elsewhere=_BESIDE) from None
    finally:
        with suppress(OSError):
            part.unlink()
