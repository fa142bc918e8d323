"""The verifier's commands, one after another in one folder, and what they say together."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_dialeval.errors import HarnessFault
from pytest_dialeval.programs import environ
from pytest_dialeval.programs.run_to_end import NOT_STARTED, Ended, run_to_end
from pytest_dialeval.records.work import Check, Verifier
from pytest_dialeval.workspaces.copying import take_away
from pytest_dialeval.workspaces.environment import plain_environment
from pytest_dialeval.workspaces.result import NoResult, Result, by_exit, by_file

_KILLED = -9
_SHOWN = 200  # characters of a line


@dataclass(frozen=True, slots=True)
class Commands:
    """Of one check: `tree` is laid out, `home` is an empty folder beside it."""

    verifier: Verifier
    round: int
    tree: Path
    home: Path
    stop: threading.Event
    clear: Callable[[str], str]  # takes secrets out of a text

    def check(self) -> Check:
        """Round 1's command and all of later requests up to this round; HarnessFault: none ran."""
        check = Check(self.round, True, exit_status=0)
        results: dict[int, Result] = {}
        for number, command in self._due().items():
            ended = self._ended(command)
            check = replace(
                check,
                exit_status=check.exit_status or ended.status,
                output=check.output + self._said(command, ended),
            )
            try:
                results[number] = self._result(ended)
            except NoResult as error:
                why = f"{self._name(number)} can't tell: {error}{_last_words(ended)}"
                return replace(check, passed=None, why=why)
        return replace(
            check,
            passed=all(each.passed for each in results.values()),
            reward=round(sum(each.reward for each in results.values()) / len(results), 12),
            checks=_names(results),
        )

    def _due(self) -> dict[int, str]:
        later = sorted(self.verifier.rounds.items())
        return {1: self.verifier.command, **{n: each for n, each in later if n <= self.round}}

    def _name(self, number: int) -> str:
        return f"the verifier of round {number}" if self.verifier.rounds else "the verifier"

    def _said(self, command: str, ended: Ended) -> str:
        heading = f"$ {command}\n" if self.verifier.rounds else ""
        output = ended.output if ended.output.endswith("\n") else f"{ended.output}\n"
        if ended.strays:
            output += f"[{ended.strays} of its processes had left it, and were ended]\n"
        return heading + output if output.strip() else heading

    def _ended(self, command: str) -> Ended:
        if os.path.realpath(self.tree) != str(self.tree):  # it would be done elsewhere
            raise HarnessFault("one of the verifier's commands put a link in its folder's place")
        if self.verifier.result:  # the agent's, or that of a command before
            take_away(self.tree, self.verifier.result)
        deadline = self.verifier.deadline
        try:
            return run_to_end(
                shlex.split(command),
                self.tree,
                self._environment(),
                seconds=deadline,
                stop=self.stop,
            )
        except (OSError, ValueError) as error:
            raise HarnessFault(f"the verifier {command!r} can't be run: {error}") from None

    def _environment(self) -> Mapping[str, str]:
        environment = plain_environment(environ.environment(), self.home, self.clear)
        environment["DIALEVAL_ROUND"] = str(self.round)
        if self.verifier.result:
            environment["DIALEVAL_RESULT"] = str(self.tree / self.verifier.result)
        return environment

    def _result(self, ended: Ended) -> Result:
        if ended.status is None:
            deadline = f"{self.verifier.deadline:g} s (task.verifier.deadline)"
            raise NoResult(f"it had not ended after {deadline}")
        if ended.status in NOT_STARTED:
            raise NoResult(f"it can't be run (exit status {ended.status})")
        if ended.status == _KILLED:
            raise NoResult("it was killed from outside, perhaps for want of memory")
        if self.verifier.result:
            return by_file(self.tree / self.verifier.result, ended.status, self.verifier.result)
        return by_exit(ended.status)


def _last_words(ended: Ended) -> str:
    """Of a command that went wrong: its author wants to know why."""
    lines = ended.output.strip().splitlines()
    if ended.status == 0 or not lines:
        return ""
    return f"; the last line that it printed: {lines[-1].strip()[:_SHOWN]!r}"


def _names(results: Mapping[int, Result]) -> dict[str, bool]:
    """Tests of round 1's command by their own names, those of a later one behind its round."""
    checks: dict[str, bool] = {}
    for number, result in results.items():
        front = f"round {number}: " if number > 1 else ""
        told = {f"{front}{test}": held for test, held in result.checks.items()}
        if number > 1 or not told:
            told[f"round {number}"] = result.passed
        for name, held in told.items():  # two of one name: both must hold
            checks[name] = held and checks.get(name, True)
    return checks
