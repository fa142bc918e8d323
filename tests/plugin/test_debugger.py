"""--pdb by hand: pytest on a terminal of its own, where a hard failure opens the debugger."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time

import pytest

from .conftest import Shop, persona, rubric

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")

AGENT = """
import asyncio

async def answer(message):
    with open("calls", "a", encoding="utf-8") as file:
        file.write("x")
    await asyncio.sleep(0.005)
    return "What?"
"""
LINES = [f"line {each}" for each in range(8)]
TALKERS = 30
ALL = 1 + TALKERS * len(LINES)
PATIENCE = 60  # seconds, for a machine under load


class Terminal:
    """A pytest that believes that somebody types."""

    def __init__(self, shop: Shop, *arguments: str) -> None:
        self.calls_file = shop.path / "calls"
        self.screen = ""
        self._keyboard, theirs = pty.openpty()
        plain = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "TERM": "dumb", "PYTHONSTARTUP": ""}
        self._child = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-p", "dialeval", *arguments],
            cwd=shop.path,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, **plain},
            start_new_session=True,
        )
        os.close(theirs)

    def type(self, line: str) -> None:
        self.screen = ""
        os.write(self._keyboard, f"{line}\n".encode())

    def wait_for(self, text: str) -> None:
        """Read until it stands on the screen."""
        end = time.monotonic() + PATIENCE
        while text not in self.screen:
            assert time.monotonic() < end and self._read(0.1), self.screen

    def ended(self) -> int:
        """Read to the end; the exit status."""
        while self._read(PATIENCE):
            pass
        os.close(self._keyboard)
        return self._child.wait(timeout=PATIENCE)

    def kill(self) -> None:
        if self._child.poll() is None:
            self._child.kill()
            self._child.wait()

    def _read(self, seconds: float) -> bool:
        """Whether more may come."""
        if select.select([self._keyboard], [], [], seconds)[0]:
            try:
                read = os.read(self._keyboard, 65536)
            except OSError:  # Linux's word for the end
                return False
            self.screen += read.decode("utf-8", "replace")
            return bool(read)
        return seconds < PATIENCE

    @property
    def calls(self) -> int:
        return self.calls_file.stat().st_size

    def settled_calls(self) -> int:
        """The number of calls once it stands still for half a second: a hundred calls' time."""
        before, end = -1, time.monotonic() + PATIENCE
        while before != self.calls:
            assert time.monotonic() < end
            before = self.calls
            select.select([], [], [], 0.5)
        return before


@pytest.fixture
def at_the_prompt(shop: Shop):  # type: ignore[no-untyped-def]
    """Item one failed hard; 30 long conversations follow, one after the other."""
    agents = {"py": {"use": "python:agent.py:answer"}}
    shop.write("agent.py", AGENT)
    never, what = rubric("never", "never said"), rubric("what", "What")
    shop.suite("a", agents=agents, personas=[persona("first", "Hi")], rubrics=[never])
    shop.suite(
        "z",
        agents=agents,
        personas=[persona("talker", *LINES)],
        task={"id": "talk", "max_rounds": 9},
        rubrics=[what],
        trials=TALKERS,
    )
    terminal = Terminal(shop, "--pdb", "--dialeval-concurrency=1")
    terminal.wait_for("(Pdb)")
    yield terminal
    terminal.kill()


# `n` ends a post-mortem without a word to any plugin.
@pytest.mark.parametrize("go_on", ["c", "n"])
def test_row_10_spending_pauses_at_the_prompt_and_goes_on(
    shop: Shop, at_the_prompt: Terminal, go_on: str
) -> None:
    terminal = at_the_prompt
    assert "no searched turn says 'never said'" in terminal.screen
    spent = terminal.settled_calls()
    assert spent < ALL, "nothing was paused: every conversation was held behind the prompt"
    terminal.type("p 6 * 7")
    terminal.wait_for("42")
    assert terminal.calls == spent
    terminal.type(go_on)
    assert terminal.ended() == 1
    assert f"1 failed, {TALKERS} passed" in terminal.screen
    assert terminal.calls == ALL
    assert shop.summary["outcomes"]["completed"] == 1 + TALKERS


def test_quitting_the_debugger_is_2_and_holds_nothing_more(
    shop: Shop, at_the_prompt: Terminal
) -> None:
    spent = at_the_prompt.settled_calls()
    at_the_prompt.type("q")
    assert at_the_prompt.ended() == 2
    assert at_the_prompt.calls == spent
    assert shop.summary["exit_status"] == 2
