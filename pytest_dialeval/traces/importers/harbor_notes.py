"""What reading a job is worth a note: in a few lines for a run, one by one for an import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from pytest_dialeval.records.wording import listed, plural
from pytest_dialeval.traces.importers.harbor_files import said
from pytest_dialeval.traces.importers.harbor_trial import Trial

_LINES = 10
_NAMES = 6
_PLAIN = "is not read"  # no fault of the file


def notes(
    path: Path, trials: Sequence[Trial], problems: Sequence[str], left_out: Mapping[str, str]
) -> Iterator[str]:
    """Problems first, each with its file; then what is true of trials, and what was not read."""
    every = [*problems, *_faults(path, trials, left_out)]
    yield from every[:_LINES]
    if more := len(every) - _LINES:
        if more > 0:
            yield f"{path}: {more} more such notes; `dialeval import` lists them all"
    yield from _of_trials(path, trials)
    yield from _unread(path, trials, left_out)


def details(
    path: Path, trials: Sequence[Trial], problems: Sequence[str], left_out: Mapping[str, str]
) -> Iterator[str]:
    """The same, and every file that was left out in a line of its own."""
    yield from problems
    yield from _faults(path, trials, left_out)
    yield from _of_trials(path, trials)
    for name, why in _names(path, trials, left_out):
        if why == _PLAIN:
            yield f"{path / said(name)}: {why}"


def _faults(path: Path, trials: Sequence[Trial], left_out: Mapping[str, str]) -> Iterator[str]:
    for each in trials:
        yield from each.problems
    for name, why in _names(path, trials, left_out):
        if why != _PLAIN:
            yield f"{path / said(name)}: {why}"


def _names(
    path: Path, trials: Sequence[Trial], left_out: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """All that was left out, by its name from the job's folder."""
    yield from left_out.items()
    for each in trials:
        inside = "" if each.files.folder == path else f"{each.name}/"
        yield from ((f"{inside}{name}", why) for name, why in each.files.unread.items())


def _unread(path: Path, trials: Sequence[Trial], left_out: Mapping[str, str]) -> Iterator[str]:
    names = [name for name, why in _names(path, trials, left_out) if why == _PLAIN]
    if not names:
        return
    kinds = Counter(said(PurePosixPath(each).name) for each in names)
    ordered = sorted(kinds.items(), key=lambda each: (-each[1], each[0]))
    shown = [f"{count} x {kind}" if count > 1 else kind for kind, count in ordered]
    yield f"{path}: {plural(len(names), 'file')} not read: {listed(shown, _NAMES)}"


def _of_trials(path: Path, trials: Sequence[Trial]) -> Iterator[str]:
    for found, text in (
        (
            [each for each in trials if each.silent],
            "left no trajectory: of what was said nothing is known, and only recorded values and "
            "artifacts can be graded",
        ),
        (
            [each for each in trials if each.simulated],
            "had a simulated user of Harbor's, who could see the agent's folder; the tokens and "
            "cost of result.json are that user's",
        ),
        (
            [each for each in trials if _broke_down_with_reward(each)],
            "ended with an error of the agent's own, and have not passed though their reward is "
            "above 0",
        ),
    ):
        if found:
            names = listed([said(each.name) for each in found], _LINES)
            yield f"{path}: {plural(len(found), 'trial')} ({names}) {text}"
    if twice := [each for each in trials if each.counted_twice]:
        names = f"{said(twice[0].name)}: {twice[0].counted_twice}"
        yield (
            f"{path}: Harbor books resumed steps twice in {plural(len(twice), 'trial')} ({names}); "
            "the turns' figures are kept"
        )


def _broke_down_with_reward(trial: Trial) -> bool:
    broke = trial.transcript.outcome == "agent_error"
    return broke and any(each > 0 for each in trial.result.rewards.values())
