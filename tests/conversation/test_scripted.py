from __future__ import annotations

import asyncio
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_dialeval.conversation.converse import converse
from pytest_dialeval.conversation.scripted import scripted
from pytest_dialeval.errors import SpecError
from pytest_dialeval.matching.matcher import matcher_from_function
from pytest_dialeval.records.suite import Limits
from pytest_dialeval.records.task import MatcherSpec, State, Transition
from pytest_dialeval.records.transcript import ToolCall, Transcript
from pytest_dialeval.suites.agent_script import AgentScript, ScriptedReply
from tests.conversation.stage import MATCHERS, Folder, draw, held, persona, said, task


def heard(*words: str) -> MatcherSpec:
    return MatcherSpec("keyword", {"any": list(words), "by": "user"})


def asks(*lines: str) -> Any:
    """A user who says these lines in this order."""
    states = [
        State(f"s{place}", (line,), next=(Transition(f"s{place + 1}"),))
        for place, line in enumerate(lines)
    ]
    states[-1] = State(states[-1].id, states[-1].say, end=True)
    return persona(*states, start="s0")


def talk(script: AgentScript, *lines: str, **keys: Any) -> Transcript:
    return held(scripted(script, MATCHERS), asks(*lines), adapted=True, **keys)


def test_the_first_reply_whose_matcher_holds_answers():
    script = AgentScript(
        replies=(
            ScriptedReply(("It is free.",), when=heard("fee", "cost")),
            ScriptedReply(("Bye.",), when=heard("bye")),
            ScriptedReply(("Fee again?",), when=heard("fee")),
        ),
        otherwise=("I see.",),
    )
    transcript = talk(script, "what is the fee", "hm", "bye")
    assert said(transcript, "agent") == ["It is free.", "I see.", "Bye."]


def test_states():
    script = AgentScript(
        replies=(
            ScriptedReply(("Your name?",), state="start", to="named"),
            ScriptedReply(("Thank you.",), state="named", to="over"),
            ScriptedReply(("Anything else?",)),
        )
    )
    assert said(talk(script, "a", "b", "c", "d"), "agent") == [
        "Your name?",
        "Thank you.",
        "Anything else?",
        "Anything else?",
    ]


def test_only_the_last_turn_of_the_user_is_matched():
    script = AgentScript((ScriptedReply(("fee!",), when=heard("fee")),), otherwise=("no",))
    assert said(talk(script, "fee", "other"), "agent") == ["fee!", "no"]


def test_hanging_up_with_and_without_words_and_tools():
    call = ToolCall("close_ticket", {"id": 3}, result="done")
    for say in (("Goodbye.",), ()):
        script = AgentScript((ScriptedReply(say, hang_up=True, tools=(call,)),))
        transcript = talk(script, "a", "b")
        assert (transcript.outcome, transcript.ended_by) == ("completed", "agent")
        assert said(transcript, "agent") == [*say] or [""]
        assert transcript.turns[1].tool_calls == (call,)
        assert len(transcript.turns) == 2


def test_opening():
    script = AgentScript(opening=("Good day.",), otherwise=("yes",))
    assert said(talk(script, "a", opening="agent"), "agent") == ["Good day.", "yes"]
    transcript = talk(AgentScript(otherwise=("yes",)), "a", opening="agent")
    assert transcript.outcome == "harness_error" and "'opening'" in transcript.reason


def test_variants_are_drawn_by_seed():
    script = AgentScript(otherwise=tuple(f"variant {n}" for n in range(50)))
    once = said(talk(script, "a", "b", "c"), "agent")
    assert once == said(talk(script, "a", "b", "c"), "agent")
    assert len(set(once)) > 1
    assert once != said(talk(script, "a", "b", "c", seed="other"), "agent")


def test_words_are_said_as_written():
    script = AgentScript(otherwise=("{name} {{x}} %s",))
    assert said(talk(script, "a"), "agent") == ["{name} {{x}} %s"]


def test_a_wrong_matcher_is_found_before_anybody_talks():
    with pytest.raises(SpecError, match="keyword"):
        scripted(AgentScript((ScriptedReply(("x",), when=MatcherSpec("keyword")),)), MATCHERS)


def test_a_matcher_that_raises_is_not_the_agents_fault():
    def broken(view: Any) -> bool:
        raise KeyError("table")

    matchers = {**MATCHERS, "broken": matcher_from_function("broken", broken)}
    script = AgentScript((ScriptedReply(("x",), when=MatcherSpec("broken")),))
    transcript = held(scripted(script, matchers), asks("a"), adapted=True, matchers=matchers)
    assert transcript.outcome == "harness_error"
    assert transcript.reason == "matcher 'broken' raised KeyError: 'table'"


# ---- in a folder


def acts(at: Path, *replies: ScriptedReply, **keys: Any) -> Transcript:
    """A conversation in which the agent gives these replies, one after another."""
    chain = [
        replace(each, state="start" if place == 0 else f"s{place}", to=f"s{place + 1}")
        for place, each in enumerate(replies)
    ]
    script = AgentScript(replies=tuple(chain), otherwise=("done",))
    return asyncio.run(
        converse(
            task(),
            asks(*("go" for _ in replies)),
            scripted(script, MATCHERS),
            draw=draw(),
            matchers=MATCHERS,
            site=Folder(at / "work"),
            **keys,
        )
    )


def test_it_deletes_then_writes_then_runs(tmp_path: Path):
    first = ScriptedReply(("a",), write={"src/a.py": "print('你好')\n", "old/b": "x"})
    second = ScriptedReply(
        ("b",), delete=("old", "src/a.py"), write={"old": "now a file"}, run=("ls", "-R")
    )
    transcript = acts(tmp_path, first, second)
    assert (tmp_path / "work" / "old").read_text() == "now a file"
    [call] = transcript.turns[3].tool_calls
    assert (call.name, call.arguments, call.error) == ("shell", {"command": "ls -R"}, False)
    assert call.result is not None and "old" in call.result.split()


def test_what_a_command_says_is_the_calls_result(tmp_path: Path):
    python = ("python", "-c", "import sys; print('out'); sys.exit(3)")
    [call] = acts(tmp_path, ScriptedReply(run=python)).turns[1].tool_calls
    assert call.arguments == {"command": shlex.join(python)}
    assert (call.result, call.error) == ("out\n[exit status 3]", True)


def test_a_command_that_is_late_is_the_agents_fault(tmp_path: Path):
    late = ScriptedReply(run=("sleep", "600"))
    transcript = acts(tmp_path, late, limits=Limits(turn_timeout=0.3))
    assert transcript.outcome == "agent_error"
    assert transcript.reason == "no answer within 0.3 s (limits.turn_timeout)"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (ScriptedReply(delete=("nothing",), line=7), ":7: this reply can't be played: "),
        (ScriptedReply(run=("no-such-program",), line=7), "No such file or directory"),
        (ScriptedReply(write={"out/x": "y"}), "leads out of the task's folder through a link"),
        (ScriptedReply(delete=("out/x",)), "leads out of the task's folder through a link"),
        (ScriptedReply(write={"out": "y"}), "'out' leads out of the task's folder through a link"),
        (ScriptedReply(write={"far": "y"}), "leads out of the task's folder through a link"),
    ],
)
def test_what_the_folder_does_not_allow(tmp_path: Path, reply: ScriptedReply, why: str):
    (tmp_path / "kept").mkdir()
    kept = str(tmp_path / "kept" / "file")
    links = ("import os, sys; os.symlink(sys.argv[1], 'far'); os.symlink('..', 'out')", kept)
    transcript = acts(tmp_path, ScriptedReply(("a",), run=("python", "-c", *links)), reply)
    assert transcript.outcome == "harness_error" and why in transcript.reason
    assert not any((tmp_path / "kept").iterdir()) and not (tmp_path / "x").exists()


def test_acts_need_a_folder():
    script = AgentScript(replies=(ScriptedReply(write={"a": "b"}, line=3),), path="/home/x.yaml")
    transcript = talk(script, "go")
    assert transcript.reason == "x.yaml:3: write, delete and run need task.workspace"
