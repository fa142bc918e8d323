"""Who grades the six `ux` rubrics here: a function in place of a model, so that no key is needed.

It knows what the verifier said and whether a test was run, and reads far less well than a model.
"""

from __future__ import annotations

from pytest_dialeval import JudgeQuestion, JudgeReply


async def stand_in(question: JudgeQuestion) -> JudgeReply:
    """A level by plain facts, with the agent's last words as evidence."""
    last = question.searched()[-1]
    works = "the verifier's last word" in question.briefing and "FAILED" not in question.briefing
    tested = any("unittest" in str(call) for turn in question.turns for call in turn.tool_calls)
    good = tested if question.rubric == "ux.testing" else works
    reason = "a test was run" if tested else "no test was run"
    if question.rubric != "ux.testing":
        reason = "all checks hold" if works else "a check that is asked for fails"
    return JudgeReply(
        "met" if good else "not_met",
        f"{reason}, as far as a function can see",
        evidence=((last.id, last.text),),
        level="fully" if good else "not at all",
    )


def pytest_dialeval_judges(config: object) -> dict[str, object]:
    return {"default": stand_in}
