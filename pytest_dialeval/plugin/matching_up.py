"""Matches between the agents of a run, made when its last conversation is over."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from pytest_dialeval.models.budget import BudgetLimits
    from pytest_dialeval.models.cassette import Cassette
    from pytest_dialeval.models.recorder import Recorder
    from pytest_dialeval.plugin.engine import Engine
    from pytest_dialeval.plugin.options import Settings
    from pytest_dialeval.plugin.sources import LoadedSource
    from pytest_dialeval.pool import Pool
    from pytest_dialeval.records.match import Comparer, Comparison
    from pytest_dialeval.records.run import Source
    from pytest_dialeval.records.task import Persona
    from pytest_dialeval.runs.directory import RunDirectory
    from pytest_dialeval.runs.duels import Asking
    from pytest_dialeval.traces.redaction import Redaction

NOBODY = "no model compares: name one, `models: {comparer: openai:NAME}`, or `compare: {by: score}`"
OFF = "judging is switched off (--dialeval-no-judge)"
CONCURRENCY = 16  # matches at once, as conversations


def comparison(source: LoadedSource) -> Comparison:
    """How the agents of a source are compared, as plan.json keeps it."""
    from pytest_dialeval.records.match import Comparison

    settings, votes = dict(source.suite.compare), source.suite.votes
    asks = settings.get("by") == "judge" and len(source.agents) > 1
    relative = source.engine.relative
    return Comparison(
        **settings,
        **votes,
        comparer=_comparer(source) if asks else None,
        formats={relative(Path(each.path)): each.format for each in source.suite.transcripts},
    )


def _comparer(source: LoadedSource) -> Comparer:
    from pytest_dialeval.plugin.casting import comparer_of
    from pytest_dialeval.records.match import Comparer

    spec = comparer_of(source)
    why = "" if spec else (OFF if source.no_judge else NOBODY)
    return Comparer(
        spec=spec,
        why_none=why,
        language=source.suite.task.language,
        users={each.id: _user(each) for each in source.suite.personas},
        max_context_chars=source.limits.max_context_chars,
    )


def _user(persona: Persona) -> str:
    """Who a persona is and what it wants, in words."""
    traits = [f"{name}: {value}" for name, value in persona.traits.items()]
    goals = [each.goal for each in persona.script.states.values() if each.goal]
    wants = ["you want, step by step:", *goals] if goals else []
    return "\n".join([*filter(None, [persona.personality]), *traits, *wants])


def match_by_score(directory: RunDirectory, sources: Sequence[Source]) -> None:
    """Write the matches of all suites whose agents are compared by score."""
    compared = [each for each in sources if each.compare.by == "score" and len(each.agents) > 1]
    if not compared:
        return
    from pytest_dialeval.runs.matches import append_matches, score_matches
    from pytest_dialeval.runs.record import read_facts

    facts = read_facts(directory)
    for source in compared:
        append_matches(directory, score_matches(source, facts))


# ---- by a model


def judged(sources: Sequence[Source]) -> list[Source]:
    """Those whose agents are compared by a model."""
    return [each for each in sources if each.compare.comparer is not None]


def match_by_judge(engine: Engine, session: pytest.Session) -> None:
    """In the only process: with the run's own pool, models and budget, before the loop ends.

    Harmless to repeat. A run that was stopped before its end has none of these matches.
    """
    running = engine.running
    if engine.worker != "main" or running is None or running.matches is not None:
        return
    if engine.stopped or session.shouldstop or session.shouldfail:
        return
    sources = judged(engine.facts())
    if not sources:
        return

    def told(number: int) -> None:
        running.matches = number

    told(0)

    def recorder(source: Source) -> Recorder:
        return running.calls.chat(engine.sources[source.name])

    making = _Making(running.directory, engine.rootdir, running.redaction, recorder, told)
    _make(making, sources, running.pool, engine.settings, engine.trouble)


def match_on_controller(config: pytest.Config, settings: Settings, path: Path) -> list[str]:
    """On xdist's controller: with a pool of its own and the share of the budget kept for it."""
    from pytest_dialeval.plugin.distributed import merged_plan
    from pytest_dialeval.runs.directory import RunDirectory

    directory = RunDirectory(path)
    sources = judged(merged_plan(directory).sources)
    if not sources:
        return []
    workers = len(list(path.glob("plan.*.json")))
    return _Controller(config, settings, directory, workers).make(sources)


class _Controller:
    """What xdist's controller has instead of an engine."""

    worker = "main"

    def __init__(
        self, config: pytest.Config, settings: Settings, directory: RunDirectory, workers: int
    ) -> None:
        from pytest_dialeval.plugin.progress import new_progress

        self.settings = settings
        self.rootdir = config.rootpath
        self._directory = directory
        self._workers = workers
        self._matches = 0
        self.cassettes: dict[str, Cassette] = {}
        self.trouble: list[str] = []
        self._calls: Any = None
        self._progress = new_progress(config, self._standing)

    def relative(self, path: Path) -> str:
        """A path as rootdir knows it, posix; absolute outside of rootdir."""
        inside = path.is_relative_to(self.rootdir)
        return (path.relative_to(self.rootdir) if inside else path).as_posix()

    def share(self, directory: RunDirectory) -> BudgetLimits:
        """The last share, which no worker has."""
        from pytest_dialeval.plugin.calling import shares

        return shares(self.settings, self._workers, matches=True)[-1]

    def make(self, sources: Sequence[Source]) -> list[str]:
        """Make all matches; tells what went wrong."""
        from pytest_dialeval.plugin.calling import Calls
        from pytest_dialeval.pool import Pool
        from pytest_dialeval.traces.redaction import Redaction

        specs = [each.compare.comparer.spec for each in sources if each.compare.comparer]
        names = {each.api_key_env for each in specs if each and each.api_key_env}
        redaction = Redaction.from_environment(os.environ, names)
        tick = self._progress.tick if self._progress else None
        pool = Pool(concurrency=1, closing=self._hang_up, tick=tick)
        self._calls = calls = Calls(self, self._directory, redaction, pool.clock)
        making = _Making(self._directory, self.rootdir, redaction, self._recorder, self._told)
        try:
            _make(making, sources, pool, self.settings, self.trouble)
        finally:
            pool.close()
            calls.close()
            if self._progress is not None:
                self._progress.clear()
        return self.trouble

    async def _hang_up(self) -> None:
        await self._calls.hang_up()

    def _recorder(self, source: Source) -> Recorder:
        spec = source.compare.comparer and source.compare.comparer.spec
        found: Recorder = self._calls.chat_of(self.rootdir / source.suite, [spec] if spec else [])
        return found

    def _told(self, number: int) -> None:
        self._matches = number

    def _standing(self) -> Any:
        from pytest_dialeval.plugin.progress import Standing

        flying, throttled, cost = self._calls.standing()
        return Standing(0, 0, 0, flying, throttled, cost, matches=self._matches)


class _Making:
    """What making matches needs, be it here or on the controller."""

    def __init__(
        self,
        directory: RunDirectory,
        rootdir: Path,
        redaction: Redaction,
        recorder: Callable[[Source], Recorder],
        told: Callable[[int], None],
    ) -> None:
        self.directory = directory
        self.rootdir = rootdir
        self.redaction = redaction
        self.recorder = recorder
        self.told = told

    def askings(self, sources: Sequence[Source]) -> Iterator[Asking]:
        """How the matches of each source are decided."""
        from pytest_dialeval.grading.comparer import ModelComparer
        from pytest_dialeval.runs.duels import Asking
        from pytest_dialeval.runs.record import read_facts
        from pytest_dialeval.runs.transcripts import Transcripts

        facts = read_facts(self.directory)
        for source in sources:
            told = source.compare.comparer
            assert told is not None
            transcripts = Transcripts(self.directory, self.rootdir, facts, source.compare.formats)
            if told.spec is None:
                yield Asking(source, transcripts, None, told.why_none)
                continue
            recorder = self.recorder(source)
            comparer = ModelComparer(recorder, told.spec, max_context_chars=told.max_context_chars)
            yield Asking(source, transcripts, comparer, forget=_quietly(recorder))

    async def all(self, askings: Sequence[Asking], at_once: int) -> None:
        """Decide them all, each on disk as soon as it is known."""
        from pytest_dialeval.runs.duels import compare_all, duels
        from pytest_dialeval.runs.matches import append_matches

        found = (each for asking in askings for each in duels(asking))
        number = 0
        async for match in compare_all(found, at_once=at_once):
            append_matches(self.directory, [match], self.redaction)
            number += 1
            self.told(number)


def _quietly(recorder: Recorder) -> Callable[[str, int], None]:
    from contextlib import suppress

    from pytest_dialeval.errors import DialevalError

    def forget(case: str, trial: int) -> None:
        with suppress(DialevalError):  # a full disk is said where replies themselves are kept
            recorder.forget(case, trial)

    return forget


def _make(
    making: _Making,
    sources: Sequence[Source],
    pool: Pool,
    settings: Settings,
    trouble: list[str],
) -> None:
    """Decide all matches on the pool's loop; what keeps them from it is said."""
    from pytest_dialeval.errors import DialevalError

    try:
        askings = list(making.askings(sources))
        at_once: int = settings.get("concurrency", CONCURRENCY).value
        pool.call(making.all(askings, at_once))
    except DialevalError as error:
        trouble.append(f"matches: {error}")
