"""Verdicts, written before any report exists: an append-only file, each line hashed onto the last.

Reports can be rewritten by any conftest hook; the summary and the gates are computed from here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from io import FileIO
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pytest_dialeval.errors import RunError
from pytest_dialeval.records.run import Conversation, TrialFacts
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.runs.files import explained
from pytest_dialeval.traces.disk import write_all
from pytest_dialeval.traces.json_bytes import from_json, to_json
from pytest_dialeval.traces.redaction import Redaction

Kind = Literal["conversation", "verdict"]
_ENTRY = b'"entry":'


def _chain(previous: str, body: bytes) -> str:
    return blake2b(previous.encode() + body, digest_size=16).hexdigest()


class _End(NamedTuple):
    """Where the whole lines end, and the hash that the next one continues."""

    size: int
    link: str


class LedgerWriter:
    """One writer a process; the pool's thread and the main thread share it."""

    def __init__(self, path: Path, redaction: Redaction | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._end = _End(0, "")
        self._redaction = redaction or Redaction.from_environment(os.environ)
        with explained(path):
            # Unbuffered: a killed process leaves whole lines and at most one broken tail.
            self._file: FileIO = path.open("xb", buffering=0)

    def conversation(self, conversation: Conversation) -> None:
        """How a trial's conversation went; its verdicts follow."""
        self._append("conversation", conversation.trial, [conversation], conversation.attempt)

    def verdict(self, trial: str, verdict: Verdict, attempt: int = 1) -> None:
        """One rubric's verdict; the last one of a trial's rubric counts."""
        self.verdicts(trial, [verdict], attempt)

    def verdicts(self, trial: str, verdicts: Iterable[Verdict], attempt: int = 1) -> None:
        """Several of a trial, in one write; where that fails, none of them is there."""
        self._append("verdict", trial, verdicts, attempt)

    def _append(self, kind: Kind, trial: str, values: Iterable[object], attempt: int) -> None:
        entry = {"kind": kind, "trial": trial, "attempt": attempt}
        bodies = [self._redacted(to_json({**entry, "value": each})) for each in values]
        with self._lock, explained(self._path):
            if self._file.closed:  # a straggler after the end: its trial counts as not finished
                return
            lines, link = [], self._end.link
            for body in bodies:
                link = _chain(link, body)
                lines.append(b'{"hash":"%s",%s%s}\n' % (link.encode(), _ENTRY, body))
            written = b"".join(lines)
            try:
                write_all(self._file.write, written)
                self._end = _End(self._end.size + len(written), link)
            except BaseException:  # a full disk, Ctrl-C: half a line would break the chain
                self._file.seek(self._end.size)
                self._file.truncate()
                raise

    def _redacted(self, body: bytes) -> bytes:
        """As in the trace: a quote must stand there, and a secret nowhere."""
        return self._redaction.text(body.decode()).encode()

    def close(self) -> None:
        """No more lines; harmless to repeat."""
        with self._lock, suppress(OSError):
            self._file.close()


@cache
def _adapters() -> dict[Kind, Any]:
    from pydantic import TypeAdapter  # lazy: only a run's end reads ledgers

    return {"conversation": TypeAdapter(Conversation), "verdict": TypeAdapter(Verdict)}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger."""

    kind: Kind
    trial: str
    attempt: int
    value: Any  # Conversation or Verdict


def read_ledger(path: Path) -> Iterator[Entry]:
    """Every whole line; RunError where the chain is broken.

    A tail without a line break was cut off by a crash and is left out.
    """
    previous = ""
    for number, line in enumerate(_lines(path), 1):
        try:
            parsed = from_json(line)
            body = line[line.index(_ENTRY) + len(_ENTRY) : -1]
            whole = parsed["hash"] == _chain(previous, body)
        except (ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            raise RunError(
                f"{path}:{number}: the ledger was changed after it was written; "
                "nothing in it can be trusted, run again"
            )
        previous = parsed["hash"]
        yield _entry(parsed["entry"], f"{path}:{number}")


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise RunError(f"{path}: the ledger cannot be read: {error.strerror}") from None


def _entry(entry: dict[str, Any], where: str) -> Entry:
    try:
        value = _adapters()[entry["kind"]].validate_python(entry["value"])
        return Entry(entry["kind"], entry["trial"], entry["attempt"], value)
    except (ValueError, KeyError, TypeError):
        raise RunError(
            f"{where}: the ledger holds what this version does not know; "
            "read it with the version that the run's manifest.json names"
        ) from None


def facts(paths: Iterable[Path]) -> dict[str, TrialFacts]:
    """First attempts of all trials, from all ledgers of a run.

    A trial that a crashed worker began stands in two ledgers, held twice: the fuller one counts,
    because verdicts of two conversations must not be mixed.
    """
    found: dict[str, TrialFacts] = {}
    for path in paths:
        for trial, known in _facts_of(path).items():
            other = found.get(trial)
            if other is None or len(known.verdicts) >= len(other.verdicts):
                found[trial] = known
    return found


def _facts_of(path: Path) -> dict[str, TrialFacts]:
    conversations: dict[str, Conversation] = {}
    verdicts: dict[str, dict[str, Verdict]] = {}
    for entry in read_ledger(path):
        if entry.attempt > 1:
            continue
        if entry.kind == "conversation":
            conversations[entry.trial] = entry.value
        else:
            verdicts.setdefault(entry.trial, {})[entry.value.rubric] = entry.value
    return {
        trial: TrialFacts(conversations.get(trial), verdicts.get(trial, {}))
        for trial in dict.fromkeys([*conversations, *verdicts])
    }
