"""Verdicts, written before any report exists: an append-only file, each line hashed onto the last.

Reports can be rewritten by any conftest hook; the summary and the gates are computed from here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import orjson

from pytest_dialeval.errors import RunError
from pytest_dialeval.records.run import Conversation, TrialFacts
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.runs.files import explained

Kind = Literal["conversation", "verdict"]


def _chain(previous: str, body: bytes) -> str:
    return blake2b(previous.encode() + body, digest_size=16).hexdigest()


class LedgerWriter:
    """One writer a process; the pool's thread and the main thread share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._previous = ""
        with explained(path):
            self._file = path.open("ab", buffering=0)

    def conversation(self, conversation: Conversation) -> None:
        """How a trial's conversation went; its verdicts follow."""
        self._append("conversation", conversation.trial, conversation, conversation.attempt)

    def verdict(self, trial: str, verdict: Verdict, attempt: int = 1) -> None:
        self._append("verdict", trial, verdict, attempt)

    def _append(self, kind: Kind, trial: str, value: object, attempt: int) -> None:
        entry = {"kind": kind, "trial": trial, "attempt": attempt, "value": value}
        body = orjson.dumps(entry, default=str)
        with self._lock, explained(self._path):
            if self._file.closed:  # a straggler after the end: its trial counts as not finished
                return
            link = _chain(self._previous, body)
            # One write a line: a killed process leaves whole lines and at most one broken tail.
            self._file.write(b'{"hash":"%s","entry":%s}\n' % (link.encode(), body))
            self._previous = link

    def close(self) -> None:
        with self._lock:
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
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            parsed = orjson.loads(line)
            body = line[line.index(b'"entry":') + len(b'"entry":') : -1]
            entry = parsed["entry"]
            whole = parsed["hash"] == _chain(previous, body)
        except (ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            raise RunError(f"{path}:{number}: the ledger was changed after it was written")
        previous = parsed["hash"]
        value = _adapters()[entry["kind"]].validate_python(entry["value"])
        yield Entry(entry["kind"], entry["trial"], entry["attempt"], value)


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
