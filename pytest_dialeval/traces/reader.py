"""A trace file -> what it holds; one that was cut off is read to its last whole line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.text import clean_value
from pytest_dialeval.records.transcript import Transcript, Turn
from pytest_dialeval.records.work import Check, RoundWork
from pytest_dialeval.traces.codec import (
    SCHEMA,
    check_order,
    decode_counts,
    decode_ended_by,
    decode_outcome,
    decode_recorded,
    decode_text,
    decode_texts,
    decode_turn,
    shown,
)
from pytest_dialeval.traces.disk import read_file
from pytest_dialeval.traces.file_text import without_bom
from pytest_dialeval.traces.json_bytes import from_json
from pytest_dialeval.traces.place import located
from pytest_dialeval.traces.work_codec import decode_check, decode_work

_OPENING = b'{"event":"start"'


@dataclass(frozen=True, slots=True)
class Trace:
    """One conversation as recorded."""

    header: Mapping[str, object]  # the start event without `event` and `schema`
    transcript: Transcript
    path: str
    events: tuple[Mapping[str, object], ...] = ()  # errors, logs and what a later version adds
    unsaid_probes: tuple[str, ...] = ()


def read_trace(path: Path) -> Trace:
    """The trace in a file, finished or not; TranscriptError names file, line and remedy."""
    return parse_trace(read_file(path), path)


def parse_trace(data: bytes, path: Path) -> Trace:
    """The same for bytes already read; the path is for messages."""
    reading = _Reading()
    for number, line in _whole_lines(data, path):
        with located(f"{path}:{number}"):
            reading.take(_event(line))
    return reading.trace(path)


@dataclass(slots=True)
class _Reading:
    header: Mapping[str, object] | None = None
    turns: list[Turn] = field(default_factory=list)
    events: list[Mapping[str, object]] = field(default_factory=list)
    work: list[RoundWork] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    ending: Transcript | None = None
    unsaid_probes: tuple[str, ...] = ()

    def take(self, event: dict[str, Any]) -> None:
        """Read on; events must come in the order in which a conversation has them."""
        name = event.get("event")
        if self.ending is not None:
            raise TranscriptError(f"{name!r} comes after the end; a file holds one conversation")
        if name != "start" and self.header is None:
            raise TranscriptError(f"{name!r} comes before the start event; is this a trace?")
        match name:
            case "start":
                self._start(event)
            case "turn":
                turn = decode_turn(event)
                check_order(turn, len(self.turns) + 1)
                self.turns.append(turn)
            case "work":
                self.work.append(decode_work(event))
            case "check":
                self.checks.append(decode_check(event))
            case "end":
                self._end(event)
            case str():
                self.events.append(cast("Mapping[str, object]", clean_value(event)))
            case _:
                raise TranscriptError("the line has no 'event'; every event of a trace names it")

    def _start(self, event: dict[str, Any]) -> None:
        if self.header is not None:
            raise TranscriptError("a second start event; a file holds one conversation")
        schema = event.get("schema")
        if schema != SCHEMA:
            raise TranscriptError(
                f"event schema {schema!r} is not known, only {SCHEMA}; "
                "read the trace with the version of pytest-dialeval that wrote it"
            )
        header = {key: each for key, each in event.items() if key not in ("event", "schema")}
        self.header = cast("Mapping[str, object]", clean_value(header))

    def _end(self, event: dict[str, Any]) -> None:
        self.ending = Transcript(
            turns=tuple(self.turns),
            outcome=decode_outcome(event),
            reason=decode_text(event, "reason"),
            ended_by=decode_ended_by(event),
            recorded=decode_recorded(event),
            fidelity=decode_counts(event, "fidelity"),
            work=tuple(self.work),
            checks=tuple(self.checks),
        )
        self.unsaid_probes = decode_texts(event, "unsaid_probes")

    def trace(self, path: Path) -> Trace:
        return Trace(
            header=self.header or {},
            transcript=self.ending or self._unfinished(),
            path=str(path),
            events=tuple(self.events),
            unsaid_probes=self.unsaid_probes,
        )

    def _unfinished(self) -> Transcript:
        last = f"after turn {len(self.turns)}" if self.turns else "before its first turn"
        return Transcript(
            turns=tuple(self.turns),
            outcome="harness_error",
            reason=f"the trace is unfinished: it stops {last}, without a whole end event",
            finished=False,
            work=tuple(self.work),
            checks=tuple(self.checks),
        )


def _whole_lines(data: bytes, path: Path) -> list[tuple[int, bytes]]:
    # A machine that goes down may leave NUL bytes where the last events were to be.
    text = without_bom(data, path).rstrip(b"\0")
    if not text.strip():
        raise TranscriptError(f"{path}: is empty; nothing was recorded")
    *lines, rest = text.split(b"\n")
    whole = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not whole and rest[: len(_OPENING)] != _OPENING[: len(rest)]:
        raise TranscriptError(f"{path}:1: this is no trace; its first line is no start event")
    return whole


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = from_json(line)
    except ValueError as exc:
        raise TranscriptError(
            f"the line is not JSON ({exc}); restore the file, or remove this line and all after it"
        ) from None
    if not isinstance(event, dict):
        raise TranscriptError(f"the line is {shown(event)}; every event of a trace is an object")
    return event
