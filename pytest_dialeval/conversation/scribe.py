"""Writes down what is said: into the trace, and in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Literal

from pytest_dialeval.conversation.agent import Reply
from pytest_dialeval.conversation.user import Line
from pytest_dialeval.errors import HarnessFault, RunError, SimulatorFault
from pytest_dialeval.records.text import clean
from pytest_dialeval.records.transcript import Artifact, Outcome, Transcript, Turn
from pytest_dialeval.records.work import Check, Done, RoundWork
from pytest_dialeval.traces.writer import TraceWriter

# They take no room in a line, and str.strip() leaves them.
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff"))


@dataclass(frozen=True, slots=True)
class Ending:
    """How a conversation ended; by rule 2 the outcome says whose it is."""

    outcome: Outcome
    reason: str
    ended_by: Literal["agent", "user", "limit", ""] = ""


class Scribe:
    """The turns so far; `heard` is what the agent may know of them.

    `ours`: no code of a user's runs in the agent.
    """

    def __init__(self, trace: TraceWriter | None, *, ours: bool = False) -> None:
        self._trace = trace
        self._ours = ours
        self.turns: list[Turn] = []
        self.heard: list[Turn] = []
        self.rounds = 0
        self._work: list[RoundWork] = []
        self._checks: list[Check] = []

    def start(self, header: Mapping[str, object]) -> None:
        """What is about to be held."""
        self._write(lambda trace: trace.start(header))

    def user(self, line: Line) -> None:
        """The user's line; SimulatorFault where there are no words in it."""
        text = clean(line.text)
        if not text.translate(_INVISIBLE).strip():
            source = f"probe {line.probe!r}" if line.probe else f"state {line.state!r}"
            raise SimulatorFault(f"the simulated user's line of {source} is empty")
        self.rounds += 1
        turn = Turn(
            id=len(self.turns) + 1,
            speaker="user",
            text=text,
            round=self.rounds,
            state=line.state,
            probe=line.probe,
            noise=line.noise,
        )
        # The agent must not learn that a line is a probe, or in which state the user is.
        # One that is ours ends no process: the line comes on disk with the answer to it.
        self._add(turn, Turn(turn.id, "user", text, self.rounds), later=self._ours)

    def agent(self, reply: Reply, latency: float, beside: tuple[Artifact, ...] = ()) -> Turn:
        """The agent's answer, with what was found `beside` it: the agent hears nothing of that."""
        turn = Turn(
            id=len(self.turns) + 1,
            speaker="agent",
            text=reply.text,
            round=self.rounds,
            tool_calls=reply.tool_calls,
            artifacts=reply.artifacts,
            latency=round(latency, 6),
            usage=reply.usage,
        )
        # A copy: an agent that changes what it is handed must not change what is graded.
        heard = turn if self._ours else _copied(turn)
        if beside:
            turn = replace(turn, artifacts=turn.artifacts + beside)
        self._add(turn, heard)
        return turn

    def done(self, done: Done) -> None:
        """What the agent's folder held after a round, and what the verifier said; each once."""
        if done.work not in self._work:
            self._write(lambda trace: trace.work(done.work))
            self._work.append(done.work)
        check = done.check
        if check is not None and check not in self._checks:
            self._write(lambda trace: trace.check(check))
            self._checks.append(check)

    def end(
        self, ending: Ending, unsaid: tuple[str, ...], fidelity: Mapping[str, int] | None = None
    ) -> Transcript:
        """The whole conversation; a trace that cannot be written makes it our fault."""
        fidelity = fidelity or {}
        try:
            self._write(lambda trace: _end(trace, ending, unsaid, fidelity))
        except HarnessFault as error:
            if ending.outcome != "harness_error":  # else what came first tells more
                ending = Ending("harness_error", str(error))
        return Transcript(
            turns=tuple(self.turns),
            outcome=ending.outcome,
            reason=ending.reason,
            ended_by=ending.ended_by,
            fidelity=fidelity,
            work=tuple(self._work),
            checks=tuple(self._checks),
        )

    def _add(self, turn: Turn, heard: Turn, *, later: bool = False) -> None:
        # Trace first: what it does not take was not said.
        self._write(lambda trace: trace.turn(turn, later=later))
        self.turns.append(turn)
        self.heard.append(heard)

    def _write(self, event: Callable[[TraceWriter], None]) -> None:
        if self._trace is None:
            return
        try:
            event(self._trace)
        except (OSError, RunError) as error:
            raise HarnessFault(f"the trace cannot be written: {error}") from None


def _copied(turn: Turn) -> Turn:
    """Deep only where there is something inside that can be changed: most turns are words alone.

    Frozen as it is, a determined agent can still write into its own.
    """
    return deepcopy(turn) if turn.tool_calls or turn.artifacts else replace(turn)


def _end(
    trace: TraceWriter, ending: Ending, unsaid: tuple[str, ...], fidelity: Mapping[str, int]
) -> None:
    if ending.outcome not in ("completed", "limit_reached"):
        trace.error(ending.outcome, ending.reason)
    trace.end(
        ending.outcome, ending.reason, ending.ended_by, unsaid_probes=unsaid, fidelity=fidelity
    )
