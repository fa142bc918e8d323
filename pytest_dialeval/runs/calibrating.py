"""People's labels beside what judges decided in stored runs, suite by suite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_dialeval.errors import RunError
from pytest_dialeval.grading.binding import Binding, ByRule
from pytest_dialeval.grading.calibration import RubricCalibration, calibrate, corrected_pass_rate
from pytest_dialeval.grading.labels import About, Label
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.run import Source, TrialFacts
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.records.wording import did_you_mean
from pytest_dialeval.runs.directory import RunDirectory, no_such_run
from pytest_dialeval.runs.record import read_facts, read_plan
from pytest_dialeval.statistics.corrected import Corrected
from pytest_dialeval.statistics.pass_k import CaseCount

Current = Mapping[
    str, Mapping[str, Binding | ByRule | None]
]  # source -> rubric -> what judges it today


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """A run of which some trials are labelled."""

    run: str
    sources: Sequence[Source]
    facts: Mapping[str, TrialFacts]

    def found(self, written: str) -> tuple[str, str]:
        """Source and id of a trial, by its id or its name where one alone has it; RunError."""
        named = [(each.name, one) for each in self.sources for one in each.trials]
        known = [(source, one.id) for source, one in named if one.id == written]
        known = known or [(source, one.id) for source, one in named if written in _names(one)]
        if len(known) == 1:
            return known[0]
        if known:
            ids = ", ".join(each for _, each in known)
            raise RunError(
                f"run {self.run} has {len(known)} trials {written!r}; write one of {ids}"
            )
        names = [name for _, one in named for name in (*_names(one), one.id)]
        raise RunError(f"run {self.run} has no trial {written!r}{did_you_mean(written, names)}")


def _names(trial: PlannedTrial) -> tuple[str, ...]:
    """How reports call it, `hesitant-2`, and with its agent in front whether they do or not."""
    agent = f"{trial.agent}-"
    return trial.name, agent + trial.name.removeprefix(agent)


@dataclass(frozen=True, slots=True)
class SuiteCalibration:
    """The judged rubrics of one suite or decorated function; `rates` has those that can be told."""

    source: str
    rubrics: tuple[RubricCalibration, ...]
    rates: Mapping[str, Corrected]


def labelled_runs(labels: Iterable[Label], runs: Path) -> list[LabelledRun]:
    """The runs that labels are about; RunError names one that is not there."""
    names = dict.fromkeys(each.about.run for each in labels)
    return [_opened(runs, each) for each in names]


def _opened(runs: Path, name: str) -> LabelledRun:
    directory = RunDirectory(runs / name)
    if "/" in name or not directory.path.is_dir():
        text = f"{no_such_run(name, runs)}; another folder of runs is given with --runs DIR"
        raise RunError(text)
    plan = read_plan(directory.path / "plan.json")
    return LabelledRun(name, plan.sources, read_facts(directory))


def suites_of(runs: Iterable[LabelledRun]) -> list[str]:
    """The files that the runs' suites and functions stood in."""
    names = (each.name.partition("::")[0] for run in runs for each in run.sources)
    return list(dict.fromkeys(names))


def calibrate_runs(
    labels: Sequence[Label], runs: Sequence[LabelledRun], current: Current
) -> Iterator[SuiteCalibration]:
    """One entry a suite; RunError names a label whose trial no run has."""
    for source, given in _by_source(labels, runs).items():
        today = current.get(source, {})
        verdicts = {about: verdict for about, _, verdict in _decided(runs, source)}
        found = calibrate(given, verdicts, today)
        rates = {
            each.rubric: corrected_pass_rate(each, _cases(runs, source, each.rubric))
            for each in found
            if each.part == "acceptance"
        }
        yield SuiteCalibration(source, found, rates)


def _by_source(
    labels: Sequence[Label], runs: Sequence[LabelledRun]
) -> Mapping[str, Sequence[Label]]:
    """The labels of each suite, by ids of trials; who labels one by id and by name labels once."""
    opened = {each.run: each for each in runs}
    unique: dict[tuple[str, About, str], Label] = {}
    for each in labels:
        source, trial = opened[each.about.run].found(each.about.trial)
        label = each.of_trial(trial)
        unique[source, label.about, label.labeller] = label
    found: dict[str, list[Label]] = defaultdict(list)
    for (source, _, _), label in unique.items():
        found[source].append(label)
    return found


def _decided(
    runs: Sequence[LabelledRun], source: str
) -> Iterator[tuple[About, PlannedTrial, Verdict]]:
    for run in runs:
        for each in (one for one in run.sources if one.name == source):
            for trial in each.trials:
                facts = run.facts.get(trial.id, TrialFacts())
                for rubric, verdict in facts.verdicts.items():
                    yield About(run.run, trial.id, rubric), trial, verdict


def _cases(runs: Sequence[LabelledRun], source: str, rubric: str) -> list[CaseCount]:
    """The judge's yes and no in all trials of the labelled runs, by agent and persona."""
    said: dict[tuple[str, str], list[bool | None]] = defaultdict(list)
    for about, trial, verdict in _decided(runs, source):
        if about.rubric == rubric and verdict.status != "not_applicable":
            measured = verdict.status in ("passed", "failed")
            passed = verdict.status == "passed" if measured else None
            said[trial.agent, trial.persona].append(passed)
    return [CaseCount.of(each) for each in said.values()]
