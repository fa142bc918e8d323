"""The dialeval command."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_dialeval import __version__
from pytest_dialeval.errors import DialevalError
from pytest_dialeval.records.text import visible
from pytest_dialeval.records.wording import plural

if TYPE_CHECKING:
    from pytest_dialeval.runs.directory import RunDirectory


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pytest-dialeval")
def main() -> None:
    """Hold conversational agents to account. Suites run with pytest; these commands go round it."""


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
def lint(paths: tuple[Path, ...]) -> None:
    """Check suites without talking to anybody: errors (exit 1) and notes.

    Matchers and agents from conftest files are known, because this is a collect-only session.
    """
    from pytest_dialeval.plugin.linting import lint_paths

    sys.exit(lint_paths(paths))


@main.command()
@click.option("--summary", is_flag=True, help="The schema of summary.json instead.")
@click.option("--baseline", is_flag=True, help="The schema of baseline files instead.")
def schema(summary: bool, baseline: bool) -> None:
    """Print the JSON Schema of suite files, for editors."""
    if summary and baseline:
        raise click.UsageError("one schema at a time: --summary or --baseline")
    if baseline:
        from pytest_dialeval.runs.baseline import baseline_schema

        found = baseline_schema()
    elif summary:
        from pytest_dialeval.runs.summary import summary_schema

        found = summary_schema()
    else:
        from pytest_dialeval.matching.catalogue import builtin_matchers
        from pytest_dialeval.suites.schema import json_schema

        found = json_schema(builtin_matchers())
    click.echo(json.dumps(found, indent=2, ensure_ascii=False))


@main.command()
@click.argument("labels", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--runs",
    default=Path(".dialeval/runs"),
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the labelled runs (default: .dialeval/runs).",
)
def calibrate(labels: Path, runs: Path) -> None:
    """How far a judge can be believed: its verdicts in stored runs beside people's LABELS.

    LABELS is JSONL or CSV with run, trial, rubric, label, labeller and, if you like, part.
    """
    from pytest_dialeval.grading.labels import read_labels
    from pytest_dialeval.plugin.judging import judging_today
    from pytest_dialeval.report.calibration import calibration_lines
    from pytest_dialeval.runs.calibrating import calibrate_runs, labelled_runs, suites_of

    try:
        given = read_labels(labels)
        opened = labelled_runs(given, runs)
        current = judging_today([each for each in suites_of(opened) if Path(each).exists()])
        for found in calibrate_runs(given, opened, current):
            for line in calibration_lines(found):
                click.echo(line)
            click.echo()
    except DialevalError as error:
        raise click.ClickException(str(error)) from None
    if not given:
        click.echo(f"{labels}: nothing is labelled yet")


_RUNS = click.option(
    "--runs",
    default=Path(".dialeval/runs"),
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder in which runs are looked up by their id (default: .dialeval/runs).",
)


class _Refused(click.ClickException):
    """A wrong call: 1 is kept for what was found to be bad."""

    exit_code = 2


@main.command()
@click.argument("run")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write.",
)
@_RUNS
def baseline(run: str, output: Path, runs: Path) -> None:
    """Write the results of RUN to a small file that can be committed and compared with.

    RUN is a run's folder or its id.
    """
    from pytest_dialeval.runs.baseline import unmeasured, write_baseline
    from pytest_dialeval.runs.opening import open_results

    try:
        found = open_results(run, Path(), runs)
        write_baseline(found, output)
    except DialevalError as error:
        raise _Refused(str(error)) from None
    lost = f" ({plural(many, 'trial')} unmeasured)" if (many := unmeasured(found)) else ""
    click.echo(f"{output}: the results of {run}{lost}; commit it")


@main.command()
@click.argument("before")
@click.argument("after", required=False)
@click.option("--agent", metavar="NAME", help="The agent to look at, of the later run.")
@click.option("--against", metavar="NAME", help="The agent it is compared with, of BEFORE.")
@click.option("--markdown", is_flag=True, help="For a comment on a pull request.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 100),
    metavar="POINTS",
    help="Exit 1 where pass rate or task score fell by more points: an engineering threshold.",
)
@_RUNS
def compare(
    before: str,
    after: str | None,
    agent: str | None,
    against: str | None,
    markdown: bool,
    threshold: float | None,
    runs: Path,
) -> None:
    """How far AFTER is from BEFORE: better, worse, or not separated.

    Each is a run's folder, its id, or a baseline file. With BEFORE alone, --agent and --against
    compare two agents of one run. Exit status 10: they are not comparable.
    """
    from pytest_dialeval.report.comparison import (
        comparison_lines,
        comparison_markdown,
        thresholds,
    )
    from pytest_dialeval.runs.comparing import compare as compared
    from pytest_dialeval.runs.opening import open_results

    if threshold is not None and math.isnan(threshold):
        raise click.UsageError("--threshold: nan is no number of points")
    if after is None and not (agent and against):
        raise click.UsageError("give a second run, or two agents: --agent NAME --against NAME")
    try:
        first = open_results(before, Path(), runs)
        second = first if after is None else open_results(after, Path(), runs)
        found = compared(first, second, agent=agent, against=against)
    except DialevalError as error:
        raise _Refused(str(error)) from None
    shown = comparison_markdown if markdown else comparison_lines
    for line in shown(found, points=threshold):
        click.echo(line)
    held = [] if threshold is None else [each.held for each in thresholds(found, threshold)]
    sys.exit(1 if False in held else 10 if found.incomparable or None in held else 0)


@main.group()
def votes() -> None:
    """What people say of the answers of two agents: taken into a run, and rated."""


_NAMED = 20  # votes that cannot count, one by one
_RUN = click.option("--run", help="The run's id, or its folder (default: the last run).")


@votes.command(name="import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_RUN
@_RUNS
def import_votes(file: Path, run: str | None, runs: Path) -> None:
    """Append the votes of FILE (JSONL) to a run; those that cannot count are named."""
    from pytest_dialeval.runs import votes as stored
    from pytest_dialeval.runs.evaluation import evaluation_of

    with _clear_errors():
        directory = _opened(run, runs)
        found = stored.import_votes(file, directory, evaluation_of(directory, Path.cwd()))
    for each in found.left_out[:_NAMED]:
        click.echo(visible(each), err=True)
    if len(found.left_out) > _NAMED:
        click.echo(f"... and {plural(len(found.left_out) - _NAMED, 'line')} more", err=True)
    still = f", {found.open} not cast yet" if found.open else ""
    click.echo(f"{plural(found.taken, 'vote')} taken into run {directory.run_id}{still}")
    sys.exit(1 if found.left_out else 0)


@votes.command()
@_RUN
@_RUNS
@click.option("--open", "open_", is_flag=True, help="Lines to fill in instead, one a round.")
@click.option("-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="A file.")
def export(run: str | None, runs: Path, open_: bool, out: Path | None) -> None:
    """Print a run's votes as JSONL, or with --open what can be voted on."""
    from pytest_dialeval.runs import votes as stored
    from pytest_dialeval.runs.evaluation import evaluation_of
    from pytest_dialeval.runs.files import write_bytes

    with _clear_errors():
        directory = _opened(run, runs)
        if open_:
            lines = list(stored.open_lines(evaluation_of(directory, Path.cwd())))
        else:
            lines = [stored.vote_line(each.vote) for each in stored.votes_of(directory).votes]
        if out is not None:
            write_bytes(out, b"".join(lines))
    if out is None:
        for line in lines:
            click.echo(line.decode(), nl=False)
    else:
        click.echo(f"{plural(len(lines), 'line')} written to {out}")


@votes.command()
@_RUN
@_RUNS
def rate(run: str | None, runs: Path) -> None:
    """Rate a run's agents anew, with its votes: prints the leaderboard, renews summary.json."""
    from pytest_dialeval.report.leaderboard import leaderboard_lines
    from pytest_dialeval.runs.rating import rate_again

    with _clear_errors():
        found = rate_again(_opened(run, runs), Path.cwd())
    for line, _ in list(leaderboard_lines(found))[1:]:
        click.echo(visible(line))


def _opened(run: str | None, runs: Path) -> RunDirectory:
    from pytest_dialeval.runs.directory import RunDirectory
    from pytest_dialeval.runs.stored import find_run, last_run

    return RunDirectory(last_run(runs) if run is None else find_run(run, Path.cwd(), runs))


@contextmanager
def _clear_errors() -> Iterator[None]:
    """A user's mistake as one line, without our frames."""
    try:
        yield
    except DialevalError as error:
        raise click.ClickException(visible(str(error))) from None


@main.command(name="import")
@click.argument("format")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for traces.")
def import_(format: str, files: tuple[Path, ...], out: Path) -> None:
    """Turn other tools' recordings into traces.

    FORMAT is dialeval, harbor (FILES are folders of jobs), openai, tau-bench or tau2.
    """
    from pytest_dialeval.traces.importing import import_recordings

    try:
        report = import_recordings(format, files, out)
    except DialevalError as error:
        raise click.ClickException(str(error)) from None
    for skipped in report.skipped:
        place = "" if skipped.index is None else f" recording {skipped.index}"
        # Of a file that can't be read the reason names it already, with its line.
        named = not place and skipped.why.startswith(skipped.path)
        where = "" if named else f"{skipped.path}{place}: "
        click.echo(visible(f"skipped {where}{skipped.why}"), err=True)
    for note in report.notes:
        click.echo(visible(f"note: {note}"), err=True)
    click.echo(f"{len(report.written)} traces written to {out}")
    sys.exit(1 if report.skipped else 0)
