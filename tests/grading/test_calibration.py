"""A judge beside people: every label is accounted for, and stale ones are not used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.grading.binding import Binding
from pytest_dialeval.grading.calibration import (
    RubricCalibration,
    calibrate,
    corrected_pass_rate,
)
from pytest_dialeval.grading.labels import About, Label
from pytest_dialeval.records.verdict import Verdict
from pytest_dialeval.statistics.agreement import Table
from pytest_dialeval.statistics.pass_k import CaseCount

NOW = Binding("openai:grader, temperature 0", "p1", "r1", "0.3")
CURRENT = {"tone": NOW}


def label(trial: str, met: bool | None, labeller: str = "ann", **more: str) -> Label:
    return Label(
        About("run", trial, more.get("rubric", "tone")),
        met,
        labeller,
        more.get("part", "acceptance"),
    )


def verdict(status: str, made_by: Binding | None = NOW) -> Verdict:
    details = {"judge": made_by.fields()} if made_by else {}
    return Verdict("tone", status, details=details)


def stored(**statuses: str | Verdict) -> dict[About, Verdict]:
    return {
        About("run", trial, "tone"): each if isinstance(each, Verdict) else verdict(each)
        for trial, each in statuses.items()
    }


def only(labels: Sequence[Label], verdicts: dict[About, Verdict]) -> RubricCalibration:
    (found,) = calibrate(labels, verdicts, CURRENT)
    return found


def test_a_table_of_judge_against_people() -> None:
    labels = [label("a", True), label("b", False), label("c", True), label("d", False)]
    found = only(labels, stored(a="passed", b="passed", c="failed", d="failed"))
    assert found.table == Table(1, 1, 1, 1)
    assert (found.rubric, found.part, found.labels) == ("tone", "acceptance", 4)
    assert found.table.kappa() == 0


def test_what_is_not_in_the_table_is_counted() -> None:
    labels = [label(each, True) for each in "abcdef"] + [label("g", None)]
    old = replace(NOW, prompt="p0", plugin="0.2")
    found = only(
        labels,
        stored(
            a="passed",
            b="unscored",
            c="not_applicable",
            d=verdict("passed", old),
            e=verdict("failed", None),  # the agent crashed: the judge was not asked
            g="passed",
        ),
    )
    assert found.table == Table(1, 0, 0, 0)
    assert (found.undecided, found.stale, found.missing, found.disputed) == (2, 1, 2, 1)
    assert found.changed == ("plugin", "prompt")
    assert found.labels == 7


@pytest.mark.parametrize(
    ("answers", "truth"),
    [
        ((True,), True),
        ((True, True, False), True),
        ((False, False, True), False),
        ((True, False), None),
        ((True, None), None),
        ((True, True, None), True),
        ((None,), None),
    ],
)
def test_people_decide_by_majority(answers: tuple[bool | None, ...], truth: bool | None) -> None:
    labels = [label("a", each, f"person {n}") for n, each in enumerate(answers)]
    found = only(labels, stored(a="passed"))
    assert found.table == Table(int(truth is True), int(truth is False))
    assert found.disputed == (truth is None)


def test_how_often_two_people_agree() -> None:
    labels = [label("a", True, each) for each in ("ann", "bo", "cy")]
    labels += [label("b", True), label("b", False, "bo"), label("c", True)]
    found = only(labels, {})
    assert (found.people.hits, found.people.n) == (3, 4)
    assert only([label("a", True)], {}).people.value is None


def test_rubrics_and_parts_are_kept_apart() -> None:
    labels = [
        label("a", True, part="acceptance"),
        label("b", True, part="tuning"),
        label("a", True, rubric="gone"),
    ]
    found = calibrate(labels, stored(a="passed", b="failed"), CURRENT)
    assert [(each.rubric, each.part) for each in found] == [
        ("gone", "acceptance"),
        ("tone", "tuning"),
        ("tone", "acceptance"),
    ]
    gone, tuning, acceptance = found
    assert (gone.stale, gone.changed, gone.table.n) == (1, ("gone",), 0)
    assert (tuning.table, acceptance.table) == (Table(0, 0, 1, 0), Table(1, 0, 0, 0))


def test_a_judge_that_says_nothing_about_itself_is_taken_as_it_is() -> None:
    labels = [label("a", True), label("b", True)]
    verdicts = stored(a=verdict("passed", None), b=verdict("passed", NOW))
    (found,) = calibrate(labels, verdicts, {"tone": None})
    assert (found.table, found.stale, found.changed) == (Table(1, 0, 0, 0), 1, ("model",))


CASES = [CaseCount(1, 0)] * 62 + [CaseCount(0, 1)] * 38


def calibrated(**more: object) -> RubricCalibration:
    return replace(
        only([label("a", True)], stored(a="passed")), **{"table": Table(90, 20, 10, 80), **more}
    )


def test_the_pass_rate_is_corrected_by_acceptance_labels_alone() -> None:
    assert corrected_pass_rate(calibrated(), CASES).value == pytest.approx(0.6)
    with pytest.raises(ValueError, match="tuning labels measure nothing"):
        corrected_pass_rate(calibrated(part="tuning"), CASES)


def test_a_stale_calibration_corrects_nothing_and_says_why() -> None:
    found = corrected_pass_rate(
        calibrated(table=Table(), stale=9, changed=("model", "prompt")), CASES
    )
    assert (found.measured, found.value) == (0.62, None)
    assert found.why == "all labels are stale: model, prompt changed"


STATUSES = st.sampled_from(["passed", "failed", "unscored", "not_applicable", "none", "old"])
ANSWERS = st.sampled_from([True, False, None])


@given(st.lists(st.tuples(STATUSES, st.lists(ANSWERS, min_size=1, max_size=3)), min_size=1))
def test_no_label_disappears_and_order_decides_nothing(
    trials: list[tuple[str, list[bool | None]]],
) -> None:
    labels = [
        label(f"t{n}", each, f"p{who}")
        for n, (_, answers) in enumerate(trials)
        for who, each in enumerate(answers)
    ]
    old = verdict("passed", replace(NOW, model="other"))
    verdicts = stored(
        **{
            f"t{n}": old if status == "old" else status
            for n, (status, _) in enumerate(trials)
            if status != "none"
        }
    )
    found = only(labels, verdicts)
    assert found.labels == len(trials)
    assert found.stale == sum(status == "old" for status, _ in trials)
    assert only(labels[::-1], verdicts) == found
