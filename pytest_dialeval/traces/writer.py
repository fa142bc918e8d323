"""One conversation's events on their way to disk: one file, one writer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from pytest_dialeval.errors import RunError, TraceTaken
from pytest_dialeval.records.monotonic import monotonic
from pytest_dialeval.records.transcript import Outcome, Turn
from pytest_dialeval.records.work import Check, RoundWork
from pytest_dialeval.traces.codec import SCHEMA, EndedBy, encode_turn
from pytest_dialeval.traces.disk import disk_fault, write_all
from pytest_dialeval.traces.redaction import Redaction
from pytest_dialeval.traces.work_codec import encode_record

PART = ".part"  # behind the name of a trace that is still being written
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND


class TraceWriter:
    """Appends events to `<path>.part`; closing after the end event gives it its name.

    Each is there at once, but for a turn that may come `later`, with the event after it.

    A write that fails leaves the whole lines written before it and raises RunError; later events
    may be tried again. `timed=False` leaves the clock out, for recordings made elsewhere. Secrets
    are left out by `redaction`, by default those of the environment.
    """

    def __init__(
        self, path: Path, *, timed: bool = True, redaction: Redaction | None = None
    ) -> None:
        self.path = path
        self._redaction = redaction or Redaction.from_environment(os.environ)
        self.part = path.with_name(path.name + PART)
        self.named = self.part.name  # what it is called on disk
        self._timed = timed
        self._began = monotonic()
        self._events = 0
        self._size = 0
        self._ended = False
        self._waiting: list[bytes] = []
        self._file: int | None = self._create()

    def start(self, header: Mapping[str, object]) -> None:
        """What is to be held: task, version, persona, agent, trial, seed, digests."""
        event: dict[str, object] = {"event": "start", "schema": SCHEMA}
        if self._timed:
            event["time"] = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._append({**event, **header, "event": "start", "schema": SCHEMA})

    def turn(self, turn: Turn, *, later: bool = False) -> None:
        """One message of one speaker; `later` is soon enough with the next event, in one write."""
        self._append({"event": "turn", **self._at(), **encode_turn(turn)}, later=later)

    def work(self, work: RoundWork) -> None:
        """What the agent's folder held after a round."""
        self._append({"event": "work", **self._at(), **encode_record(work)})

    def check(self, check: Check) -> None:
        """What the verifier said of it."""
        self._append({"event": "check", **self._at(), **encode_record(check)})

    def error(self, outcome: Outcome, message: str) -> None:
        """What went wrong, and by rule 2 whose it is."""
        self._append({"event": "error", **self._at(), "outcome": outcome, "message": message})

    def log(self, message: str, **details: object) -> None:
        """Anything else that helps to find out why."""
        event = {"event": "log", **self._at(), **details}
        self._append({**event, "event": "log", "message": message})

    def end(
        self,
        outcome: Outcome,
        reason: str = "",
        ended_by: EndedBy = "",
        *,
        recorded: Mapping[str, object] | None = None,
        unsaid_probes: Sequence[str] = (),
        fidelity: Mapping[str, int] | None = None,
    ) -> None:
        """How it ended; without this event a trace is unfinished."""
        event: dict[str, object] = {"outcome": outcome, "reason": reason, "ended_by": ended_by}
        if recorded:
            event["recorded"] = dict(recorded)
        if unsaid_probes:
            event["unsaid_probes"] = list(unsaid_probes)
        if fidelity:
            event["fidelity"] = dict(fidelity)
        self._append({"event": "end", **self._at(), **event})
        self._ended = True

    def flush(self) -> None:
        """Write what was to wait for the next event."""
        if self._waiting and self._file is not None:
            self._write(self._file, self._waiting)

    def sync(self) -> None:
        """Wait until it is on the disk, on any thread; what cannot be, keeps the name of a part."""
        file = self._file  # another thread may close it
        if file is None:
            return
        try:
            os.fsync(file)
        except OSError as exc:
            self._ended = False
            raise disk_fault(exc, self.part, kept=self._kept()) from None

    def close(self) -> None:
        """Close the file, and give it its name if it is whole."""
        if self._file is None:
            return
        with suppress(RunError):  # the trace is unfinished, with this line or without
            self.flush()
        file, self._file = self._file, None
        whole = self._ended  # as it is now: a sync that is still under way meets a closed file
        try:
            os.close(file)
            if whole:
                self.part.rename(self.path)
                self.named = self.path.name
        except OSError as exc:
            raise disk_fault(exc, self.part, kept=self._kept()) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _create(self) -> int:
        try:
            if self.path.exists():
                raise TraceTaken(_taken(self.path))
            try:
                return os.open(self.part, _NEW, 0o666)
            except FileNotFoundError:
                self.part.parent.mkdir(parents=True, exist_ok=True)
                return os.open(self.part, _NEW, 0o666)
        except FileExistsError:
            raise TraceTaken(_taken(self.part)) from None
        except OSError as exc:
            raise disk_fault(exc, self.part) from None

    def _at(self) -> dict[str, object]:
        return {"at": round(monotonic() - self._began, 3)} if self._timed else {}

    def _append(self, event: Mapping[str, object], *, later: bool = False) -> None:
        if self._file is None:
            raise RunError(f"{self.part}: the trace is closed; {event['event']!r} comes too late")
        line = self._redaction.line(event)
        if later:
            self._waiting.append(line)
        else:
            self._write(self._file, [*self._waiting, line])

    def _write(self, file: int, lines: list[bytes]) -> None:
        """What waits and perhaps more; where it fails, what waits may be tried again."""
        text, events = b"".join(lines), len(lines)
        try:
            write_all(lambda rest: os.write(file, rest), text)
        except BaseException as exc:
            self._undo(file)
            if isinstance(exc, OSError):
                raise disk_fault(exc, self.part, kept=self._kept()) from None
            raise
        self._waiting.clear()
        self._size += len(text)
        self._events += events

    def _undo(self, file: int) -> None:
        # Half a line would join the next one and spoil both; if it must stay, nothing may follow.
        try:
            os.ftruncate(file, self._size)
        except OSError:
            self._file = None
            os.close(file)

    def _kept(self) -> str:
        return f"{self._events} events written before stay in the file"


def _taken(path: Path) -> str:
    if path.name.endswith(PART):
        return f"{path}: another run writes here, or was cut off here; move the file away first"
    return f"{path}: there is a trace of that name already; move it away, or write elsewhere"
