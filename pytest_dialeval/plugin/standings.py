"""How far all workers of xdist are: each tells a file of its own, the controller adds them up."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_dialeval.errors import RunError
from pytest_dialeval.plugin import progress
from pytest_dialeval.plugin.placing import left_in
from pytest_dialeval.plugin.progress import Standing, sentence
from pytest_dialeval.records.monotonic import monotonic
from pytest_dialeval.runs.files import read_json, write_json

TOLD = 5.0  # seconds between two writings of a worker
_FILES = "standing.*.json"


class Teller:
    """In a worker: keeps its file new while items wait."""

    def __init__(
        self,
        path: Path,
        standing: Callable[[], Standing],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._path = path
        self._standing = standing
        self._clock = clock
        self._last = clock()
        self._told = False

    def tick(self) -> None:
        """Called a few times a second while an item waits."""
        if self._clock() - self._last >= TOLD:
            self._told = True
            self._tell()

    def clear(self) -> None:
        """The last word, where there was a first."""
        if self._told:
            self._tell()

    def _tell(self) -> None:
        self._last = self._clock()
        with suppress(RunError):  # a full disk is said by what must be written
            write_json(self._path, asdict(self._standing()))


class Listener:
    """On the controller: a line every half minute, from a thread, as xdist calls nobody between."""

    def __init__(self, reporter: Any, run: Path) -> None:
        self._reporter = reporter
        self._run = run
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="dialeval-progress", daemon=True)
        if reporter is not None and reporter.verbosity >= -1:
            self._thread.start()

    def close(self) -> None:
        """Say no more, and remove what the workers told."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        for each in left_in(self._run, _FILES):
            with suppress(OSError):
                each.unlink()

    def _listen(self) -> None:
        while not self._ended.wait(progress.EVERY):
            if text := _said(self._run):
                begun = self._reporter._tw.width_of_current_line  # by dots: pytest knows of none
                self._reporter.write_line("\n" * bool(begun) + f"dialeval: {text}")


def _said(run: Path) -> str:
    standings = []
    for each in left_in(run, _FILES):
        with suppress(RunError, TypeError):  # removed meanwhile, or not ours
            standings.append(Standing(**read_json(each)))
    return sentence(together(standings)) if standings else ""


def together(standings: Sequence[Standing]) -> Standing:
    """What all workers do; each knows all conversations of the run, its own and the others'."""
    held, running = (sum(getattr(each, name) for each in standings) for name in ("held", "running"))
    planned = max(each.held + each.running + each.waiting for each in standings)
    flying: Counter[str] = Counter()
    for each in standings:
        flying.update(each.in_flight)
    costs = [each.cost for each in standings if each.cost is not None]
    return Standing(
        held=held,
        running=running,
        waiting=max(0, planned - held - running),
        in_flight=flying,
        throttled=sum(each.throttled for each in standings),
        cost=sum(costs) if len(costs) == len(standings) else None,
        seconds=max(each.seconds for each in standings),
    )
