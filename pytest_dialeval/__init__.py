"""pytest-dialeval: hold conversational agents to account.

Public names are resolved when they are first used: pytest imports this package in every session.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "Agent": "conversation.agent",
    "Artifact": "records.transcript",
    "Brief": "conversation.agent",
    "Citation": "grading.judge",
    "Evidence": "records.verdict",
    "Judge": "grading.judge",
    "JudgeFault": "errors",
    "JudgeQuestion": "grading.judge",
    "JudgeReply": "grading.judge",
    "Line": "conversation.user",
    "Matcher": "matching.matcher",
    "MatcherResult": "records.verdict",
    "NotMeasured": "errors",
    "Reply": "conversation.agent",
    "ScriptedJudge": "grading.scripted_judge",
    "SimulatedUser": "conversation.user",
    "ToolCall": "records.transcript",
    "Transcript": "records.transcript",
    "Turn": "records.transcript",
    "Usage": "records.transcript",
    "View": "matching.view",
    "dialogue_case": "suites.decorated",
}
__all__ = [  # a literal, so that type checkers and linters see it; a test compares both lists
    "Agent",
    "Artifact",
    "Brief",
    "Citation",
    "Evidence",
    "Judge",
    "JudgeFault",
    "JudgeQuestion",
    "JudgeReply",
    "Line",
    "Matcher",
    "MatcherResult",
    "NotMeasured",
    "Reply",
    "ScriptedJudge",
    "SimulatedUser",
    "ToolCall",
    "Transcript",
    "Turn",
    "Usage",
    "View",
    "dialogue_case",
]

if TYPE_CHECKING:
    from pytest_dialeval.conversation.agent import Agent, Brief, Reply
    from pytest_dialeval.conversation.user import Line, SimulatedUser
    from pytest_dialeval.errors import JudgeFault, NotMeasured
    from pytest_dialeval.grading.judge import Citation, Judge, JudgeQuestion, JudgeReply
    from pytest_dialeval.grading.scripted_judge import ScriptedJudge
    from pytest_dialeval.matching.matcher import Matcher
    from pytest_dialeval.matching.view import View
    from pytest_dialeval.records.transcript import Artifact, ToolCall, Transcript, Turn, Usage
    from pytest_dialeval.records.verdict import Evidence, MatcherResult
    from pytest_dialeval.suites.decorated import dialogue_case


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
