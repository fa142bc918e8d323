"""The progress line: said while somebody waits, gone before anything else is printed."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.plugin.progress import EVERY, FIRST, Progress, Standing, sentence

from .conftest import Shop, persona

NOW = Standing(12, 16, 12, {"judge": 2, "agent": 9}, throttled=3, cost=1.234, seconds=60.0)


# ---- the sentence


def test_all_that_it_says() -> None:
    assert sentence(NOW) == (
        "12 of 40 conversations held, 16 running; in flight: agent 9, judge 2; 3 x 429; $1.23; "
        "about 2 min left"
    )


def test_what_is_not_known_is_left_out() -> None:
    bare = replace(NOW, in_flight={}, throttled=0, cost=None)
    assert sentence(bare) == "12 of 40 conversations held, 16 running; about 2 min left"
    assert sentence(replace(bare, held=0)) == "0 of 28 conversations held, 16 running"
    assert sentence(replace(bare, running=0, waiting=0)) == "12 of 12 conversations held, 0 running"
    assert sentence(replace(bare, cost=0.0, seconds=3.0)).endswith("about 7 s left")


@given(st.integers(0, 160))
def test_parts_go_where_there_is_no_room(room: int) -> None:
    whole, short = sentence(NOW), sentence(NOW, room)
    assert len(short) <= room
    assert whole.startswith(short)
    parts = whole.split("; ")
    assert short in ["; ".join(parts[:count]) for count in range(len(parts) + 1)]
    if room >= len(whole):
        assert short == whole


# ---- when and where


@dataclass
class Terminal:
    """Of pytest's terminal writer what progress uses."""

    _file: StringIO = field(default_factory=StringIO)
    fullwidth: int = 80
    width_of_current_line: int = 20

    def flush(self) -> None: ...


@dataclass
class Reporter:
    """Of pytest's terminal reporter what progress uses."""

    isatty: bool = True
    currentfspath: Any = "shop.dialeval.yaml"
    _tw: Any = field(default_factory=Terminal)

    def ensure_newline(self) -> None:
        self._tw._file.write("\n")

    def write_line(self, line: str) -> None:
        self._tw._file.write(f"{line}\n")

    @property
    def text(self) -> str:
        found: str = self._tw._file.getvalue()
        return found


class Watch:
    """A clock and a progress that reads it."""

    def __init__(self, *, in_place: bool, **terminal: int) -> None:
        self.now = 100.0
        self.captured = 0
        self.reporter = Reporter(_tw=Terminal(**terminal))
        self.progress = Progress(
            self.reporter,
            lambda: NOW,
            in_place=in_place,
            uncaptured=self.uncaptured,
            clock=lambda: self.now,
        )

    def uncaptured(self) -> AbstractContextManager[None]:
        @contextmanager
        def counted() -> Iterator[None]:
            self.captured += 1
            yield

        return counted()

    def after(self, seconds: float) -> str:
        """What a tick adds after so many more seconds."""
        before = len(self.reporter.text)
        self.now += seconds
        self.progress.tick()
        return self.reporter.text[before:]


def test_in_place_it_leaves_the_cursor_where_it_was() -> None:
    watch = Watch(in_place=True)
    assert watch.after(FIRST / 2) == ""
    shown = watch.after(FIRST)
    found = re.fullmatch(r"\x1b\[K (.*)\x1b\[(\d+)D", shown)
    assert found is not None
    assert found[1] == sentence(NOW, 80 - 20 - 3)
    assert int(found[2]) == len(found[1]) + 1
    assert watch.captured == 1  # whose output pytest captures


def test_it_is_erased_before_a_report_once() -> None:
    watch = Watch(in_place=True)
    watch.after(2 * FIRST)
    before = watch.reporter.text
    watch.progress.pytest_runtest_logreport()
    assert watch.reporter.text == f"{before}\x1b[K"
    watch.progress.pytest_runtest_logreport()
    watch.progress.pytest_keyboard_interrupt()
    assert watch.reporter.text == f"{before}\x1b[K"
    assert watch.after(0.1) != ""
    watch.progress.pytest_keyboard_interrupt()
    assert watch.reporter.text.endswith("\x1b[K")


def test_where_the_line_is_nearly_full_nothing_is_written() -> None:
    watch = Watch(in_place=True, width_of_current_line=60)
    assert watch.after(10) == ""
    watch.progress.clear()
    assert watch.reporter.text == ""


def test_elsewhere_a_line_every_half_minute() -> None:
    watch = Watch(in_place=False)
    assert watch.after(EVERY - 1) == ""
    assert watch.after(1) == f"\ndialeval: {sentence(NOW)}\n"
    assert watch.reporter.currentfspath is None
    assert watch.after(EVERY - 1) == ""
    assert watch.after(EVERY) != ""
    watch.progress.clear()
    assert "\x1b" not in watch.reporter.text


# ---- in a session

SLOW = """
import asyncio

class Clerk:
    async def reply(self, message):
        await asyncio.sleep({seconds})
        return "Hello!"
"""


def slow(shop: Shop, seconds: float, **sections: Any) -> None:
    shop.write("agent.py", SLOW.format(seconds=seconds))
    own = {"own": {"use": "python:agent.py:Clerk"}}
    shop.suite(agents=own, personas=[persona("one", "Hi")], **sections)


def hurried(shop: Shop, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[str]:
    """Lines of progress in a run without a terminal, where half a minute is over at once."""
    monkeypatch.setattr("pytest_dialeval.plugin.progress.EVERY", 0.1)
    return [each for each in shop.run(*arguments).outlines if each.startswith("dialeval: ")]


def test_plain_lines_while_an_item_waits(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    slow(shop, 0.7, trials=3)
    lines = hurried(shop, monkeypatch)
    assert lines
    assert all(re.match(r"dialeval: \d of 3 conversations held, \d running", e) for e in lines)


def test_nothing_where_nobody_waits(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.suite(trials=3)
    assert hurried(shop, monkeypatch) == []


@pytest.mark.parametrize("options", [("-qq",), ("-p", "no:terminal")])
def test_nothing_where_nothing_is_to_be_said(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    slow(shop, 0.7)
    assert hurried(shop, monkeypatch, *options) == []


def at_terminal(shop: Shop, *arguments: str, **environment: str) -> str:
    """All that a run writes to a terminal of 100 columns."""
    main, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "dialeval", *arguments],
        cwd=shop.path,
        stdin=end,
        stdout=end,
        stderr=end,
        env={
            **{name: each for name, each in os.environ.items() if name != "CI"},
            "PYTHONPATH": os.pathsep.join(sys.path),
            "TERM": "xterm",
            "COLUMNS": "100",
            **environment,
        },
    )
    os.close(end)
    output, ends = b"", time.monotonic() + 60
    try:
        while time.monotonic() < ends:
            if main in select.select([main], [], [], 0.1)[0]:
                try:
                    output += os.read(main, 65536)
                except OSError:  # the other end is closed
                    break
            elif process.poll() is not None:
                break
    finally:
        process.kill()
        process.wait()
        os.close(main)
    return output.decode()


def screen(text: str) -> list[str]:
    """The lines that stay on a terminal; of the sequences those that we write."""
    lines: list[list[str]] = [[]]
    column = 0
    for found in re.finditer(r"\x1b\[(\d*)([A-Za-z])|\r|\n|[^\x1b]", text):
        number, letter, each = found[1], found[2], found[0]
        if each == "\n":
            lines.append([])
            column = 0
        elif each == "\r":
            column = 0
        elif letter == "D":
            column -= int(number)
        elif letter == "K":
            del lines[-1][column:]
        elif letter is None:
            lines[-1][column : column + 1] = [each]
            column += 1
    return ["".join(each).rstrip() for each in lines]


@pytest.mark.slow
def test_on_a_terminal_nothing_of_it_stays(shop: Shop) -> None:
    slow(shop, 2.0, trials=2)
    text = at_terminal(shop, "--dialeval-concurrency=1")
    assert "0 of 2 conversations held, 1 running" in text
    assert "1 of 2 conversations held, 1 running" in text
    shown = screen(text)
    assert not [each for each in shown if "conversations held" in each]
    [line] = [each for each in shown if each.startswith("shop.dialeval.yaml ")]
    assert re.fullmatch(r"shop\.dialeval\.yaml \.\. +\[100%\]", line)


@pytest.mark.slow
@pytest.mark.parametrize("environment", [{"CI": "true"}, {"TERM": "dumb"}])
def test_nothing_is_written_over_where_that_cannot_be(
    shop: Shop, environment: dict[str, str]
) -> None:
    slow(shop, 1.5)
    text = at_terminal(shop, **environment)
    assert "conversations held" not in text  # a plain line comes after 30 s
    assert "1 passed" in text
