"""An agent that answers from a script; what it says is drawn by the conversation's seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_dialeval.conversation.acting import Acting
from pytest_dialeval.conversation.agent import AgentFactory, Brief, Reply
from pytest_dialeval.conversation.hearing import holds
from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.matching.compiling import Check, compile_spec
from pytest_dialeval.matching.matcher import Matcher
from pytest_dialeval.matching.view import View
from pytest_dialeval.planning.draw import Draw
from pytest_dialeval.records.transcript import ToolCall, Turn
from pytest_dialeval.suites.agent_script import START, AgentScript, ScriptedReply


def scripted(script: AgentScript, matchers: Mapping[str, Matcher]) -> AgentFactory:
    """Agents that play the script; SpecError where one of its matchers is wrong."""
    checks = [
        None if each.when is None else compile_spec(each.when, matchers) for each in script.replies
    ]
    return lambda: ScriptedAgent(script, checks)


class ScriptedAgent:
    """Plays a script: the first reply whose `when` and `state` hold, else `otherwise`."""

    def __init__(self, script: AgentScript, checks: Sequence[Check | None]) -> None:
        self._script = script
        self._file = Path(script.path).name  # a run holds no path of this machine
        self._checks = checks
        self._state = START
        self._used: Counter[str] = Counter()
        self._acting: Acting | None = None  # None: there is no folder

    async def start(self, brief: Brief) -> None:
        """Learn the seed and the language."""
        self._view = View((), None, brief.language, brief.variables, brief.prompt)
        if brief.workspace is not None:
            # The agent's own deadline comes first, and ends the command too.
            seconds = 2 * brief.turn_timeout
            self._acting = Acting(self._file, Path(brief.workspace), seconds)
        self._draw = Draw(brief.seed, brief.task, persona="", trial=0)

    async def reply(self, turns: tuple[Turn, ...]) -> Reply:
        """Answer the user's last words, or open."""
        if not turns:
            return Reply(self._drawn(self._script.opening, "opening"))
        view = replace(self._view, turns=turns[-1:])
        for place, each in enumerate(self._script.replies):
            if self._fits(place, each, view):
                acts = await self._done(each)
                return self._said(place, each, acts)
        return Reply(self._drawn(self._script.otherwise, "otherwise"))

    async def close(self) -> None:
        """Nothing is held."""

    def _fits(self, place: int, reply: ScriptedReply, view: View) -> bool:
        if reply.state is not None and reply.state != self._state:
            return False
        check = self._checks[place]
        return check is None or holds(check, view)

    async def _done(self, reply: ScriptedReply) -> tuple[ToolCall, ...]:
        if not reply.acts:
            return ()
        if self._acting is None:
            where = f"{self._file}:{reply.line}"
            raise HarnessFault(f"{where}: write, delete and run need task.workspace")
        return await self._acting.done(reply)

    def _said(self, place: int, reply: ScriptedReply, acts: tuple[ToolCall, ...]) -> Reply:
        self._state = reply.to or self._state
        text = self._drawn(reply.say, f"reply {place}") if reply.say else ""
        return Reply(text, tool_calls=reply.tools + acts, hang_up=reply.hang_up)

    def _drawn(self, lines: Sequence[str], purpose: str) -> str:
        if not lines:
            raise HarnessFault(f"{self._file}: the script needs lines for {purpose!r}")
        used = self._used[purpose]
        self._used[purpose] += 1
        return self._draw.choice(lines, purpose, used)
