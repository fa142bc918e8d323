"""The one door to git.

Nothing of the user's, the machine's or the folder's own settings is read, and no hook, filter or
program that they name is ever run: the repository is ours and lies outside the folder, and git
gets an environment of our own.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.programs.run_to_end import Ended, run_to_end
from pytest_dialeval.suites.folder import LEFT_OUT

DEADLINE = 120.0  # seconds for one call
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.excludesFile": os.devnull,
    "core.attributesFile": os.devnull,
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.fileMode": "true",
    "core.symlinks": "true",
    "core.ignoreCase": "false",
    "core.precomposeUnicode": "false",
    "core.protectHFS": "false",
    "core.protectNTFS": "false",
    "core.looseCompression": "1",
    "gc.auto": "0",
}
# They stand above every .gitattributes of the folder: bytes stay as they are.
_ATTRIBUTES = "* -text !eol -ident -filter !working-tree-encoding !diff !whitespace\n"


def need_git() -> str:
    """The program; HarnessFault where there is none."""
    found = shutil.which("git")
    if found is None:
        raise HarnessFault(
            "task.workspace needs the program git, to tell what an agent changed, and there is "
            "none on PATH: install git"
        )
    return found


class Git:
    """A repository of ours; each call names the folder that it is about."""

    def __init__(self, folder: Path, stop: threading.Event) -> None:
        """`folder` holds the repository and what git needs for a moment; it is there already."""
        self._program = need_git()
        self.folder = folder
        self._repository = folder / "repository"
        self.stop = stop

    def begin(self, tree: Path) -> None:
        """Make the repository."""
        self(tree, "init", "--quiet", "--template=")
        about = self._repository / "info"
        about.mkdir(exist_ok=True)
        (about / "attributes").write_text(_ATTRIBUTES)
        (about / "exclude").write_text("".join(f"{each}/\n" for each in sorted(LEFT_OUT)))

    def __call__(
        self, tree: Path, *words: str, told: bytes = b"", fine: Sequence[int] = (0,)
    ) -> bytes:
        """What it answers; HarnessFault where it fails."""
        with tempfile.TemporaryFile(dir=self.folder) as answer:
            self._run(tree, words, told, fine, answer)
            answer.seek(0)
            return answer.read()

    def into(self, path: Path, tree: Path, *words: str) -> None:
        """The answer in a file: it may be long."""
        with path.open("wb") as answer:
            self._run(tree, words, b"", (0,), answer)

    def _run(
        self,
        tree: Path,
        words: tuple[str, ...],
        told: bytes,
        fine: Sequence[int],
        answer: IO[bytes],
    ) -> None:
        try:
            ended = self._ended(tree, words, told, answer)
        except OSError as error:
            raise HarnessFault(f"git {words[0]} can't be run: {error}") from None
        if ended.status is None or ended.status not in fine:
            late = f"had not ended after {DEADLINE:g} s"
            how = late if ended.status is None else f"failed: {ended.output.strip()[:500]}"
            raise HarnessFault(f"git {words[0]} {how}")

    def _ended(self, tree: Path, words: tuple[str, ...], told: bytes, answer: IO[bytes]) -> Ended:
        settings = [word for item in _SETTINGS.items() for word in ("-c", "=".join(item))]
        where = [f"--git-dir={self._repository}", f"--work-tree={tree}"]
        with tempfile.TemporaryFile(dir=self.folder) as question:
            question.write(told)
            question.seek(0)
            return run_to_end(
                [self._program, *where, *settings, *words],
                tree,  # `git apply` works where it is called
                self._environment(),
                seconds=DEADLINE,
                stop=self.stop,
                stdin=question,
                stdout=answer,
                trusted=True,
            )

    def _environment(self) -> dict[str, str]:
        """None of the user's: GIT_* variables would speak of another repository."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
        }
