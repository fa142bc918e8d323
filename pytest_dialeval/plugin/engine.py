"""A session's dialogue work: sources and agents in, verdicts out; no pytest hook lives here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

import pytest_dialeval.records.monotonic  # noqa: F401 (before a fixture can freeze the clock)
from pytest_dialeval.errors import DialevalError, RunError
from pytest_dialeval.plugin.baselines import Baselines
from pytest_dialeval.plugin.casting import (
    cast_of,
    clientless,
    comparer_of,
    idle,
    refuse_clientless,
    unaffordable,
    unnamed,
    unreadable,
)
from pytest_dialeval.plugin.choice import Chosen, Wanted, choose_agents
from pytest_dialeval.plugin.collection import CELL
from pytest_dialeval.plugin.fixture_agent import fixture_anchor
from pytest_dialeval.plugin.making import make_agent
from pytest_dialeval.plugin.offers import Offers, reaching
from pytest_dialeval.plugin.options import Settings
from pytest_dialeval.plugin.sources import LoadedSource, from_personas, from_transcripts
from pytest_dialeval.records.run import Source
from pytest_dialeval.records.suite import Limits, Suite
from pytest_dialeval.records.wording import did_you_mean
from pytest_dialeval.suites.load import load_suite

ENGINE: pytest.StashKey[Engine] = pytest.StashKey()

if TYPE_CHECKING:
    from pytest_dialeval.models.budget import BudgetLimits
    from pytest_dialeval.models.cassette import Cassette
    from pytest_dialeval.plugin.running import Running
    from pytest_dialeval.runs.directory import RunDirectory
    from pytest_dialeval.runs.stored import StoredRun


class Engine:
    """Made when the first suite or decorated function is collected; lives on `config.stash`."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.rootdir = config.rootpath
        by_project = settings.is_below("agent")
        self.wanted = Wanted.parse(settings.get("agent"), by_project=by_project)
        self.sources: dict[str, LoadedSource] = {}
        self.notes: list[str] = []
        self.trouble: list[str] = []
        self.items: list[pytest.Item] = []  # the final ones
        self.selected: dict[str, list[str]] = {}  # trial id -> rubrics of the final items
        self.cassettes: dict[str, Cassette] = {}  # suite path -> what was recorded for it
        self.homes: dict[str, str] = {}  # node id -> trial id, for xdist's controller
        self.asked: dict[str, list[str]] = {}  # trial id -> rubrics with an item of their own
        self.baselines = Baselines(config, settings)
        self.told: dict[str, str] = {}  # a long reason -> the node id that told it in full
        self.running: Running | None = None
        self._wrong: str | None = None
        self.stored = self._stored_run()
        self.stopped = False
        self._passed_over: dict[str, tuple[str, ...]] = {}
        self._offers: dict[tuple[str, ...], Offers] = {}

    def _stored_run(self) -> StoredRun | None:
        """The run whose conversations are graded again."""
        setting = self.settings.get("regrade")
        if setting.value is None:
            return None
        from pytest_dialeval.plugin.placing import runs_folder
        from pytest_dialeval.runs.stored import StoredRun, find_run

        folder = self.config.invocation_params.dir
        try:
            path = find_run(setting.value, folder, runs_folder(self.config, self.settings))
            return StoredRun(path)
        except RunError as error:
            # Raised during collection it would be an error of one file, with our frames.
            self._wrong = f"{setting.source}: {error}"
            return None

    def offers(self, node: pytest.Collector | pytest.Item) -> Offers:
        """What hooks bring to a node; nodes that the same ones reach share the answers."""
        return self._offers.setdefault(reaching(node), Offers(node))

    # ---- collection

    def relative(self, path: Path) -> str:
        """A path as rootdir knows it, posix; absolute outside of rootdir."""
        try:
            return path.relative_to(self.rootdir).as_posix()
        except ValueError:
            return path.as_posix()

    def read(self, path: Path, offers: Offers) -> Suite:
        """Load and check a suite file."""
        return load_suite(
            path,
            rootdir=self._border(),
            matchers=offers.matchers,
            user_model=self._user_model,
            running=None if self.wanted.by_project else self.wanted.names or None,
        )

    @cached_property
    def _user_model(self) -> bool:
        """Whether a model plays users where suites do not say."""
        user = self.settings.models().get("user")
        return user is not None and user.spec is not None

    def _border(self) -> Path:
        """Includes stay inside rootdir; without an ini file inside the larger of it and the cwd."""
        invoked = self.config.invocation_params.dir
        if self.config.inipath is None and self.rootdir.is_relative_to(invoked):
            return invoked
        return self.rootdir

    def load(self, node: pytest.Module) -> LoadedSource:
        """The source of a suite file."""
        offers, name = self.offers(node), self.relative(node.path)
        suite = self.read(node.path, offers)
        if suite.transcripts:
            source = self.keep(from_transcripts(self, name, suite, offers))
            if not source.trials:
                self._passed_over[name] = source.recorded_agents
            return source
        anchor = fixture_anchor(node)
        chosen = self.choose(suite, self.wanted, offers, anchor)
        if not chosen.declared:
            raise pytest.Collector.CollectError(
                f"{name}:1: no agent to talk to; declare `agents:`, write a `dialeval_agent` "
                "fixture or a pytest_dialeval_agents hook, or give --dialeval-agent NAME=SPEC "
                "(openai:MODEL, python:file.py:object, ...)"
            )
        if not chosen.specs:
            self._passed_over[name] = chosen.declared
        return self.keep(from_personas(self, name, suite, chosen, offers, anchor=anchor or ""))

    def choose(self, suite: Suite, wanted: Wanted, offers: Offers, anchor: str | None) -> Chosen:
        """The agents that a suite meets; `anchor` names the fixture that may bring one."""
        return choose_agents(
            suite,
            wanted,
            offers.agents,
            has_fixture=anchor is not None,
            rootdir=str(self.config.invocation_params.dir),
            model=cast_of(self, suite).get("agent"),
        )

    def keep(self, source: LoadedSource) -> LoadedSource:
        """Take in a source; SuiteError where a model that it names is not there."""
        refuse_clientless(source)
        self.sources[source.name] = source
        return source

    def limits(self, suite: Suite) -> Limits:
        """The suite's limits under the options."""
        default, get = Limits(), self.settings.get
        turn, whole = suite.own("turn_timeout"), suite.own("timeout")
        return replace(
            suite.limits,
            turn_timeout=get("turn-timeout", default.turn_timeout, suite=turn).value,
            timeout=get("timeout", default.timeout, suite=whole).value,
        )

    def select(self, items: Iterable[pytest.Item]) -> None:
        """Take the final items as the selection; checks that the agents asked for exist."""
        self.items, self.selected, self.homes, self.asked = list(items), {}, {}, {}
        for item in self.items:
            cell = item.stash.get(CELL, None)
            if cell is not None:
                if self.worker != "main":
                    self.homes[item.nodeid] = cell.trial.id
                if cell.rubric is not None:
                    self.asked.setdefault(cell.trial.id, []).append(cell.rubric.id)
                rubrics = self.selected.setdefault(cell.trial.id, [])
                rubrics.extend(each for each in cell.rubrics if each not in rubrics)
        sources = self._selected_sources()
        self.notes += [*idle(sources), *unnamed(self, sources)]
        self._note_passed_over()

    def refusal(self) -> str | None:
        """Why this run cannot be: an agent nobody declares, a budget that can't be kept, ..."""
        if self._wrong is not None:
            return self._wrong
        sources = self._selected_sources()
        if refusal := (
            self._no_such_agent() or self._unusable(sources) or unaffordable(self, sources)
        ):
            return refusal
        if self.config.getoption("collectonly"):
            return None
        return unreadable(self, sources) or self.baselines.refusal(sources)

    def _no_such_agent(self) -> str | None:
        known = {name for each in self.sources.values() for name in each.agents}
        if self.wanted.by_project:  # which suites with a `run` of their own overrule
            known |= {name for each in self.sources.values() for name in each.suite.agents}
        missing = [each for each in self.wanted.names if each not in known]
        if missing and self.sources:
            declared = sorted(
                {n for each in self.sources.values() for n in each.suite.agents}
                | {n for each in self._passed_over.values() for n in each}
                | known
            )
            return (
                f"{self.wanted.source}: no suite declares {missing[0]!r} "
                f"(declared: {', '.join(declared) or 'none'})"
                f"{did_you_mean(missing[0], declared)}"
            )
        return None

    def _unusable(self, sources: Iterable[LoadedSource]) -> str | None:
        """What is wrong with an agent, or a model's client, that an option names: said once."""
        for source in sources:
            for name in self.wanted.specs or ():
                if name in source.agents and not source.recorded:
                    try:
                        make_agent(source, source.agents[name])
                    except DialevalError as error:
                        return f"{self.wanted.source}: {error}"
            for given_by, role, missing in clientless(source):
                return f"{given_by}: {role}: {missing}"
        return None

    def _note_passed_over(self) -> None:
        for name, agents in self._passed_over.items():
            self.notes.append(
                f"{name} left out: it declares {', '.join(agents)}, "
                f"not {', '.join(self.wanted.names)}"
            )

    def _selected_sources(self) -> list[LoadedSource]:
        return [
            each
            for each in self.sources.values()
            if any(trial.id in self.selected for trial in each.trials)
        ]

    def facts(self) -> list[Source]:
        """All sources with a selected trial, as plan.json keeps them."""
        return [each.facts(self.selected) for each in self._selected_sources()]

    @property
    def asks_comparer(self) -> bool:
        """Whether a model will compare agents when the last item is over."""
        return any(comparer_of(each) is not None for each in self._selected_sources())

    def share(self, directory: RunDirectory) -> BudgetLimits:
        """What this process may spend on models."""
        from pytest_dialeval.plugin.calling import share_of

        return share_of(self, directory)

    # ---- running

    def run(self) -> Running:
        """The run, begun with the first dialogue item."""
        if self.running is None:
            made = self._begin()
            if isinstance(made, RunError):
                self._end(f"dialeval: {made}")
            self.running = made
        return self.running

    def _begin(self) -> Running | RunError:
        from pytest_dialeval.plugin.placing import open_directory
        from pytest_dialeval.plugin.running import Running

        try:
            return Running(self, open_directory(self))
        except RunError as error:
            return error

    def _end(self, why: str) -> NoReturn:
        """End the session: without a trace on disk nothing may be graded."""
        if self.worker == "main":
            pytest.exit(why, returncode=pytest.ExitCode.USAGE_ERROR)
        # xdist takes pytest.exit in a worker for a crash.
        self.items[0].session.shouldstop = why
        pytest.fail(why, pytrace=False)

    def stop(self) -> None:
        """Stop all conversations; harmless to repeat."""
        if self.running is not None and not self.stopped:
            left = self.running.close()
            self.stopped = True  # not before: where a Ctrl-C cuts it short it is done again
            self.trouble += [f"{name}: would not stop and was left behind" for name in left]

    def pause(self) -> None:
        """Begin nothing new while somebody is at a debugger."""
        if self.running is not None:
            self.running.pool.pause()

    def resume(self) -> None:
        if self.running is not None:
            self.running.pool.resume()

    @property
    def ahead(self) -> int | None:
        """How many items conversations may run ahead of; None: as many as there are."""
        if self.worker != "main":  # of what is ahead, only its own trial is sure to come here
            return 0
        value: int | None = self.settings.get("ahead").value
        return value

    @property
    def stops_early(self) -> bool:
        """Whether -x or --maxfail may throw away what is ahead."""
        return bool(self.config.getoption("maxfail", 0))

    @property
    def worker(self) -> str:
        """The name of this process among the workers of xdist; `main` without them."""
        given = getattr(self.config, "workerinput", None)
        return str(given["workerid"]) if given else "main"
