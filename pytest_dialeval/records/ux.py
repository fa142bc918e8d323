"""What working with an agent over several rounds was like: six judged subscores, by name."""

from __future__ import annotations

SUBSCORES = (
    "task_success",
    "final_requirement",
    "correction",
    "testing",
    "context_keeping",
    "user_burden",
)


def rubric_of(subscore: str) -> str:
    """The id of the rubric that gives it."""
    return f"ux.{subscore}"


RUBRICS = tuple(map(rubric_of, SUBSCORES))
