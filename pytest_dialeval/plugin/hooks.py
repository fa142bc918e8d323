"""The hooks of a process that has dialogue items; registered when the first is collected."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dialeval.plugin import FROZEN, decorated, outcomes
from pytest_dialeval.plugin.closing import Closing
from pytest_dialeval.plugin.collection import CELL
from pytest_dialeval.plugin.matching_up import match_by_judge
from pytest_dialeval.plugin.placing import write_worker_plan

if TYPE_CHECKING:
    from pytest_dialeval.plugin.engine import Engine


_SELDOM = 10_000  # objects more than went away, between two walks of the garbage collector


class ItemHooks:
    """What a process with items does, be it the only one or a worker of xdist."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @pytest.hookimpl(tryfirst=True)  # before a worker of xdist tells what it collected
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.engine.select(session.items)
        refusal = self.engine.refusal()
        if self.engine.worker == "main":
            if refusal is not None:
                raise pytest.UsageError(refusal)
        elif refusal is not None or self.engine.selected:
            # A worker that raises is an internal error to xdist: its controller refuses instead.
            write_worker_plan(self.engine, refusal)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        decorated.adopt(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        cell = pyfuncitem.stash.get(CELL, None)
        return None if cell is None else decorated.decide(pyfuncitem, cell)

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # outermost: sees what others add to the call
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        cell = item.stash.get(CELL, None)
        if cell is None or cell.kind != "body":
            return (yield)
        return (yield from decorated.file_body(item, cell))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        report = yield
        cell = item.stash.get(CELL, None)
        if cell is not None:
            outcomes.mark_report(item, cell, call, report)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        with _items_at_rest(session):
            try:
                ended = yield
                match_by_judge(self.engine, session)
                return ended
            finally:  # at once: pytest formats a Ctrl-C for half a second before its own teardown
                self.engine.stop()

    def pytest_enter_pdb(self) -> None:
        self.engine.pause()

    def pytest_leave_pdb(self) -> None:
        self.engine.resume()

    def pytest_unconfigure(self) -> None:
        self.engine.stop()


@contextmanager
def _items_at_rest(session: pytest.Session) -> Iterator[None]:
    """Keep the garbage collector from walking thousands of items again and again.

    Nor what is on its way in sixty conversations: nearly all of it goes without a collector.
    Only where all of them are ours: a test of somebody's may be about what is collected. What a
    conftest leaks while items are collected goes untold; pytest tells of all that comes later.
    """
    alone, often = all(CELL in each.stash for each in session.items), gc.get_threshold()
    if alone:
        session.config.stash[FROZEN] = True
        gc.freeze()
        gc.set_threshold(often[0] and max(often[0], _SELDOM), *often[1:])  # 0: switched off
    ours = gc.get_threshold()
    try:
        yield
    finally:
        if alone:
            if gc.get_threshold() == ours:  # else somebody's fixture has its own idea
                gc.set_threshold(*often)
            atexit.unregister(gc.freeze)  # so that it is there once
            atexit.register(gc.freeze)  # nor at the exit, which gives all of it back in one go


class ClosingHooks:
    """The only process also adds up; where xdist distributes, its controller does."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.closing = Closing(engine.config, engine.settings, engine.baselines)

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        return outcomes.status_of(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.closing.reported.count(report)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        with self.closing.watching():
            return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.engine.running is None:
            option = self.engine.config.getoption
            looks_only = any(option(f"{each}only", False) for each in ("collect", "setup"))
            began = self.closing.reported.seen or (self.closing.ran and self.engine.selected)
            if looks_only or option("setupplan", False) or not began:
                return
            self.engine.run()  # none got so far as its verdict: their gates are not decided
        running = self.engine.run()
        self.engine.stop()
        self.closing.trouble += self.engine.trouble
        self.closing.finish(session, running.directory, self.engine.facts(), self.engine.notes)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self.closing.write(terminalreporter)

    def pytest_unconfigure(self) -> None:
        self.closing.amend()
