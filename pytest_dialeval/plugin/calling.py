"""A run's ways to its models: one door and one budget, a cassette for each suite."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dialeval.conversation.fault import place_of
from pytest_dialeval.conversation.importing import imported
from pytest_dialeval.errors import DialevalError, RunError
from pytest_dialeval.models.budget import Budget, BudgetLimits, divide, parse_budget
from pytest_dialeval.models.budgeted import Budgeted
from pytest_dialeval.models.cassette_file import cassette_path, merge
from pytest_dialeval.models.chat import Chat
from pytest_dialeval.models.door import Door
from pytest_dialeval.models.prices import Prices, read_prices
from pytest_dialeval.models.recorder import Recorder
from pytest_dialeval.models.tape import Tape
from pytest_dialeval.models.usage import UsageSink
from pytest_dialeval.plugin.casting import cassette_of, mode_of
from pytest_dialeval.runs.usage import write_usage

if TYPE_CHECKING:
    from pytest_dialeval.plugin.engine import Engine
    from pytest_dialeval.plugin.sources import LoadedSource
    from pytest_dialeval.records.run import Source
    from pytest_dialeval.runs.directory import RunDirectory
    from pytest_dialeval.traces.redaction import Redaction

TAPES = "tapes"  # folder in a run: what each worker recorded


class Calls:
    """Made with the run; opens connections only when a model is asked."""

    def __init__(self, engine: Engine, directory: RunDirectory, redaction: Redaction) -> None:
        self._engine = engine
        self._directory = directory
        self._redaction = redaction
        self._prices = Prices(read_prices(engine.settings.tables["prices"]))
        self.usage = UsageSink()
        self.budget = Budget(_share(engine))
        self._doors: dict[Path | None, Door] = {}
        self._recorders: dict[str, Recorder] = {}
        self._tapes: list[Tape] = []

    def chat(self, source: LoadedSource) -> Recorder:
        """The way to the models of a source; sources of one suite share its cassette."""
        path = source.suite.path
        if path not in self._recorders:
            self._recorders[path] = self._recorder(source, Path(path))
        return self._recorders[path]

    def _recorder(self, source: LoadedSource, suite: Path) -> Recorder:
        path, mode = cassette_path(suite), mode_of(self._engine, suite)
        known = self._engine.cassettes.get(source.suite.path)
        cassette = cassette_of(self._engine, suite) if known is None else known
        tape = None if mode in ("none", "off") else self._tape(self._engine.relative(suite))
        return Recorder(
            None if mode == "none" else self._paid(source),
            cassette,
            mode,
            name=self._engine.relative(path),
            redaction=self._redaction,
            tape=tape,
            sink=self.usage,
        )

    def _tape(self, suite: str) -> Tape:
        tape = Tape(
            self._directory.path / TAPES / f"{_tape_name(suite)}.{self._engine.worker}.jsonl"
        )
        self._tapes.append(tape)
        return tape

    def _paid(self, source: LoadedSource) -> Chat:
        return Budgeted(self._door(source), self.budget, self.usage, self._prices)

    def _door(self, source: LoadedSource) -> Door:
        """One for all, so that limits hold for all; client objects are of a suite's own folder."""
        own = any(each.endpoint.startswith("python:") for each in source.models.values())
        place = Path(source.suite.path).parent if own else None
        if place not in self._doors:
            folders = [*([place] if place else []), self._engine.rootdir]
            self._doors[place] = Door(
                load_object=lambda name: imported(name, folders), place_of=place_of
            )
        return self._doors[place]

    def standing(self) -> tuple[dict[str, int], int, float | None]:
        """Calls in flight by role, 429s so far, cost so far."""
        flying: Counter[str] = Counter()
        for each in self._doors.values():
            flying.update(each.in_flight())
        throttled = sum(each.throttled for each in self._doors.values())
        return dict(flying), throttled, self.usage.total().cost_usd.value

    async def hang_up(self) -> None:
        """Close all connections; on the loop, when nobody calls any more."""
        for each in self._doors.values():
            await each.close()

    def close(self) -> None:
        """Leave on disk what was recorded and what it took."""
        for tape in self._tapes:
            tape.close()
        notes = [note for each in self._doors.values() for note in each.notes]
        try:
            write_usage(self._directory, self._engine.worker, self.usage, self.budget, notes)
        except RunError as error:
            self._engine.trouble.append(str(error))


def _share(engine: Engine) -> BudgetLimits:
    """The budget, or one worker's share of it."""
    text = engine.settings.get("budget").value
    if text is None:
        return BudgetLimits()
    whole = parse_budget(text)
    if engine.worker == "main":
        return whole
    count = int(getattr(engine.config, "workerinput", {})["workercount"])
    number = int(engine.worker.removeprefix("gw")) % count  # one that replaces a lost worker
    return divide(whole, count)[number]


def _tape_name(suite: str) -> str:
    return blake2b(suite.encode(), digest_size=8).hexdigest()


def merge_tapes(
    directory: RunDirectory, sources: Iterable[Source], rootdir: Path
) -> Iterator[tuple[str, bool]]:
    """Take what the workers recorded into the cassettes; a line about each, and if it was kept."""
    folder = directory.path / TAPES
    for suite in dict.fromkeys(each.suite for each in sources):
        parts = sorted(folder.glob(f"{_tape_name(suite)}.*.jsonl"))
        if not parts:
            continue
        path = cassette_path(rootdir / suite)
        shown = Path(os.path.relpath(path, rootdir)).as_posix()
        try:
            count = merge(path, parts)
        except DialevalError as error:
            text = str(error).replace(str(path), shown)
            yield f"{text}; what was recorded stays in {folder}", False
        else:
            if count:
                yield f"{shown}: {count} {'reply' if count == 1 else 'replies'} recorded", True
