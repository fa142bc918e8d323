"""xdist's controller: one run id, trials kept together, workers' ledgers added up."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dialeval.plugin import outcomes
from pytest_dialeval.plugin.closing import UNMEASURED, Closing
from pytest_dialeval.plugin.matching_up import match_on_controller
from pytest_dialeval.plugin.placing import left_in, run_path
from pytest_dialeval.plugin.scheduling import TrialScheduling

if TYPE_CHECKING:
    from pytest_dialeval.plugin.options import Settings
    from pytest_dialeval.plugin.standings import Listener
    from pytest_dialeval.records.run import Source

INPUT = "dialeval_run"


class ControllerHooks:
    """Registered where xdist distributes; prints and writes nothing unless a worker had items."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.closing = Closing(config, settings)
        self.path = run_path(config, settings)
        self.lost: list[str] = []
        self._listener: Listener | None = None

    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[INPUT] = str(self.path)

    @pytest.hookimpl(wrapper=True)
    def pytest_xdist_make_scheduler(
        self, config: pytest.Config, log: Any
    ) -> Generator[None, Any, Any]:
        return TrialScheduling(config, log, (yield), self.path)

    def pytest_xdist_node_collection_finished(self) -> None:
        """A worker wrote its plan before it told what it collected, if there are dialogues."""
        if self._listener is None and left_in(self.path, "plan.*.json"):
            from pytest_dialeval.plugin.standings import Listener

            reporter = self.config.pluginmanager.get_plugin("terminalreporter")
            self._listener = Listener(reporter, self.path)

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        if error:
            self.lost.append(node.gateway.id)

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        return outcomes.status_of(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.closing.reported.count(report)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """End as pytest itself would: to xdist a stop after failures is an interruption."""
        from xdist.dsession import Interrupted

        with self.closing.watching():
            try:
                try:
                    ended = yield
                finally:
                    if self._listener is not None:
                        self._listener.close()
                if not (session.shouldstop or session.shouldfail):
                    self._match()
                return ended
            except Interrupted as error:
                reached = str(error).startswith("stopping after ") and session.shouldfail
                if reached and self.closing.reported.seen:
                    raise session.Failed(session.shouldfail) from None
                raise

    def _match(self) -> None:
        """What models have to compare, now that all workers are done."""
        from pytest_dialeval.errors import DialevalError

        if not left_in(self.path, "ledger.*.jsonl"):
            return
        try:
            self.closing.trouble += match_on_controller(self.config, self.settings, self.path)
        except DialevalError:
            return  # workers' plans that differ: said where they are added up

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Add up what the workers left; a session without dialogue items leaves nothing."""
        if not left_in(self.path, "ledger.*.jsonl") and not self._nothing_began():
            return
        from pytest_dialeval.errors import DialevalError
        from pytest_dialeval.plugin.placing import write_plan
        from pytest_dialeval.runs.directory import RunDirectory

        directory = RunDirectory(self.path)
        try:
            plan = merged_plan(directory)
            write_plan(directory, plan.sources, self.settings)
        except DialevalError as error:
            self.closing.directory = directory
            self.closing.trouble.append(str(error))
            session.exitstatus = int(session.exitstatus) or UNMEASURED
            return
        self.closing.incomplete = bool(self.lost)
        self.closing.finish(session, directory, plan.sources, plan.notes)
        self._name_lost(plan.sources)

    def _nothing_began(self) -> bool:
        """Whether dialogue items were there to run and none got so far as its verdict.

        Their gates are still to be said: an empty ledger stands for what never was.
        """
        option, reported = self.config.getoption, self.closing.reported
        planned = self.closing.ran and bool(left_in(self.path, "plan.*.json"))
        if option("setupplan", False) or option("setuponly", False):
            return False
        if not reported.seen and not planned:
            return False
        if not reported.asked:
            from pytest_dialeval.errors import RunError
            from pytest_dialeval.runs.ledger import LedgerWriter

            try:
                LedgerWriter(self.path / "ledger.main.jsonl").close()
            except RunError:  # a worker that could not make the folder either has said so
                return False
        return True

    def _name_lost(self, sources: list[Source]) -> None:
        from pytest_dialeval.runs.directory import RunDirectory
        from pytest_dialeval.runs.record import unfinished

        if not self.lost:
            return
        left = unfinished(RunDirectory(self.path), sources)
        shown = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
        workers = (
            f"worker {self.lost[0]} was"
            if len(self.lost) == 1
            else (f"workers {', '.join(self.lost)} were")
        )
        self.closing.trouble.append(f"{workers} lost; trials unfinished: {shown or 'none'}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        self.closing.write(terminalreporter)

    def pytest_unconfigure(self) -> None:
        self.closing.amend()


def merged_plan(directory: Any) -> Any:
    """The plan that every worker made; RunError where two of them differ."""
    from pytest_dialeval.errors import RunError
    from pytest_dialeval.runs.record import read_plan

    paths = sorted(directory.path.glob("plan.*.json"))
    if not paths:
        raise RunError(f"{directory.path}: the workers' plans are gone")
    plans = {path.name: read_plan(path) for path in paths}
    first_name, first = next(iter(plans.items()))
    for name, plan in plans.items():
        names = [each.name for each in plan.sources]
        if names != [each.name for each in first.sources]:
            raise RunError(
                f"{directory.path}: the workers collected different suites "
                f"({first_name} and {name} differ)"
            )
        for ours, theirs in zip(first.sources, plan.sources, strict=True):
            if (ours.name, ours.sha256, ours.trials) != (theirs.name, theirs.sha256, theirs.trials):
                raise RunError(
                    f"{directory.path}: the workers read different suites "
                    f"({first_name} and {name} differ in {ours.name})"
                )
    return first
