"""A run's ways to its models: one door and one budget, a cassette for each suite."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

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
from pytest_dialeval.plugin.casting import agent_model, cassette_of, mode_of
from pytest_dialeval.records.model import ChatAnswer, ChatCall
from pytest_dialeval.runs.directory import worker_order
from pytest_dialeval.runs.usage import Spent, read_usage, write_usage

if TYPE_CHECKING:
    from pytest_dialeval.conversation.clock import LoopClock
    from pytest_dialeval.models.cassette import Cassette
    from pytest_dialeval.plugin.engine import Engine
    from pytest_dialeval.plugin.options import Settings
    from pytest_dialeval.plugin.sources import LoadedSource
    from pytest_dialeval.records.model import ModelSpec
    from pytest_dialeval.records.run import Source
    from pytest_dialeval.runs.directory import RunDirectory
    from pytest_dialeval.traces.redaction import Redaction

NOTED = 0.2  # seconds between two notes of what a worker has spent
TAPES = "tapes"  # folder in a run: what each worker recorded


class Desk(Protocol):
    """What is behind the calls: a session's engine, or xdist's controller."""

    settings: Settings
    rootdir: Path

    @property
    def worker(self) -> str: ...

    def relative(self, path: Path) -> str: ...

    @property
    def cassettes(self) -> Mapping[str, Cassette]: ...

    @property
    def trouble(self) -> list[str]: ...

    def share(self, directory: RunDirectory) -> BudgetLimits: ...


class Calls:
    """Made with the run; opens connections only when a model is asked."""

    def __init__(
        self, engine: Desk, directory: RunDirectory, redaction: Redaction, clock: LoopClock
    ) -> None:
        self._engine = engine
        self._directory = directory
        self._redaction = redaction
        self._clock = clock
        self._prices = Prices(read_prices(engine.settings.tables["prices"]))
        self.usage = UsageSink()
        self.budget = Budget(engine.share(directory), watch=clock)
        self._noted = float("-inf")
        self._doors: dict[Path | None, Door] = {}
        self._recorders: dict[str, Recorder] = {}
        self._tapes: list[Tape] = []

    def chat(self, source: LoadedSource) -> Recorder:
        """The way to the models of a source; sources of one suite share its cassette."""
        agents = (agent_model(source, each) for each in source.agents)
        models = chain(source.models.values(), (each for each in agents if each is not None))
        return self.chat_of(Path(source.suite.path), models)

    def chat_of(self, suite: Path, models: Iterable[ModelSpec]) -> Recorder:
        """The same for a suite that only its plan is known of; asked for by each trial."""
        path = str(suite)
        if path not in self._recorders:
            self._recorders[path] = self._recorder(suite, tuple(models))
        return self._recorders[path]

    def _recorder(self, suite: Path, models: Collection[ModelSpec]) -> Recorder:
        path, mode = cassette_path(suite), mode_of(self._engine, suite)
        known = self._engine.cassettes.get(str(suite))
        cassette = cassette_of(self._engine, suite) if known is None else known
        tape = None if mode in ("none", "off") else self._tape(self._engine.relative(suite))
        return Recorder(
            None if mode == "none" else self._paid(suite, models),
            cassette,
            mode,
            name=self._engine.relative(path),
            redaction=self._redaction,
            tape=tape,
            sink=self.usage,
        )

    def _tape(self, suite: str) -> Tape:
        tape = Tape(
            self._directory.path / TAPES / f"{tape_name(suite)}.{self._engine.worker}.jsonl"
        )
        self._tapes.append(tape)
        return tape

    def _paid(self, suite: Path, models: Collection[ModelSpec]) -> Chat:
        clock, door = self._clock, self._door(suite, models)
        door.settle(models)
        paid = Budgeted(door, self.budget, self.usage, self._prices, clock=lambda: clock.now)
        return paid if self._engine.worker == "main" else Noted(paid, self._note)

    def _note(self) -> None:
        """A worker that is killed must not give its share of the budget back."""
        if (now := self._clock.unpaused) - self._noted >= NOTED:
            self._noted = now
            with suppress(RunError):  # said when it is closed
                self._write()

    def _write(self) -> None:
        notes = [note for each in self._doors.values() for note in each.notes]
        write_usage(self._directory, self._engine.worker, self.usage, self.budget, notes)

    def _door(self, suite: Path, models: Iterable[ModelSpec]) -> Door:
        """One for all, so that limits hold for all; client objects are of a suite's own folder."""
        own = any(each.endpoint.startswith("python:") for each in models)
        place = suite.parent if own else None
        if place not in self._doors:
            folders = [*([place] if place else []), self._engine.rootdir]
            self._doors[place] = Door(
                load_object=lambda name: imported(name, folders),
                watch=self._clock,
                place_of=place_of,
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
        try:
            self._write()
        except RunError as error:
            self._engine.trouble.append(str(error))


class Noted:
    """A way to models; after each call somebody is told."""

    def __init__(self, inner: Chat, note: Callable[[], None]) -> None:
        self._inner = inner
        self._note = note

    async def chat(self, call: ChatCall, *, deadline: float) -> ChatAnswer:
        """The answer of `inner`."""
        try:
            return await self._inner.chat(call, deadline=deadline)
        finally:
            self._note()


def share_of(engine: Engine, directory: RunDirectory) -> BudgetLimits:
    """The budget, or one worker's share of it, without what those took whom it replaces.

    One more share is kept for matches after the last item.
    """
    if engine.worker == "main":
        return whole_budget(engine.settings)
    count = int(getattr(engine.config, "workerinput", {})["workercount"])
    own = int(engine.worker.removeprefix("gw"))
    replaced = [f"gw{each}" for each in range(own % count, own, count)]
    given = shares(engine.settings, count, matches=engine.asks_comparer)
    return left_by(given[own % count], read_usage(directory, replaced))


def shares(settings: Settings, workers: int, *, matches: bool) -> tuple[BudgetLimits, ...]:
    """A share for each worker of xdist, and the last for the controller where it has matches."""
    return divide(whole_budget(settings), workers + matches)


def whole_budget(settings: Settings) -> BudgetLimits:
    """What `--dialeval-budget` says."""
    text = settings.get("budget").value
    return BudgetLimits() if text is None else parse_budget(text)


def left_by(limits: BudgetLimits, spent: Spent) -> BudgetLimits:
    """What remains of them; a limit that is passed is 0."""
    took: dict[str, float] = {"calls": spent.amount.calls, "tokens": spent.amount.tokens}
    took |= {"usd": spent.amount.nanos / 1e9, "minutes": spent.seconds / 60}
    given = ((name, getattr(limits, name), value) for name, value in took.items())
    return replace(limits, **{name: max(0, each - value) for name, each, value in given if each})


def tape_name(suite: str) -> str:
    return blake2b(suite.encode(), digest_size=8).hexdigest()


def merge_tapes(
    directory: RunDirectory, sources: Iterable[Source], rootdir: Path
) -> Iterator[tuple[str, bool]]:
    """Take what the workers recorded into the cassettes; a line about each, and if it was kept."""
    folder = directory.path / TAPES
    for suite in dict.fromkeys(each.suite for each in sources):
        parts = sorted(folder.glob(f"{tape_name(suite)}.*.jsonl"), key=worker_order)
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
