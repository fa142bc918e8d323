"""An agent that is a program: one a conversation, JSON lines on its stdin and stdout."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from os.path import isfile
from pathlib import Path

from pytest_dialeval.conversation.agent import Brief, Reply
from pytest_dialeval.conversation.answer import reply_from
from pytest_dialeval.conversation.fault import shortened
from pytest_dialeval.conversation.program import Program
from pytest_dialeval.errors import AgentFault, HarnessFault
from pytest_dialeval.programs import environ
from pytest_dialeval.programs.run_to_end import NOT_STARTED
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import Turn
from pytest_dialeval.workspaces.environment import agents_environment

FAREWELL = 2.0  # seconds that a program has to end by itself after `close`
_SHOWN = 200


class CommandAgent:
    """Tells the program what was said, and hears one line for each turn."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._command = command
        self._folder = folder
        self._program: Program | None = None
        self._answered = False
        self._patience = 0.0  # what a program that did wrong has to end by itself

    async def start(self, brief: Brief) -> None:
        """Start the program and tell it what it is for; it does not answer that."""
        # Python keeps back what it prints to a pipe, and would seem to be late.
        environment = agents_environment(
            {"PYTHONUNBUFFERED": "1", **environ.environment()}, brief.workspace
        )
        command, folder, told = self._command, self._folder, asdict(brief)
        if brief.workspace is None:
            del told["workspace"]
        else:
            command, folder = self._from_afar(), Path(brief.workspace)
        try:
            self._program = await Program.begin(command, folder, environment)
        except (OSError, ValueError) as error:
            text = f"{' '.join(command)!r} cannot be started in {str(folder)!r}: {error}"
            raise HarnessFault(text) from None
        await self._tell(self._program, {"type": "start", **told})

    def _from_afar(self) -> list[str]:
        """The command as it is found from another folder: words that name our files in full."""
        paths = [(each, self._folder / each) for each in self._command]
        return [str(path) if isfile(path) else word for word, path in paths]

    async def reply(self, turns: tuple[Turn, ...]) -> Reply:
        """Its answer to the last turn."""
        program = self._program
        assert program is not None, "start comes first"
        self._patience = 0.0
        if program.output.unread is not None:
            line = _text(program.output.unread)
            raise AgentFault(f"the program printed a line that no turn asked for: {line}")
        await self._tell(program, {"type": "turn", "text": turns[-1].text if turns else None})
        reply = reply_from(_parsed(await self._heard(program)))
        self._answered, self._patience = True, FAREWELL
        return reply

    async def close(self) -> None:
        """Let it end, or end it."""
        if self._program is None:
            return
        if self._patience:
            await self._tell(self._program, {"type": "close"})
        await self._program.stop(self._patience)

    async def _tell(self, program: Program, message: Mapping[str, object]) -> None:
        try:
            await program.send(json.dumps(message, default=str).encode())
        except asyncio.CancelledError:
            await program.stop(0)
            raise

    async def _heard(self, program: Program) -> bytes:
        try:
            return await program.output.line()
        except EOFError:
            raise await self._ended(program) from None
        except asyncio.CancelledError:  # late, or the run is being stopped
            await program.stop(0)
            raise

    async def _ended(self, program: Program) -> HarnessFault | AgentFault:
        words = await program.last_words()
        if program.exit_code in NOT_STARTED and not self._answered:
            return HarnessFault(f"the program cannot be started: it {words}")
        return AgentFault(f"the program {words}")


def _parsed(line: bytes) -> object:
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        raise AgentFault(f"the program printed what is no JSON: {_text(line)}") from None
    if not isinstance(answer, dict):
        text = f"the program printed {_text(line)}; an answer is an object such as"
        raise AgentFault(f'{text} {{"text": "Hello"}}')
    return answer


def _text(line: bytes) -> str:
    return repr(shortened(clean(line.decode("utf-8", "replace")), _SHOWN))
