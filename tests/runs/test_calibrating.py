"""People's labels beside the verdicts of stored runs, suite by suite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_dialeval.errors import RunError
from pytest_dialeval.grading.binding import Binding
from pytest_dialeval.grading.labels import About, Label, Part, part_of
from pytest_dialeval.records.plan import PlannedTrial
from pytest_dialeval.records.run import Source
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.runs.calibrating import (
    SuiteCalibration,
    calibrate_runs,
    labelled_runs,
    suites_of,
)
from pytest_dialeval.runs.files import write_json
from pytest_dialeval.runs.record import plan_document
from pytest_dialeval.statistics.agreement import Table

from .samples import conversation, planned, rubric, source, written

NOW = Binding("openai:grader, temperature 0", "p1", "r1", "0.3")
SUITE = "s.dialeval.yaml"
TODAY = {SUITE: {"tone": NOW}}


def verdict(status: str, made_by: Binding = NOW, name: str = "tone") -> Verdict:
    return Verdict(name, status, details={"judge": made_by.fields()})


def label(trial: PlannedTrial, met: bool, *, run: str = "one", part: Part = "acceptance") -> Label:
    return Label(About(run, trial.id, "tone"), met, "ann", part)


def made(runs: Path, name: str, sources: Sequence[Source], *given: tuple[str, Verdict]) -> None:
    """A run with that plan and those verdicts."""
    folder = runs / name
    folder.mkdir()
    write_json(folder / "plan.json", plan_document(sources))
    lines = [(trial, each) for trial, one in given for each in (conversation(trial), one)]
    written(folder / "ledger.main.jsonl", *lines)


def trials(count: int, persona: str = "p") -> list[PlannedTrial]:
    return [planned(persona, number + 1, rubrics=["tone"]) for number in range(count)]


def calibrated(runs: Path, labels: Sequence[Label], today: object = None) -> list[SuiteCalibration]:
    current = TODAY if today is None else today
    return list(calibrate_runs(labels, labelled_runs(labels, runs), current))


def test_labels_meet_the_judges_verdicts(tmp_path: Path) -> None:
    four = trials(4)
    said = ["passed", "passed", "failed", "failed"]
    made(
        tmp_path,
        "one",
        [source([rubric("tone")], four)],
        *((each.id, verdict(status)) for each, status in zip(four, said, strict=True)),
    )
    truth = [True, False, True, False]
    [found] = calibrated(tmp_path, [label(*each) for each in zip(four, truth, strict=True)])
    assert found.source == SUITE
    [one] = found.rubrics
    assert (one.rubric, one.part, one.table) == ("tone", "acceptance", Table(1, 1, 1, 1))
    assert found.rates["tone"].measured == 0.5
    assert found.rates["tone"].why == "the labels do not show that the judge is better than chance"


def test_the_rate_is_over_all_trials_labelled_or_not(tmp_path: Path) -> None:
    many = [*trials(20), *trials(20, "q")]
    made(
        tmp_path,
        "one",
        [source([rubric("tone")], many)],
        *((each.id, verdict("passed" if each.number % 2 else "failed")) for each in many),
    )
    labels = [label(each, bool(each.number % 2)) for each in many[:16]]
    [found] = calibrated(tmp_path, labels)
    rate = found.rates["tone"]
    assert (rate.measured, rate.value) == (0.5, 0.5)
    assert rate.low is not None
    assert rate.high is not None
    assert 0.2 < rate.low < 0.5 < rate.high < 0.8


def test_unmeasured_and_untriggered_trials_leave_the_rate(tmp_path: Path) -> None:
    said = ["passed", "unscored", "not_applicable", "failed"]
    four = trials(4)
    made(
        tmp_path,
        "one",
        [source([rubric("tone")], four)],
        *((each.id, verdict(status)) for each, status in zip(four, said, strict=True)),
    )
    [found] = calibrated(tmp_path, [label(four[0], True)])
    assert found.rates["tone"].measured == 0.5


def test_tuning_labels_correct_nothing(tmp_path: Path) -> None:
    [trial] = trials(1)
    made(tmp_path, "one", [source([rubric("tone")], [trial])], (trial.id, verdict("passed")))
    [found] = calibrated(tmp_path, [label(trial, True, part="tuning")])
    assert [each.part for each in found.rubrics] == ["tuning"]
    assert found.rates == {}


def test_suites_are_calibrated_apart(tmp_path: Path) -> None:
    one, two = planned("p", rubrics=["tone"]), planned("q", rubrics=["tone"])
    other = "test_it.py::test_body"
    made(
        tmp_path,
        "one",
        [source([rubric("tone")], [one]), replace(source([rubric("tone")], [two]), name=other)],
        (one.id, verdict("passed")),
        (two.id, verdict("failed")),
    )
    labels = [label(one, True), label(two, True)]
    found = calibrated(tmp_path, labels, {**TODAY, other: {"tone": NOW}})
    assert [each.source for each in found] == [SUITE, other]
    assert [each.rubrics[0].table for each in found] == [Table(1, 0, 0, 0), Table(0, 0, 1, 0)]
    assert suites_of(labelled_runs(labels, tmp_path)) == [SUITE, "test_it.py"]


def test_two_runs_of_a_suite_are_one_calibration(tmp_path: Path) -> None:
    [trial] = trials(1)
    for name, status in (("one", "passed"), ("two", "failed")):
        made(tmp_path, name, [source([rubric("tone")], [trial])], (trial.id, verdict(status)))
    [found] = calibrated(tmp_path, [label(trial, True), label(trial, False, run="two")])
    assert found.rubrics[0].table == Table(1, 0, 0, 1)
    assert found.rates["tone"].measured == 0.5


@pytest.mark.parametrize(
    ("today", "changed"),
    [
        ({SUITE: {"tone": replace(NOW, model="openai:other")}}, ("model",)),
        ({SUITE: {"tone": replace(NOW, prompt="p2", plugin="0.4")}}, ("plugin", "prompt")),
        ({SUITE: {}}, ("gone",)),
        ({}, ("gone",)),
    ],
)
def test_what_another_judge_decided_is_stale(
    tmp_path: Path, today: object, changed: tuple[str, ...]
) -> None:
    [trial] = trials(1)
    made(tmp_path, "one", [source([rubric("tone")], [trial])], (trial.id, verdict("passed")))
    [found] = calibrated(tmp_path, [label(trial, True)], today)
    [one] = found.rubrics
    assert (one.stale, one.table.n, one.changed) == (1, 0, changed)
    assert found.rates["tone"].value is None
    assert found.rates["tone"].why == f"all labels are stale: {one.why_stale}"
    assert one.why_stale == (
        "the rubric is gone, or its suite is not here"
        if changed == ("gone",)
        else f"{', '.join(changed)} changed"
    )


def test_a_label_of_no_run_and_of_no_trial(tmp_path: Path) -> None:
    [trial] = trials(1)
    made(tmp_path, "one", [source([rubric("tone")], [trial])], (trial.id, verdict("passed")))
    for name in ("two", "../one"):
        with pytest.raises(
            RunError, match=r"there is no run .*; another folder of runs is given with --runs DIR"
        ):
            labelled_runs([label(trial, True, run=name)], tmp_path)
    gone = label(planned("nobody", rubrics=["tone"]), True)
    with pytest.raises(RunError, match=r"run one has no trial 't\.a\.nobody-1'"):
        calibrated(tmp_path, [gone])


def test_without_labels_there_is_nothing(tmp_path: Path) -> None:
    assert calibrated(tmp_path, []) == []


def named(trial: str, met: bool, **more: object) -> Label:
    return Label(About("one", trial, "tone"), met, "ann", "acceptance", **more)


def test_who_labels_a_trial_by_id_and_by_name_labels_it_once(tmp_path: Path) -> None:
    [trial] = trials(1)
    made(tmp_path, "one", [source([rubric("tone")], [trial])], (trial.id, verdict("passed")))
    for name in (trial.name, f"{trial.agent}-{trial.name}"):
        [found] = calibrated(tmp_path, [label(trial, True), named(name, False)])
        assert found.rubrics[0].table == Table(0, 1, 0, 0)  # the later one counts


def test_a_name_falls_to_the_same_part_as_the_id(tmp_path: Path) -> None:
    many = trials(12)
    decided = [(each.id, verdict("passed")) for each in many]
    made(tmp_path, "one", [source([rubric("tone")], many)], *decided)
    for each in many:
        [found] = calibrated(tmp_path, [named(each.name, True, by_lot=True)])
        assert found.rubrics[0].part == part_of("one", each.id)


def test_a_name_that_two_suites_have_is_asked_back(tmp_path: Path) -> None:
    [trial] = trials(1)
    other = replace(trial, id="u.a.p-1")
    sources = [
        source([rubric("tone")], [trial]),
        replace(source([rubric("tone")], [other]), name="u"),
    ]
    made(tmp_path, "one", sources, (trial.id, verdict("passed")))
    words = rf"run one has 2 trials '{trial.name}'; write one of {trial.id}, u\.a\.p-1"
    with pytest.raises(RunError, match=words):
        calibrated(tmp_path, [named(trial.name, True)])
