"""The hooks of a session that has dialogue items; registered when the first is collected."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dialeval.plugin import decorated, outcomes
from pytest_dialeval.plugin.closing import Closing
from pytest_dialeval.plugin.collection import CELL

if TYPE_CHECKING:
    from pytest_dialeval.plugin.engine import Engine


class SessionHooks:
    """One line a hook; the work is elsewhere."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.closing = Closing(engine)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.engine.select(session.items)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        try:
            return (yield)
        finally:  # at once: pytest formats a Ctrl-C for half a second before its own teardown
            self.closing.stop()

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        decorated.adopt(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        cell = pyfuncitem.stash.get(CELL, None)
        return None if cell is None else decorated.decide(pyfuncitem, cell)

    @pytest.hookimpl(wrapper=True, specname="pytest_pyfunc_call")
    def pytest_pyfunc_call_of_body(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        cell = pyfuncitem.stash.get(CELL, None)
        if cell is None or cell.kind != "body":
            return (yield)
        return (yield from decorated.file_body(pyfuncitem, cell))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        report = yield
        cell = item.stash.get(CELL, None)
        if cell is not None:
            outcomes.mark_report(item, cell, call, report)
        return report

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        return outcomes.status_of(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.closing.count(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.closing.finish(session)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self.closing.write(terminalreporter)

    def pytest_unconfigure(self) -> None:
        self.closing.stop()
