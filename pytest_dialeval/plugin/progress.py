"""How far the conversations are, said while an item waits for one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest

from pytest_dialeval.records.monotonic import monotonic
from pytest_dialeval.records.wording import plural

FIRST = 1.0  # seconds of the run before anything is said: short waits are no news
EVERY = 30.0  # seconds between lines where nothing can be written over
_ERASE = "\x1b[K"  # to the end of the line


@dataclass(frozen=True, slots=True)
class Standing:
    """Conversations and calls at one moment; `cost` is None where a price is unknown."""

    held: int
    running: int
    waiting: int
    in_flight: Mapping[str, int] = field(default_factory=dict)
    throttled: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    matches: int | None = None  # decided so far, once they are being made


def sentence(now: Standing, room: int | None = None) -> str:
    """`12 of 40 conversations held, 16 running; in flight: agent 9, judge 2; ...`.

    `room`: columns; what does not fit is left out, part by part.
    """
    text = ""
    for each in _parts(now):
        longer = f"{text}; {each}" if text else each
        if room is not None and len(longer) > room:
            break
        text = longer
    return text


def _parts(now: Standing) -> Iterator[str]:
    whole = now.held + now.running + now.waiting
    if now.matches is None:
        yield f"{now.held} of {whole} conversations held, {now.running} running"
    else:
        yield f"{plural(now.matches, 'match', 'matches')} decided"
    if now.in_flight:
        yield "in flight: " + ", ".join(f"{role} {n}" for role, n in sorted(now.in_flight.items()))
    if now.throttled:
        yield f"{now.throttled} x 429"
    if now.cost:
        yield f"${now.cost:.2f}"
    if now.held and (left := whole - now.held):
        yield f"about {_span(now.seconds * left / now.held)} left"


def new_progress(config: pytest.Config, standing: Callable[[], Standing]) -> Progress | None:
    """Where there is a terminal's plugin that says more than dots."""
    plugins = config.pluginmanager
    reporter = plugins.get_plugin("terminalreporter")
    if reporter is None or reporter.verbosity < -1:
        return None
    in_place = reporter.isatty and "CI" not in os.environ and os.environ.get("TERM") != "dumb"
    capture = plugins.get_plugin("capturemanager")
    uncaptured = capture.global_and_fixture_disabled if capture else nullcontext
    progress = Progress(reporter, standing, in_place=in_place, uncaptured=uncaptured)
    plugins.register(progress, "dialeval-progress")
    return progress


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class Reporter(Protocol):
    """The part of pytest's terminal reporter that is used."""

    isatty: bool
    currentfspath: Any
    _tw: Any

    def ensure_newline(self) -> None: ...
    def write_line(self, line: str) -> None: ...


class Progress:
    """Writes over the rest of the line on a terminal, a line now and then elsewhere."""

    def __init__(
        self,
        reporter: Reporter,
        standing: Callable[[], Standing],
        *,
        in_place: bool,
        uncaptured: Callable[[], AbstractContextManager[None]] = nullcontext,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._reporter = reporter
        self._standing = standing
        self._in_place = in_place
        self._uncaptured = uncaptured
        self._clock = clock
        self._began = self._last = clock()
        self._shown = False

    def tick(self) -> None:
        """Called a few times a second while an item waits, whose output pytest captures."""
        now = self._clock()
        if self._in_place:
            if now - self._began >= FIRST:
                self._write_over()
        elif now - self._last >= EVERY:
            self._last = now
            self._write_line(f"dialeval: {sentence(self._standing())}")

    def clear(self) -> None:
        """Nothing of it stays where pytest writes next."""
        if self._shown:
            self._shown = False
            self._raw(_ERASE)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self) -> None:
        self.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        self.clear()

    def _write_line(self, text: str) -> None:
        with self._uncaptured():
            self._reporter.ensure_newline()
            self._reporter.write_line(text)
        self._reporter.currentfspath = None  # so that pytest names the file again

    def _write_over(self) -> None:
        terminal = self._reporter._tw
        # The last column stays free: some terminals begin a new line when it is filled.
        room = terminal.fullwidth - terminal.width_of_current_line - 3
        text = sentence(self._standing(), room)
        if text:
            self._raw(f"{_ERASE} {text}\x1b[{len(text) + 1}D")
            self._shown = True

    def _raw(self, text: str) -> None:
        # Past the writer's own counting of columns: the cursor stays where pytest left it.
        with self._uncaptured():
            self._reporter._tw._file.write(text)
            self._reporter._tw.flush()
