"""The dialeval command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from pytest_dialeval import __version__
from pytest_dialeval.errors import DialevalError


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
def schema(summary: bool) -> None:
    """Print the JSON Schema of suite files, for editors."""
    if summary:
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


@main.command(name="import")
@click.argument("format")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for traces.")
def import_(format: str, files: tuple[Path, ...], out: Path) -> None:
    """Turn other tools' recordings into traces.

    FORMAT is dialeval, openai, tau-bench or tau2.
    """
    from pytest_dialeval.traces.importing import import_recordings

    try:
        report = import_recordings(format, files, out)
    except DialevalError as error:
        raise click.ClickException(str(error)) from None
    for skipped in report.skipped:
        place = "" if skipped.index is None else f" recording {skipped.index}"
        click.echo(f"skipped {skipped.path}{place}: {skipped.why}", err=True)
    for note in report.notes:
        click.echo(f"note: {note}", err=True)
    click.echo(f"{len(report.written)} traces written to {out}")
    sys.exit(1 if report.skipped else 0)
