"""What the tasks of a summary are called."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_dialeval.records.text import visible
from pytest_dialeval.runs.summary import AgentFigures, Summary, TaskFigures


def titles(summary: Summary) -> list[str]:
    """How each task is called: by its id, and by what tells it apart from its namesakes."""
    ids = [each.id for each in summary.tasks if "::" not in each.source]
    return [title(each, alone=ids.count(each.id) < 2) for each in summary.tasks]


def title(task: TaskFigures, *, alone: bool) -> str:
    """The task; the function where a decorated test asked for it, else the suite if need be."""
    file, colons, function = task.source.rpartition("::")
    words = task.id
    if colons:
        words = f"{task.id} ({function})"
    elif not alone:
        words = f"{task.id} ({function or file})"
    return " ".join(visible(words).split())


def titled_agents(summary: Summary) -> Sequence[tuple[str, AgentFigures]]:
    """(name of the task, figures of one of its agents)."""
    named = zip(titles(summary), summary.tasks, strict=True)
    return [(name, agent) for name, task in named for agent in task.agents]
