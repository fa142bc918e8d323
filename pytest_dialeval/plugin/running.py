"""The run of a session: its folder, its pool, and how far ahead it works."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dialeval.conversation.agent import AgentFactory
from pytest_dialeval.conversation.resolve import adapt
from pytest_dialeval.conversation.rounds_user import RoundsUser
from pytest_dialeval.conversation.site import Site
from pytest_dialeval.conversation.threads import left_threads
from pytest_dialeval.conversation.user import SimulatedUser, Simulator
from pytest_dialeval.errors import DialevalError
from pytest_dialeval.grading.grade import batched
from pytest_dialeval.grading.judge import Judge, NoJudge
from pytest_dialeval.grading.rule_thread import RuleThread
from pytest_dialeval.matching.catalogue import builtin_matchers
from pytest_dialeval.plugin.ahead import DECLARED, Ahead, agent_key
from pytest_dialeval.plugin.casting import agent_model, asked
from pytest_dialeval.plugin.choice import FIXTURE
from pytest_dialeval.plugin.collection import Cell
from pytest_dialeval.plugin.criteria import Criteria
from pytest_dialeval.plugin.fixture_agent import definition_for, outlives_items
from pytest_dialeval.plugin.logs import ConversationLogs
from pytest_dialeval.plugin.making import make_agent
from pytest_dialeval.plugin.matching_up import match_by_judge
from pytest_dialeval.plugin.progress import Progress, Standing, new_progress
from pytest_dialeval.plugin.standings import Teller
from pytest_dialeval.pool import MARGIN, Lost, Pool, Work
from pytest_dialeval.records.monotonic import monotonic
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.run import Graded
from pytest_dialeval.records.suite import AgentSpec
from pytest_dialeval.runs.directory import RunDirectory
from pytest_dialeval.runs.grader import Grader, Held
from pytest_dialeval.runs.ledger import LedgerWriter
from pytest_dialeval.runs.trial import LiveTrial, held_recording, held_without
from pytest_dialeval.traces.redaction import Redaction

if TYPE_CHECKING:
    from pytest_dialeval.conversation.web import Web
    from pytest_dialeval.models.recorder import Recorder
    from pytest_dialeval.plugin.calling import Calls
    from pytest_dialeval.plugin.engine import Engine
    from pytest_dialeval.plugin.sources import LoadedSource

CONCURRENCY = 16
PART = 0.9  # of a verdict's time, for one call of its judge


class Running:
    """Made in the first dialogue item's setup; closed when the run loop ends."""

    def __init__(self, engine: Engine, directory: RunDirectory) -> None:
        self.engine = engine
        self.directory = directory
        names = {each for source in engine.sources.values() for each in source.secrets}
        self.redaction = Redaction.from_environment(os.environ, names)
        self.ledger = LedgerWriter(directory.path / f"ledger.{engine.worker}.jsonl", self.redaction)
        self.concurrency: int = engine.settings.get("concurrency", CONCURRENCY).value
        self.progress = self._new_progress()
        self.pool = Pool(
            concurrency=self.concurrency,
            closing=self._hang_up,
            tick=self.progress.tick if self.progress else None,
        )
        self._began = monotonic()
        self.matches: int | None = None  # decided by a model, once the last item is over
        self.rules = RuleThread(self.pool.clock)
        self.logs = ConversationLogs(engine.config)
        self.logs.open()
        self._graders: dict[str, Grader] = {}
        self._judges: dict[str, Judge | NoJudge | None] = {}
        self._criteria: dict[str, Criteria] = {}
        self._void: list[tuple[Recorder, str, int]] = []  # trials to be forgotten in the end
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
        if self.pool.clock.pause.on:  # `n` at a post-mortem's prompt goes on, and no hook says so
            self.pool.resume()
        lasting = self._meet(item, cell, fixture)
        attempt = attempt_of(item)
        self._submit(cell, attempt)
        for key in dict.fromkeys((DECLARED, agent_key(cell) if lasting else DECLARED)):
            for each in self._ahead.due(cell, key):
                self._submit(each)
        held = _held_as(cell.trial, attempt)
        graded = [self.pool.graded(held, each) for each in cell.rubrics]
        self.logs.show(cell.trial.id)
        if log := self.logs.of(cell.trial.id):
            item.add_report_section("setup", "dialogue log", self.redaction.text(log))
        return graded

    def close(self) -> tuple[str, ...]:
        """Stop all conversations; harmless to repeat. Names what would not stop."""
        left = (*self.pool.close(), *left_threads())
        if self.progress is not None:
            self.progress.clear()
        if "calls" in self.__dict__:
            for recorder, case, trial in self._void:
                _quietly(recorder, case, trial)
            self.calls.close()
        if self.rules.close(MARGIN):
            left = (*left, "the matcher of a rubric")
        self.ledger.close()
        self.logs.close()
        return left

    def _end_talk(self, session: pytest.Session) -> None:
        """After the last item: what needs the loop comes before its end."""
        match_by_judge(self.engine, session)
        self.pool.close()

    def _new_progress(self) -> Progress | Teller | None:
        """A worker tells its controller, who owns the terminal."""
        if self.engine.worker != "main":
            path = self.directory.path / f"standing.{self.engine.worker}.json"
            return Teller(path, self._standing)
        return new_progress(self.engine.config, self._standing)

    def _standing(self) -> Standing:
        held, running = self.pool.counts
        seconds = monotonic() - self._began
        waiting = max(0, self._talks - held - running)
        if "calls" not in self.__dict__:
            return Standing(held, running, waiting, seconds=seconds, matches=self.matches)
        flying, throttled, cost = self.calls.standing()
        return Standing(held, running, waiting, flying, throttled, cost, seconds, self.matches)

    @cached_property
    def _talks(self) -> int:
        """Conversations that this process will hold or judge."""
        return sum(
            trial.id in self.engine.selected
            for source in self.engine.sources.values()
            if self._needs_loop(source)
            for trial in source.trials
        )

    # ---- models

    @cached_property
    def calls(self) -> Calls:
        """The way to models; made where one is needed."""
        from pytest_dialeval.plugin.calling import Calls

        return Calls(self.engine, self.directory, self.redaction, self.pool.clock)

    @cached_property
    def web(self) -> Web:
        """The way to agents behind an address; made where one is met."""
        from pytest_dialeval.conversation.web import Web

        return Web(watch=self.pool.clock)

    async def _hang_up(self) -> None:
        if "calls" in self.__dict__:
            await self.calls.hang_up()
        if "web" in self.__dict__:
            await self.web.close()

    def judge(self, source: LoadedSource) -> Judge | NoJudge | None:
        """Who grades: nobody by choice, a hook's, a model, or nobody."""
        if source.name not in self._judges:
            self._judges[source.name] = self._new_judge(source)
        return self._judges[source.name]

    def _new_judge(self, source: LoadedSource) -> Judge | NoJudge | None:
        if source.no_judge:
            return NoJudge()
        if source.judge is not None or "judge" not in source.models:
            return source.judge
        from pytest_dialeval.grading.model_judge import DEADLINE, ModelJudge

        chat, spec, limits = self.calls.chat(source), source.models["judge"], source.limits
        # Whoever gives a slow model more for a turn has it judge as slowly. A call that is late
        # tells why; a verdict that is late can only be given up.
        deadline = min(max(DEADLINE, limits.turn_timeout), PART * limits.timeout)
        return ModelJudge(chat, spec, deadline=deadline, max_context_chars=limits.max_context_chars)

    def criteria(self, source: LoadedSource) -> Criteria | None:
        """What bodies of a decorated function ask; None where no judge would answer."""
        judge = self.judge(source)
        if judge is None or isinstance(judge, NoJudge):
            return None
        made = Criteria(judge, source.limits.timeout, self.pool.clock)
        return self._criteria.setdefault(source.name, made)

    def body_unmeasured(self, source: LoadedSource, case: str, trial: int) -> None:
        """What the judge replied to a body was of no use: its cassette is told in the end.

        Not at once: other criteria may still be judged ahead, and would begin the trial anew.
        """
        if asked(source):
            self._void.append((self.calls.chat(source), case, trial))

    # ---- recordings by rule: graded where the item stands

    def _needs_loop(self, source: LoadedSource) -> bool:
        """Whether somebody talks, or a judge is asked."""
        if not source.recorded:
            return True
        return source.judged and not isinstance(self.judge(source), NoJudge | None)

    def _grade_recording(self, cell: Cell) -> list[Graded]:
        done = self._recorded.setdefault(cell.trial.id, {})
        if any(each not in done for each in cell.rubrics):
            grader, held = self._grader(cell.source), self._hold_recording(cell)
            new = [each for each in cell.rubrics if each not in done]
            done |= zip(new, grader.grade_now(held, new), strict=True)
            if done.keys() >= set(self.engine.selected.get(cell.trial.id, cell.rubrics)):
                grader.finish(held, list(done.values()))
                del self._held[cell.trial.id]
        return [done[each] for each in cell.rubrics]

    def _hold_recording(self, cell: Cell) -> Held:
        if cell.trial.id not in self._held:
            grader = self._grader(cell.source)
            self._held[cell.trial.id] = self._known(cell.source, cell.trial, grader)
        return self._held[cell.trial.id]

    def _known(self, source: LoadedSource, trial: PlannedTrial, grader: Grader) -> Held:
        """A conversation that exists already; void where a stored run lacks it."""
        try:
            recording = source.recording(trial)
        except DialevalError as error:
            return held_without(trial, str(error), grader)
        where = self.engine.relative(Path(recording.path))
        return held_recording(trial, recording, grader, where)

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
            # Before the agent's own teardown.
            item.session.addfinalizer(lambda: self._end_talk(item.session))
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
            self._agents[key] = _resolved(lambda: self._make(cell.source, spec))
        return self._agents[key]

    def _make(self, source: LoadedSource, spec: AgentSpec) -> AgentFactory:
        chat = self.calls.chat(source) if agent_model(source, spec.name) else None
        web = self.web if spec.use.startswith(("http:", "https:")) else None
        return make_agent(source, spec, chat=chat, web=web, watch=self.pool.clock)

    def _submit(self, cell: Cell, attempt: int = 1) -> None:
        held = _held_as(cell.trial, attempt)
        if self.pool.knows(held):
            return
        selected = tuple(self.engine.selected.get(cell.trial.id, cell.rubrics))
        grader = self._grader(cell.source)
        hold, lost = self._holder(cell, grader, attempt)
        turn = cell.source.limits.turn_timeout
        self.pool.submit(
            Work(
                held,
                selected,
                hold,
                grader.grade,
                grader.finish,
                lost=lost,
                at_once=grader.at_once,
                file=grader.file,
                turn_timeout=turn,
            )
        )

    def _holder(self, cell: Cell, grader: Grader, attempt: int) -> tuple[Callable[[], Any], Lost]:
        """What holds a conversation, and what ends it where the loop stands still."""
        source, trial = cell.source, replace(cell.trial, attempt=attempt)
        if source.recorded:

            async def known() -> Held:
                return self._known(source, trial, grader)

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
            redaction=self.redaction,
            off_loop=self.pool.off_loop,
            isolated=not source.in_process(trial.agent),
            simulator=self._simulator(source, trial),
            site=self._site(source),
            clock=self.pool.clock,
        )
        return live.hold, live.lost

    def _site(self, source: LoadedSource) -> Callable[[str], Site] | None:
        """What makes the folder of a trial, by a name below traces/; None: it needs none."""
        task = source.suite.task
        if task.workspace is None:
            return None
        from pytest_dialeval.workspaces.folder_site import FolderSite, Plan

        workspace, verifier, clear = task.workspace, task.verifier, self.redaction.text

        def site(name: str) -> FolderSite:
            patches = self.directory.traces / f"{name}.work"
            shown_as = f"traces/{patches.name}"
            rootdir = self.engine.config.rootpath
            return FolderSite(Plan(workspace, verifier, rootdir, patches, shown_as, clear))

        return site

    def _simulator(self, source: LoadedSource, trial: PlannedTrial) -> Simulator:
        """Who plays the persona: a hook's; else rounds or a script, worded by a model or not."""
        follows = source.suite.task.rounds is not None
        if source.simulator is not None or "user" not in source.models:
            return source.simulator or (RoundsUser if follows else SimulatedUser)
        from pytest_dialeval.conversation.asking import Asking
        from pytest_dialeval.conversation.model_rounds import model_rounds_simulator
        from pytest_dialeval.conversation.model_user import model_simulator

        asking = Asking(
            self.calls.chat(source),
            source.models["user"],
            trial.case,
            trial.number,
            source.limits.max_context_chars,
            source.limits.turn_timeout,
            self.pool.clock,
        )
        return model_rounds_simulator(asking) if follows else model_simulator(asking)

    def _forgetter(self, source: LoadedSource) -> Callable[[str, int], None] | None:
        """How a trial is told to its cassette that ended unmeasured by what models replied."""
        if not asked(source):
            return None
        recorder = self.calls.chat(source)

        def forget(case: str, trial: int) -> None:
            # The last trial may be told of when the loop takes nothing more.
            if not self.pool.soon(lambda: _quietly(recorder, case, trial)):
                self._void.append((recorder, case, trial))

        return forget

    def _grader(self, source: LoadedSource) -> Grader:
        found = self._graders.get(source.name)
        if found is None:
            criteria = self.criteria(source) if source.body else None
            found = self._graders[source.name] = Grader(
                task=source.suite.task,
                rubrics=source.compiled,
                scoring=source.scoring,
                judge=self.judge(source),
                directory=self.directory,
                ledger=self.ledger,
                body=source.body,
                batch=batched(source.compiled.values()),
                forget=self._forgetter(source),
                body_held=criteria.held if criteria else None,
                deadline=source.limits.timeout,
                clock=self.pool.clock,
                rules=self.rules,
                redaction=self.redaction,
                users_matchers=not source.offers.matchers.keys() <= builtin_matchers().keys(),
            )
        return found


def _quietly(recorder: Recorder, case: str, trial: int) -> None:
    with suppress(DialevalError):  # a full disk is said where the replies themselves are kept
        recorder.forget(case, trial)


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
