"""What the documentation shows is what happens; pages.py has the convention."""

from __future__ import annotations

import os
import pkgutil
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import pytest_dialeval

from .pages import PAGES, ROOT, Block, Command, blocks, difference

# pytester forgets every module that a run imported; numpy and pydantic don't survive that twice.
for _module in pkgutil.walk_packages(pytest_dialeval.__path__, "pytest_dialeval."):
    import_module(_module.name)
for _name in ("numpy", "numpy.random", "scipy.special", "tabulate"):
    import_module(_name)

RUN = [
    # Workers of xdist take seconds to come up.
    pytest.param(
        each, marks=pytest.mark.slow if " -n 2" in each.read_text(encoding="utf-8") else ()
    )
    for each in PAGES
    if any(block.file for block in blocks(each))
]


class Shell:
    """A reader who does what a page says, in an empty folder."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.status = 0

    def follow(self, block: Block) -> None:
        if block.file:
            path = self.pytester.path / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.is_console:
            for command in block.commands():
                self.check(command)

    def check(self, command: Command) -> None:
        output = self.run(command.text)
        wrong = difference(command.output, output)
        if wrong:
            shown = "\n".join(output)
            text = f"line {command.line}: $ {command.text}\n{wrong}\n--- output:\n{shown}"
            pytest.fail(text, pytrace=False)

    def run(self, text: str) -> list[str]:
        if text == "echo $?":
            return [str(self.status)]
        words = shlex.split(text, comments=True)
        if words[0] == "pytest" and "-n" not in words and not {"|", ">", "&&"} & {*words}:
            result = self.pytester.runpytest_inprocess(*words[1:])
            self.status = int(result.ret)
            return [*result.outlines, *result.errlines]
        found = subprocess.run(
            ["sh", "-c", text],
            cwd=self.pytester.path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            env=environment(text),
        )
        self.status = found.returncode
        return found.stdout.decode("utf-8").splitlines()


def environment(command: str) -> dict[str, str]:
    """Of a command in a shell."""
    plugins = "-p dialeval -p xdist" if " -n " in command else "-p dialeval"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTEST_ADDOPTS": plugins}


@pytest.fixture
def shell(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Shell:
    for name in list(os.environ):
        if name.startswith("DIALEVAL_") or name in ("CI", "BUILD_NUMBER", "FORCE_COLOR"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p dialeval")
    return Shell(pytester)


@pytest.mark.parametrize("page", RUN, ids=lambda each: each.relative_to(ROOT).as_posix())
def test_what_the_page_shows_happens(page: Path, shell: Shell) -> None:
    for block in blocks(page):
        shell.follow(block)
