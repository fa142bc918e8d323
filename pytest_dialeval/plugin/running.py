"""The run of a session: its folder, its pool, and how far ahead it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dialeval.conversation.agent import AgentFactory
from pytest_dialeval.conversation.resolve import adapt
from pytest_dialeval.conversation.threads import left_threads
from pytest_dialeval.errors import DialevalError
from pytest_dialeval.grading.rule_thread import RuleThread
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.plugin.ahead import DECLARED, Ahead, agent_key
from pytest_dialeval.plugin.choice import FIXTURE
from pytest_dialeval.plugin.collection import Cell
from pytest_dialeval.plugin.fixture_agent import definition_for, outlives_items
from pytest_dialeval.plugin.logs import ConversationLogs
from pytest_dialeval.plugin.making import make_agent
from pytest_dialeval.pool import MARGIN, Lost, Pool, Work
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.run import Graded
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.ledger import LedgerWriter
from pytest_dialeval.runs.trial import Grader, Held, LiveTrial, held_recording, held_without

if TYPE_CHECKING:
    from pytest_dialeval.plugin.engine import Engine
    from pytest_dialeval.plugin.sources import LoadedSource

CONCURRENCY = 16


class Running:
    """Made in the first dialogue item's setup; closed when the run loop ends."""

    def __init__(self, engine: Engine, directory: RunDirectory) -> None:
        self.engine = engine
        self.directory = directory
        self.ledger = LedgerWriter(directory.path / f"ledger.{engine.worker}.jsonl")
        self.concurrency: int = engine.settings.get("concurrency", CONCURRENCY).value
        self.pool = Pool(concurrency=self.concurrency)
        self.rules = RuleThread(self.pool.clock)
        self.logs = ConversationLogs(engine.config)
        self.logs.open()
        self._graders: dict[str, Grader] = {}
        self._recorded: dict[str, dict[str, Graded]] = {}
        self._held: dict[str, Held] = {}
        self._agents: dict[str, AgentFactory | DialevalError] = {}
        self._ahead = Ahead(
            engine.items,
            wanted=lambda cell: self._needs_loop(cell.source),
            within_items=engine.ahead,
            # Under -x much of what is ahead would be thrown away.
            within_trials=2 * self.concurrency if engine.stops_early else None,
        )

    def obtain(self, item: pytest.Item, cell: Cell, fixture: object) -> list[Graded]:
        """The verdicts that the item is about, made now or ahead."""
        if not self._needs_loop(cell.source):
            return self._grade_recording(cell)
        lasting = self._meet(item, cell, fixture)
        attempt = attempt_of(item)
        self._submit(cell, attempt)
        for key in dict.fromkeys((DECLARED, agent_key(cell) if lasting else DECLARED)):
            for each in self._ahead.due(cell, key):
                self._submit(each)
        held = _held_as(cell.trial, attempt)
        graded = [self.pool.graded(held, each) for each in cell.rubrics]
        if log := self.logs.of(cell.trial.id):
            item.add_report_section("setup", "dialogue log", log)
        return graded

    def close(self) -> tuple[str, ...]:
        """Stop all conversations; harmless to repeat. Names what would not stop."""
        left = (*self.pool.close(), *left_threads())
        if self.rules.close(MARGIN):
            left = (*left, "the matcher of a rubric")
        self.ledger.close()
        self.logs.close()
        return left

    # ---- recordings by rule: graded where the item stands

    def _needs_loop(self, source: LoadedSource) -> bool:
        """Whether somebody talks, or a judge is asked."""
        return not source.recorded or (source.judged and source.offers.judge is not None)

    def _grade_recording(self, cell: Cell) -> list[Graded]:
        done = self._recorded.setdefault(cell.trial.id, {})
        if any(each not in done for each in cell.rubrics):
            grader, held = self._grader(cell.source), self._hold_recording(cell)
            for each in cell.rubrics:
                if each not in done:
                    done[each] = grader.grade_now(held, each)
            if done.keys() >= set(self.engine.selected.get(cell.trial.id, cell.rubrics)):
                grader.finish(held, list(done.values()))
                del self._held[cell.trial.id]
        return [done[each] for each in cell.rubrics]

    def _hold_recording(self, cell: Cell) -> Held:
        held = self._held.get(cell.trial.id)
        if held is None:
            recording = cell.source.recording(cell.trial.id)
            where = self.engine.relative(Path(recording.path))
            held = held_recording(cell.trial, recording, cell.source.suite.task, self.ledger, where)
            self._held[cell.trial.id] = held
        return held

    # ---- agents

    def _meet(self, item: pytest.Item, cell: Cell, fixture: object) -> bool:
        """Take in the agent that a fixture brings; False where it may be gone after this item."""
        if cell.source.recorded or not cell.source.uses_fixture(cell.trial.agent):
            return True
        key = agent_key(cell)
        lasting = outlives_items(definition_for(item))
        if not lasting or key not in self._agents:
            self._agents[key] = _resolved(lambda: adapt(fixture, name=FIXTURE))
        if lasting:
            item.session.addfinalizer(self.pool.close)  # before the agent's own teardown
        else:
            item.addfinalizer(lambda: self.pool.abandon(_held_as(cell.trial, attempt_of(item))))
        return lasting

    def _agent(self, cell: Cell) -> AgentFactory | DialevalError:
        """What makes the agents of a trial, or why there can be none."""
        spec = cell.source.agents[cell.trial.agent]
        if spec.use == FIXTURE:
            return self._agents[agent_key(cell)]
        key = f"{cell.source.name} {spec.name}"
        if key not in self._agents:
            self._agents[key] = _resolved(lambda: make_agent(cell.source, spec))
        return self._agents[key]

    def _submit(self, cell: Cell, attempt: int = 1) -> None:
        held = _held_as(cell.trial, attempt)
        if self.pool.knows(held):
            return
        selected = tuple(self.engine.selected.get(cell.trial.id, cell.rubrics))
        grader = self._grader(cell.source)
        hold, lost = self._holder(cell, grader, attempt)
        turn = cell.source.limits.turn_timeout
        self.pool.submit(
            Work(held, selected, hold, grader.grade, grader.finish, lost=lost, turn_timeout=turn)
        )

    def _holder(self, cell: Cell, grader: Grader, attempt: int) -> tuple[Callable[[], Any], Lost]:
        """What holds a conversation, and what ends it where the loop stands still."""
        source, trial = cell.source, replace(cell.trial, attempt=attempt)
        if source.recorded:
            where = self.engine.relative(Path(source.recording(trial.id).path))

            async def known() -> Held:
                return held_recording(
                    trial, source.recording(trial.id), source.suite.task, self.ledger, where
                )

            return known, None
        agent = self._agent(cell)
        if isinstance(agent, DialevalError):

            async def broken() -> Held:
                return held_without(trial, str(agent), grader)

            return broken, None
        live = LiveTrial(
            planned=trial,
            persona=source.persona(trial.persona),
            agent=agent,
            seed=source.seed,
            limits=source.limits,
            header=source.header(trial),
            matchers=source.offers.matchers,
            grader=grader,
            off_loop=self.pool.off_loop,
            isolated=not source.in_process(trial.agent),
            simulator=source.offers.simulator,
            clock=self.pool.clock,
        )
        return live.hold, live.lost

    def _grader(self, source: LoadedSource) -> Grader:
        found = self._graders.get(source.name)
        if found is None:
            found = self._graders[source.name] = Grader(
                task=source.suite.task,
                rubrics=source.compiled,
                scoring=source.scoring,
                judge=source.offers.judge,
                directory=self.directory,
                ledger=self.ledger,
                body=source.body,
                deadline=source.limits.timeout,
                clock=self.pool.clock,
                rules=self.rules,
                users_matchers=not source.offers.matchers.keys() <= builtin_matchers().keys(),
            )
        return found


def attempt_of(item: pytest.Item) -> int:
    """1, or more where pytest-rerunfailures runs the item again."""
    return int(getattr(item, "execution_count", 1))


def _held_as(trial: PlannedTrial, attempt: int) -> str:
    """The pool's name for one attempt at a trial."""
    return trial.id if attempt == 1 else f"{trial.id}, attempt {attempt}"


def _resolved(make: Callable[[], AgentFactory]) -> AgentFactory | DialevalError:
    """The agent, or why there is none: each of its trials says so, the others go on."""
    try:
        return make()
    except DialevalError as error:
        return error
