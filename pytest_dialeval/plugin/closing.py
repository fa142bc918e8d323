"""The end of a session: stop the talk, add up the ledger, settle the exit status, say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_dialeval.errors import DialevalError

if TYPE_CHECKING:
    from pytest_dialeval.plugin.engine import Engine
    from pytest_dialeval.runs.summary import Summary

UNMEASURED = 10  # exit status: nothing failed, but something could not be measured


class Closing:
    """Counts reports while they pass; writes the summary once."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.unmeasured = 0  # E items that say nothing about an agent
        self.soft: list[tuple[str, str]] = []  # (node id, text)
        self.summary: Summary | None = None
        self.trouble: list[str] = []
        self._stopped = False

    def stop(self) -> None:
        """Stop all conversations; harmless to repeat."""
        running = self.engine.running
        if running is None or self._stopped:
            return
        self._stopped = True
        for trial in running.close():
            self.trouble.append(f"{trial}: its conversation would not stop and was left behind")

    def count(self, report: Any) -> None:
        """Keep what our own outcomes add to pytest's."""
        kind = getattr(report, "dialeval", {}).get("kind")
        if kind == "unmeasured" and report.failed:
            self.unmeasured += 1
        if kind == "soft-failed":
            self.soft.append((report.nodeid, report.dialeval["text"]))

    def finish(self, session: pytest.Session) -> None:
        """Settle the exit status and write summary.json."""
        running = self.engine.running
        if running is None:
            return
        self.stop()
        session.exitstatus = self._status(session)
        try:
            self.summary = self._summarise(int(session.exitstatus))
            running.directory.write("summary", self.summary.model_dump(mode="json", by_alias=True))
        except DialevalError as error:
            self.trouble.append(str(error))
            if session.exitstatus == 0:
                session.exitstatus = UNMEASURED

    def _status(self, session: pytest.Session) -> int:
        status = int(session.exitstatus)
        if status == 1 and self.unmeasured and session.testsfailed <= self.unmeasured:
            return UNMEASURED
        return status

    def _summarise(self, status: int) -> Summary:
        from pytest_dialeval.runs.record import summarise
        from pytest_dialeval.runs.summary import SettingFigure

        engine, running = self.engine, self.engine.running
        assert running is not None
        return summarise(
            running.directory,
            running.sources,
            label=engine.settings.get("label").value,
            exit_status=status,
            settings={
                name: SettingFigure(value=each.value, source=each.source)
                for name, each in engine.settings.stated().items()
            },
            notes=engine.notes,
        )

    def write(self, reporter: pytest.TerminalReporter) -> None:
        """Our part of the terminal's summary."""
        running = self.engine.running
        if running is None or reporter.verbosity < -1:
            return
        reporter.section("dialogues", "-", cyan=True)
        self._write_soft(reporter)
        if self.summary is not None:
            from pytest_dialeval.report.text import summary_lines

            for line in summary_lines(self.summary):
                reporter.write_line(line.text, **({line.colour: True} if line.colour else {}))
        for text in self.trouble:
            reporter.write_line(text, red=True)
        reporter.write_line(f"run: {self.engine.relative(running.directory.path)}")

    def _write_soft(self, reporter: pytest.TerminalReporter) -> None:
        for nodeid, text in self.soft:
            reporter.write_line(f"soft-failed {nodeid}", yellow=True)
            if reporter.verbosity > 0:
                for line in text.splitlines():
                    reporter.write_line(f"  {line}")
