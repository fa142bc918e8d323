"""One trial's folder of a Harbor job -> who it is of, its transcript, and what was noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.records.transcript import Transcript
from pytest_dialeval.records.wording import plural
from pytest_dialeval.traces.codec import shown
from pytest_dialeval.traces.importers.atif import (
    Step,
    Trajectory,
    added,
    disagreement,
    read_trajectory,
)
from pytest_dialeval.traces.importers.harbor_bridge import read_bridge
from pytest_dialeval.traces.importers.harbor_evidence import evidence, with_evidence
from pytest_dialeval.traces.importers.harbor_files import TrialFiles, said
from pytest_dialeval.traces.importers.harbor_outcome import Ending, ending, unfinished
from pytest_dialeval.traces.importers.harbor_result import (
    TrialResult,
    obj,
    read_result,
    recorded,
)
from pytest_dialeval.traces.importers.harbor_rounds import (
    Cut,
    Placed,
    by_messages,
    cut,
    in_rounds,
)
from pytest_dialeval.traces.place import located

_TRAJECTORY = "trajectory.json"
_BRIDGE = "agent/bridge-trajectory.json"
_USER = "user-agent/"
_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class Trial:
    """One attempt of one agent at one task."""

    files: TrialFiles
    result: TrialResult
    transcript: Transcript
    problems: tuple[str, ...]  # of files that could not be read as they should
    counted_twice: str = ""  # where Harbor's own sum of tokens is not that of the turns
    simulated: bool = False

    @property
    def name(self) -> str:
        return self.files.folder.name

    @property
    def silent(self) -> bool:
        """Whether nobody knows what was said, though the reward counts."""
        spoken = any(each.text or each.tool_calls for each in self.transcript.turns)
        return self.result.valid and not spoken


def read_trial(folder: Path) -> Trial:
    """Read all that is there; TranscriptError where nobody knows whose trial it is."""
    reading = _Reading(TrialFiles.of(folder))
    document = reading.result()
    config = None if document else reading.document("config.json")
    result = read_result(document, config, folder.name)
    if result is None:
        raise TranscriptError(_nobodys(folder, reading.problems))
    user = result.user or ("unnamed" if reading.files.below(_USER) else None)
    result = replace(result, user=user)
    placed = reading.rounds(result)
    end = ending(result) if document else reading.unfinished()
    return Trial(
        files=reading.files,
        result=result,
        transcript=_transcript(placed, result, end),
        problems=tuple(map(said, reading.problems)),
        counted_twice=_counted_twice(result, placed),
        simulated=user is not None,
    )


def _nobodys(folder: Path, problems: Sequence[str]) -> str:
    text = f"{folder}: neither result.json nor config.json says whose trial it is"
    return f"{text}; {'; '.join(problems)}" if problems else text


def _transcript(placed: Sequence[Placed], result: TrialResult, end: Ending) -> Transcript:
    outcome, ended_by, reason = end
    spoken = [each for each in placed if each.step.source != "system"]
    turns = (each.step.turn(number, each.round) for number, each in enumerate(spoken, 1))
    return Transcript(
        turns=tuple(turns),
        outcome=outcome,
        reason=reason,
        ended_by=ended_by,
        recorded=recorded(result),
    )


def _counted_twice(result: TrialResult, placed: Sequence[Placed]) -> str:
    sums = [each.tokens.get("n_input_tokens") for each in result.steps]
    booked = sum(each for each in sums if isinstance(each, int))
    held = added([each.step for each in placed], "input_tokens")
    if held is None or booked <= held:
        return ""
    return f"its steps' agent_result add up to {booked:,} input tokens, its turns to {held:,}"


@dataclass(frozen=True, slots=True)
class _History:
    """All that a trajectory tells, with the files that go on where it ends."""

    path: Path
    trajectory: Trajectory
    steps: Sequence[Step]


def _remarks(history: _History, own: Sequence[Step], found: Cut) -> Iterator[str]:
    trajectory = history.trajectory
    yield from (f"{each}; left out" for each in trajectory.odd)
    if found.left_out:
        yield f"{found.left_out} steps tell the history before it in other words; left out"
    if trajectory.subagents:
        yield f"{plural(trajectory.subagents, 'trajectory', 'trajectories')} of sub-agents not read"
    if not trajectory.continued and (text := disagreement(trajectory, own)):
        yield f"{text}; the steps' figures are kept"


@dataclass(slots=True, eq=False)
class _Reading:
    files: TrialFiles
    problems: list[str] = field(default_factory=list)

    def document(self, name: str) -> Any:
        """The JSON of a file; None, and a problem, where it is bad."""
        try:
            return self.files.document(name)
        except TranscriptError as error:
            self.problems.append(str(error))
            return None

    def result(self) -> dict[str, Any]:
        """result.json; empty, and a problem, where it is none."""
        document = self.document("result.json")
        if document is not None and not obj(document):
            path = self.files.folder / "result.json"
            self.problems.append(f"{path}: is {shown(document)}; a trial's result is an object")
        return obj(document)

    def unfinished(self) -> Ending:
        why = "result.json cannot be read" if "result.json" in self.files.sizes else ""
        return unfinished(why or "it has no result.json")

    # ---- rounds

    def rounds(self, result: TrialResult) -> list[Placed]:
        """What was said and done, with what verifier and agent left behind."""
        if names := self._step_names(result):
            return self._of_steps(names)
        bridge = self._read(_BRIDGE, read_bridge) if result.user is not None else None
        history = None if bridge else self._history("agent/")
        placed = by_messages(bridge or (self._own(history, ()) if history else ()))
        last = max((each.round for each in placed), default=0)
        return with_evidence(placed, last or 1, evidence(self.files, ""))

    def _step_names(self, result: TrialResult) -> list[str]:
        """As the result orders them; those that it does not know follow by name."""
        names = [each.name for each in result.steps]
        parts = (each.split("/") for each in self.files.below("steps/"))
        folders = {each[1] for each in parts if len(each) > 2}
        for each in names:
            if each not in folders:
                self.problems.append(f"{self.files.folder}: step {each!r} has no folder in steps/")
        return [*dict.fromkeys(names), *sorted(folders - set(names), key=_natural)]

    def _of_steps(self, names: Sequence[str]) -> list[Placed]:
        placed: list[Placed] = []
        before: Sequence[Step] = ()
        waiting: list[int] = []  # rounds whose own trajectory could not be read
        for number, name in enumerate(names, 1):
            waiting.append(number)
            if history := self._history(f"steps/{name}/agent/"):
                placed += in_rounds(self._own(history, before), waiting)
                before, waiting = history.steps, []
        if placed:
            self._name_missing(names)
        for number, name in enumerate(names, 1):
            placed = with_evidence(placed, number, evidence(self.files, f"steps/{name}/"))
        return placed

    def _name_missing(self, names: Sequence[str]) -> None:
        for each in names:
            name = f"steps/{each}/agent/{_TRAJECTORY}"
            if name not in self.files.sizes and name not in self.files.left_out:
                path = self.files.folder / name
                self.problems.append(f"{path}: is not there; later steps may hold what was said")

    def _history(self, folder: str) -> _History | None:
        trajectory = self._read(f"{folder}{_TRAJECTORY}", read_trajectory)
        if trajectory is None:
            return None
        path = self.files.folder / folder / _TRAJECTORY
        return _History(path, trajectory, self._continued(folder, trajectory))

    def _own(self, history: _History, before: Sequence[Step]) -> list[Step]:
        """What the history adds to the one before it."""
        found = cut(before, history.steps)
        own = [each for each in found.own if not each.copied]
        self.problems += [f"{history.path}: {each}" for each in _remarks(history, own, found)]
        return own

    def _continued(self, folder: str, trajectory: Trajectory) -> list[Step]:
        """The steps with those of the files that go on where it ends."""
        steps, known = list(trajectory.steps), {_TRAJECTORY}
        while (name := trajectory.continued) and name not in known:
            known.add(name)
            following = self._read(f"{folder}{name}", read_trajectory)
            if following is None:
                where = f"{self.files.folder / folder}: goes on in {said(name)!r}"
                self.problems.append(f"{where}, which is not there to be read")
                break
            steps += cut(steps, following.steps).own
            trajectory = following
        return steps

    def _read(self, name: str, reader: Callable[[Any], _T]) -> _T | None:
        """What a reader makes of a document, None (and a problem) where it cannot."""
        document = self.document(name)
        if document is None:
            return None
        try:
            with located(str(self.files.folder / name)):
                return reader(document)
        except TranscriptError as error:
            self.problems.append(str(error))
            return None


def _natural(name: str) -> tuple[int, str]:
    """`r10` behind `r9`."""
    return len(name), name
