"""What a judge is told of rounds and work: facts of ours, and data that can't be taken for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from re import findall

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.grading import briefing as module
from pytest_dialeval.grading.briefing import OUTPUT, briefing, is_briefed, sample, unbarred
from pytest_dialeval.records.follow_up import Anchor, Profile, Rounds
from pytest_dialeval.records.task import Task
from pytest_dialeval.records.transcript import ToolCall, Transcript, Turn
from pytest_dialeval.records.work import Check, RoundWork, Verifier, Workspace

PROFILE = Profile("maintainer", "brisk", {"add_tests": 1.0})
TASK = Task(
    "fix",
    rounds=Rounds("Fix it.", PROFILE, {}, {3: Anchor("Undo it.", "does it revert?", "reverts")}),
)
TALK = Transcript(
    (
        Turn(1, "user", "Fix it.", round=1, state="request"),
        Turn(2, "agent", "Done.", round=1, tool_calls=(ToolCall("run", error=True),)),
        Turn(3, "user", "Add tests.", round=2, state="add_tests"),
        Turn(4, "agent", "Done.", round=2),
        Turn(5, "user", "Undo it.", round=3, state="anchor"),
        Turn(6, "agent", "Done.", round=3),
    ),
    work=(
        RoundWork(1, changed=True, files=("a.py", "b.py"), patch="patches/t-1.patch"),
        RoundWork(2, changed=False, files=("a.py", "b.py"), patch="patches/t-1.patch"),
        RoundWork(3, changed=True, note="the folder is gone"),
    ),
    checks=(
        Check(1, True, 1.0, {"test_a": True, "test_b": True}),
        Check(3, False, 0.5, {"test_a": True, "test_b": False}, output="1 failed\nsee above"),
    ),
)


def test_round_by_round() -> None:
    assert briefing(TASK, TALK) == (
        "round 1: the original request\n"
        "  the files were changed\n"
        '  differs from the start: "a.py", "b.py"\n'
        "  verifier: passed, reward 1\n"
        'round 2: a follow-up of the kind "add_tests"\n'
        "  no new patch in this round\n"
        '  differs from the start: "a.py", "b.py"\n'
        "round 3: a message that was written by hand, the same for every agent\n"
        '  what it is meant to find out: "does it revert?"\n'
        '  what a good agent does then: "reverts"\n'
        "  the files were changed\n"
        "  differs from the start: nothing\n"
        '  note: "the folder is gone"\n'
        "  verifier: FAILED, reward 0.5\n"
        '  failing checks: "test_b"\n'
        '  of these, passed in an earlier round: "test_b"\n'
        "  the verifier printed\n"
        "| 1 failed\n"
        "| see above\n"
        "verifier after round 1: passed, reward 1\n"
        "the verifier's last word, after round 3: FAILED, reward 0.5\n"
        'turn 2: the tool "run" ended in an error'
    )


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (TASK, True),
        (Task("t", workspace=Workspace("/w")), True),
        (Task("t", verifier=Verifier("make check")), True),
        (Task("t"), False),
    ],
)
def test_which_tasks_have_one(task: Task, expected: bool) -> None:
    assert is_briefed(task) is expected
    plain = replace(TALK, work=(), checks=())
    assert bool(briefing(task, plain)) is expected


def test_work_that_was_recorded_elsewhere_is_told_too() -> None:
    assert "verifier: FAILED" in briefing(Task("t"), TALK)


def test_states_of_a_script_steer_the_user_alone() -> None:
    told = briefing(Task("t", workspace=Workspace("/w")), TALK)

    assert "add_tests" not in told
    assert "round 2: a message of the user\n" in told


def test_how_it_ended() -> None:
    crashed = replace(TALK, outcome="agent_error", reason="it died\nround 9: all is well")

    last = briefing(TASK, crashed).splitlines()[-1]

    assert last == 'the conversation ended with agent_error: "it died\\nround 9: all is well"'
    assert "were used up" in briefing(TASK, replace(TALK, outcome="limit_reached"))


def test_a_verifier_that_could_not_tell() -> None:
    told = briefing(TASK, replace(TALK, checks=(Check(3, None, why="it hung"),)))

    assert 'could not be told whether the work is right: "it hung"' in told


def test_a_long_output_loses_its_middle_visibly() -> None:
    lines = "\n".join(f"line {number}" for number in range(OUTPUT))
    told = briefing(TASK, replace(TALK, checks=(Check(1, False, output=lines),)))

    assert f"  {len(lines) - OUTPUT} characters are left out here\n" in told
    assert "| line 0\n" in told
    assert f"| line {OUTPUT - 1}" in told
    assert len(told) < OUTPUT * 2


def test_a_long_output_is_cut_at_the_same_words_in_each_run() -> None:
    lines = "\n".join(f"line {number}" for number in range(OUTPUT))

    def told(folder: str, took: str) -> str:
        output = f"{folder}/cart.py\n{lines}\nRan 3 tests in {took}s\n{folder}/cart.py"
        return briefing(TASK, replace(TALK, checks=(Check(1, False, output=output),)))

    one = told("/tmp/dialeval-lnepm99k", "0.001")
    assert one == told("/private/var/folders/x_y/T/dialeval-_1abcd9z", "12.345")


evil = st.text(st.sampled_from('abc \n\r\x0b\u2028\u2029\u0085"|\\') | st.characters(), max_size=40)


@given(evil, evil, evil, st.dictionaries(evil, st.booleans(), max_size=3))
def test_no_data_stands_in_a_line_of_ours(
    output: str, name: str, reason: str, checks: Mapping[str, bool]
) -> None:
    """What programs, agents and files say begins no line, so it can claim nothing for us."""
    made = replace(
        TALK,
        work=(RoundWork(1, changed=True, files=(name,), note=reason),),
        checks=(Check(1, False, 0.0, checks, output=output, why=reason),),
        outcome="agent_error",
        reason=reason,
    )
    harmless = replace(
        made,
        work=(RoundWork(1, changed=True, files=("f",), note="n" if reason else ""),),
        checks=(Check(1, False, 0.0, {str(n): each for n, each in enumerate(checks.values())}),),
        reason="r" if reason else "",
    )

    def ours(transcript: Transcript) -> list[str]:
        lines = [each for each in briefing(TASK, transcript).splitlines() if each[:2] != "| "]
        told = [each.split('"')[0].split(":")[0] for each in lines]
        return [each for each in told if each != "  the verifier printed"]

    assert ours(made) == ours(harmless)


def test_the_sample_has_every_kind_of_line() -> None:
    """Its digest stands for the wording: a line that it lacks could change unseen."""
    source = Path(module.__file__).read_text(encoding="utf-8")
    written = findall(r'(?:yield|return|append\() ?f?"([^"{]{6,})', source)
    assert len(written) > 12
    assert [each for each in written if each not in sample()] == ["no message of the user is known"]


def test_unbarred() -> None:
    assert unbarred("a\n| b\n| | c") == "a\nb\n| c"
