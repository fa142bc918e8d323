"""The end of a session: stop the talk, add up the ledger, settle the exit status, say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from pytest_dialeval.errors import DialevalError
from pytest_dialeval.plugin.baselines import Baselines
from pytest_dialeval.plugin.matching_up import match_by_score
from pytest_dialeval.plugin.one_line import shorten_for_lines
from pytest_dialeval.plugin.reported import Reported, Soft

if TYPE_CHECKING:
    from pytest_dialeval.plugin.options import Settings
    from pytest_dialeval.records.run import Source, TrialFacts
    from pytest_dialeval.runs.directory import RunDirectory
    from pytest_dialeval.runs.summary import Summary

SHOWN = 3  # soft failures of one rubric
UNMEASURED = 10  # exit status: nothing failed, but something could not be measured


class Closing:
    """Counts reports while they pass; adds up once, on the controller or the only process."""

    def __init__(
        self, config: pytest.Config, settings: Settings, baselines: Baselines | None = None
    ) -> None:
        self.config = config
        self.settings = settings
        self.baselines = baselines or Baselines(config, settings)
        self.reported = Reported()
        self.summary: Summary | None = None
        self.trouble: list[str] = []  # shown in red
        self.recorded: list[str] = []  # what became of recorded replies
        self.incomplete = False  # a worker was lost, and with it reports
        self.directory: RunDirectory | None = None
        self.ran = False  # the run loop came to its end
        self._interrupted: int | None = None
        self._session: pytest.Session | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Round the run loop: a second Ctrl-C keeps pytest from noting the first."""
        try:
            yield
            self.ran = True
        except (KeyboardInterrupt, pytest.exit.Exception) as error:
            stated = getattr(error, "returncode", None)
            self._interrupted = int(pytest.ExitCode.INTERRUPTED if stated is None else stated)
            raise

    def finish(
        self,
        session: pytest.Session,
        directory: RunDirectory,
        sources: Sequence[Source],
        notes: Sequence[str],
    ) -> None:
        """Settle the exit status and write summary.json."""
        self.directory, self._session = directory, session
        shorten_for_lines(self.config)
        if self._interrupted is not None and session.exitstatus == 0:
            session.exitstatus = self._interrupted
        self._note_stop(session, directory)
        self._keep_recorded(directory, sources)
        from pytest_dialeval.runs.record import read_facts

        try:
            match_by_score(directory, sources)
            facts = read_facts(directory)
            summary = self._summarise(directory, sources, facts, notes)
            stopped = session.shouldfail or session.shouldstop or session.exitstatus not in (0, 1)
            stopped = stopped or self.incomplete or self.config.getoption("setuponly", False)
            differing = self.reported.differing(facts, sources, complete=not stopped, ran=self.ran)
        except DialevalError as error:
            self.trouble.append(str(error))
            session.exitstatus = self._not_known(session)
            return
        self.trouble += [each.text for each in differing]
        failed = any(each.failed for each in differing)
        status = self._status(session, summary, failed_unseen=failed, differing=bool(differing))
        session.exitstatus = status
        self.summary = summary.model_copy(update={"exit_status": status})
        try:
            self._store(self.summary)
        except DialevalError as error:
            self.trouble.append(str(error))
            session.exitstatus = self._not_known(session)

    def _keep_recorded(self, directory: RunDirectory, sources: Sequence[Source]) -> None:
        if (directory.path / "tapes").is_dir():  # else no reason to import what models need
            from pytest_dialeval.plugin.calling import merge_tapes

            for text, kept in merge_tapes(directory, sources, self.config.rootpath):
                (self.recorded if kept else self.trouble).append(text)

    def amend(self) -> None:
        """Take over what pytest decides after us: its 6 where there are too many warnings."""
        if self.summary is None or self.directory is None or self._session is None:
            return
        status = int(self._session.exitstatus)
        if status != self.summary.exit_status:
            self.summary = self.summary.model_copy(update={"exit_status": status})
            with suppress(DialevalError):  # nobody is left to be told; the file stays as it was
                self._store(self.summary)

    def _store(self, summary: Summary) -> None:
        assert self.directory is not None
        self.directory.write("summary", summary.model_dump(mode="json", by_alias=True))

    def _not_known(self, session: pytest.Session) -> int:
        """The status where no figures can be had: 10, unless something failed for sure."""
        status = int(session.exitstatus)
        if status == 1 and session.testsfailed <= self.reported.errors:
            return UNMEASURED
        return status or UNMEASURED

    def _note_stop(self, session: pytest.Session, directory: RunDirectory) -> None:
        """events.jsonl: why a run ended before its end, and what would not stop."""
        why = session.shouldfail or session.shouldstop
        try:
            if why:
                directory.event("stop", reason=str(why))
            for text in self.trouble:
                directory.event("warning", text=text)
        except DialevalError as error:
            self.trouble.append(str(error))

    def _status(
        self, session: pytest.Session, summary: Summary, *, failed_unseen: bool, differing: bool
    ) -> int:
        """First match wins: pytest's own, 1, 10, 0 (design section 3)."""
        from pytest_dialeval.runs.gates import missed, undecided

        status = int(session.exitstatus)
        if status not in (0, 1, 5):
            return status
        others = session.testsfailed - self.reported.errors
        # pytest's own count can be overwritten; what reports said of hard verdicts stays.
        failed_unseen = failed_unseen or self.reported.failed
        if failed_unseen or missed(summary.gates) or (status == 1 and others > 0):
            return 1
        if self.reported.errors or undecided(summary.gates) or differing:
            return UNMEASURED
        return status

    def _summarise(
        self,
        directory: RunDirectory,
        sources: Sequence[Source],
        facts: Mapping[str, TrialFacts],
        notes: Sequence[str],
    ) -> Summary:
        from pytest_dialeval.plugin.bounds import bounds
        from pytest_dialeval.runs.record import summarise
        from pytest_dialeval.runs.summary import SettingFigure

        return summarise(
            directory,
            sources,
            facts,
            label=self.settings.get("label").value,
            exit_status=0,
            settings={
                name: SettingFigure(value=each.value, source=each.source)
                for name, each in self.settings.stated().items()
            },
            notes=[*notes, *self.reported.notes(), *self.settings.unknown_variables()],
            budget=self.settings.get("budget").value,
            bounds=lambda each: bounds(self.settings, each.gates, each.name, each.decide),
            against=self.baselines.of,
        )

    def write(self, reporter: pytest.TerminalReporter) -> None:
        """Our part of the terminal's summary."""
        if self.directory is None or reporter.verbosity < -1:
            return
        reporter.write_sep("-", "dialogues", cyan=True)
        if self.summary is not None:
            from pytest_dialeval.report.text import summary_lines

            width = reporter._tw.fullwidth if reporter.isatty else None  # a log has no edge
            for line in summary_lines(self.summary, width):
                reporter.write_line(line.text, **({line.colour: True} if line.colour else {}))
        self._write_soft(reporter)
        for text in self.recorded:
            reporter.write_line(text)
        for text in self.trouble:
            reporter.write_line(text, red=True)
        reporter.write_line(f"run: {self._relative(self.directory)}")

    def _write_soft(self, reporter: pytest.TerminalReporter) -> None:
        """Soft failures, a few of each rubric; with -v each, with all that an F would say."""
        verbose = reporter.verbosity > 0
        by_rubric: dict[str, list[Soft]] = {}
        for each in self.reported.soft:
            by_rubric.setdefault(each.rubric, []).append(each)
        for rubric, found in by_rubric.items():
            for each in found if verbose else found[:SHOWN]:
                lines = each.text.splitlines()
                reporter.write_line(f"soft-failed {each.nodeid}: {lines[0]}", yellow=True)
                for line in lines[1:] if verbose or each.safety else ():
                    reporter.write_line(f"  {line}".rstrip())
            if not verbose and len(found) > SHOWN:
                more = len(found) - SHOWN
                reporter.write_line(
                    f"soft-failed {rubric}: {more} more (-v shows all)", yellow=True
                )

    def _relative(self, directory: RunDirectory) -> str:
        try:
            return directory.path.relative_to(self.config.rootpath).as_posix()
        except ValueError:
            return directory.path.as_posix()
