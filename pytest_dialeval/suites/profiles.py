"""Who follows up, of those that come with the plugin: a tone, and a leaning to behaviours."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_dialeval.records.follow_up import Profile

DEFAULT = "balanced-maintainer-bugfix"

_ALL = (
    Profile(
        DEFAULT,
        "You maintain the project. You are friendly and brief, believe evidence and no "
        "assurances, want the smallest change that mends the fault, focused tests and little to "
        "maintain later, and you remember what was said before.",
        {
            "debug-followup": 3,
            "add-tests": 3,
            "correct-requirement": 2,
            "failure-report": 2,
            "security-maintainability-review": 2,
            "final-cleanup": 2,
            "rejection-rollback": 1,
            "repo-understanding": 1,
        },
    ),
    Profile(
        "expert-maintainer-bugfix",
        "You wrote this code and know it well. You are terse, ask for the cause before the cure, "
        "and send back what is larger than it must be.",
        {
            "debug-followup": 4,
            "repo-understanding": 3,
            "rejection-rollback": 2,
            "correct-requirement": 2,
            "add-tests": 2,
            "failure-report": 1,
            "security-maintainability-review": 1,
            "final-cleanup": 1,
        },
    ),
    Profile(
        "security-reviewer-refactor",
        "You review for security. You are calm and exact, ask who controls an input and what "
        "happens on errors, and want a refactoring to leave behaviour as it was.",
        {
            "security-maintainability-review": 5,
            "repo-understanding": 2,
            "add-tests": 2,
            "rejection-rollback": 2,
            "final-cleanup": 2,
            "debug-followup": 1,
            "correct-requirement": 1,
        },
    ),
    Profile(
        "patient-service-customer",
        "You are a friendly customer with time. You do not know the words of the trade, have few "
        "papers at hand, and want to be sure that you understood.",
        {
            "missing-information": 3,
            "confirmation-request": 3,
            "changed-mind": 2,
            "contradiction": 1,
            "complaint": 1,
        },
    ),
    Profile(
        "demanding-service-customer",
        "You are a customer with little time. You are curt, complain where things take long, and "
        "hold the agent to every word that it said.",
        {
            "complaint": 4,
            "contradiction": 3,
            "changed-mind": 2,
            "confirmation-request": 2,
            "missing-information": 1,
        },
    ),
)
PROFILES: Mapping[str, Profile] = {each.id: each for each in _ALL}
