"""What a scripted agent does in the folder of its task: delete, write, run."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.programs import environ
from pytest_dialeval.programs.off_loop import off_loop
from pytest_dialeval.programs.run_to_end import Ended, run_to_end
from pytest_dialeval.records.transcript import ToolCall
from pytest_dialeval.suites.agent_script import ScriptedReply
from pytest_dialeval.workspaces.copying import remove
from pytest_dialeval.workspaces.environment import plain_environment

SHELL = "shell"  # the tool that its command is a call of


@dataclass(frozen=True, slots=True)
class Acting:
    """In one folder, as a script says; a command has so many seconds."""

    script: str  # the name of its file
    folder: Path
    seconds: float

    async def done(self, reply: ScriptedReply) -> tuple[ToolCall, ...]:
        """Do all that the reply says; HarnessFault where the folder does not allow it."""
        try:
            for each in reply.delete:
                self._delete(each)
            for path, text in reply.write.items():
                self._write(path, text)
            return (await self._run(reply.run),) if reply.run else ()
        except (OSError, _LeadsOut) as error:
            text = f"{self.script}:{reply.line}: this reply can't be played: {error}"
            raise HarnessFault(text) from None

    def _delete(self, path: str) -> None:
        place = self._inside(path)
        if place.is_dir() and not place.is_symlink():
            remove(place)
        else:
            place.unlink()

    def _write(self, path: str, text: str) -> None:
        place = self._inside(path).resolve()  # what a link leads to is what is written
        if not place.is_relative_to(self.folder):
            raise _LeadsOut(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def _inside(self, path: str) -> Path:
        place = self.folder / path
        if not place.parent.resolve().is_relative_to(self.folder) and place != self.folder:
            raise _LeadsOut(path)
        return place

    async def _run(self, words: tuple[str, ...]) -> ToolCall:
        environment = plain_environment(environ.environment(), self.folder.parent)
        ended = await off_loop(
            lambda stop: run_to_end(
                words, self.folder, environment, seconds=self.seconds, stop=stop
            ),
            "a scripted agent's command",
        )
        arguments = {"command": shlex.join(words)}
        return ToolCall(SHELL, arguments, result=_told(ended), error=ended.status != 0)


class _LeadsOut(Exception):
    def __str__(self) -> str:
        return f"{self.args[0]!r} leads out of the task's folder through a link"


def _told(ended: Ended) -> str:
    if ended.status == 0:
        return ended.output
    how = "its time was over" if ended.status is None else f"exit status {ended.status}"
    return f"{ended.output.rstrip()}\n[{how}]".lstrip()
