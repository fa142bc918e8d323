"""A summary as lines of text, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_dialeval.records.text import visible
from pytest_dialeval.report.gates import gate_lines
from pytest_dialeval.report.leaderboard import leaderboard_lines
from pytest_dialeval.report.line import Line
from pytest_dialeval.report.pass_table import at_least_one_table, pass_table
from pytest_dialeval.report.remarks import remark_lines
from pytest_dialeval.report.rewards import reward_lines
from pytest_dialeval.report.titles import titled_agents
from pytest_dialeval.report.usage import usage_lines
from pytest_dialeval.runs.summary import Summary

MAX_RUBRICS = 8  # failed rubrics named of an agent


def summary_lines(summary: Summary, width: int | None = None) -> Iterator[Line]:
    """The whole summary: counts, breaches, tables, what could not be said.

    Tables leave out columns that would not fit into `width` characters.
    """
    for line in _lines(summary, width):
        # Titles, labels and notes are the user's: none of them may steer a terminal.
        yield Line(visible(line.text).replace("\n", " "), line.colour)


def _lines(summary: Summary, width: int | None) -> Iterator[Line]:
    yield Line(counts_sentence(summary))
    yield from breach_lines(summary)
    yield from gate_lines(summary, "failed", "not decided")
    yield Line("")
    yield from (Line(each) for each in pass_table(summary, width).split("\n"))
    yield from (Line(each) for each in at_least_one_table(summary, width).splitlines())
    yield from reward_lines(titled_agents(summary))
    if summary.ratings is not None:
        yield from leaderboard_lines(summary.ratings)
    yield from failed_lines(summary)
    yield from usage_lines(summary)
    yield from gate_lines(summary, "passed")
    yield from remark_lines(summary, width)
    yield from setting_lines(summary)


def counts_sentence(summary: Summary) -> str:
    """Conversations and verdicts in one sentence."""
    outcomes, verdicts = summary.outcomes, summary.verdicts
    held = sum(outcomes.model_dump().values()) - outcomes.not_run
    parts = [
        f"{number} {word}"
        for number, word in (
            (verdicts.passed, "passed"),
            (verdicts.failed, "failed"),
            (verdicts.soft_failed, "soft-failed"),
            (verdicts.not_applicable, "not applicable"),
            (verdicts.unmeasured, "unmeasured"),
            (verdicts.not_run, "not run"),
        )
        if number
    ]
    noun = "conversation" if held == 1 else "conversations"
    stopped = f" ({outcomes.cancelled} stopped before the end)" if outcomes.cancelled else ""
    return f"{held} {noun}{stopped}; rubrics: {', '.join(parts) or 'none'}"


def breach_lines(summary: Summary) -> Iterator[Line]:
    """Safety first."""
    for name, agent in titled_agents(summary):
        if not agent.safety_breaches:
            continue
        rubrics = [
            f"{each.id} ({each.n - each.passed})"
            for each in agent.rubrics
            if each.dimension == "safety" and each.n > each.passed
        ]
        yield Line(
            f"SAFETY: {name} / {agent.name}: {agent.safety_breaches} of {agent.trials} "
            f"trials breached: {', '.join(rubrics)}",
            "red",
        )


def failed_lines(summary: Summary) -> Iterator[Line]:
    """What to mend first: each agent's failed rubrics, most often failed first."""
    for name, agent in titled_agents(summary):
        failed = [each for each in agent.rubrics if each.n > each.passed]
        failed.sort(key=lambda each: each.passed - each.n)
        shown = [f"{each.id} {each.n - each.passed} of {each.n}" for each in failed[:MAX_RUBRICS]]
        if shown:
            more = f" and {len(failed) - MAX_RUBRICS} more" if len(failed) > MAX_RUBRICS else ""
            yield Line(f"{name} / {agent.name} failed: {', '.join(shown)}{more}")


def setting_lines(summary: Summary) -> Iterator[Line]:
    """Where each value that is not the default came from."""
    if summary.settings:
        shown = (
            f"{name} = {_plain(each.value)} ({each.source})"
            for name, each in summary.settings.items()
        )
        yield Line(f"settings: {'; '.join(shown)}")


def _plain(value: object) -> str:
    """As it was written, not as Python shows it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
