"""A calibration as a table, with what was left out and what can be said of pass rates."""

from __future__ import annotations

from dataclasses import replace

from pytest_dialeval.grading.calibration import RubricCalibration
from pytest_dialeval.report.calibration import calibration_lines
from pytest_dialeval.runs.calibrating import SuiteCalibration
from pytest_dialeval.statistics.agreement import Share, Table
from pytest_dialeval.statistics.corrected import Corrected

ONE = RubricCalibration("tone.calm", "acceptance", Table(40, 5, 10, 45), Share.of(9, 10))


def lines(*rubrics: RubricCalibration, **rates: Corrected) -> list[str]:
    named = {name.replace("_", "."): each for name, each in rates.items()}
    return list(calibration_lines(SuiteCalibration("shop.dialeval.yaml", rubrics, named)))


def test_a_row_for_each_rubric_and_part() -> None:
    empty = RubricCalibration("tone.calm", "tuning", Table(), Share.of(0, 0))
    title, head, rule, first, second = lines(ONE, empty)
    assert title == "shop.dialeval.yaml"
    assert head.split() == (
        "rubric labels of n agreement kappa sensitivity specificity people".split()
    )
    assert set(rule) == {"-", " "}
    cells = [each.strip() for each in first.split("  ") if each.strip()]
    assert cells == [
        "tone.calm",
        "acceptance",
        "100",
        "0.85 (0.77 to 0.91)",
        "0.70 (0.56 to 0.84)",
        "0.80 (0.67 to 0.89)",
        "0.90 (0.79 to 0.96)",
        "0.90 (0.60 to 0.98)",
    ]
    assert second.split() == ["tone.calm", "tuning", "0", "-", "-", "-", "-", "-"]


def test_perfect_agreement_has_a_kappa_without_an_interval() -> None:
    row = lines(replace(ONE, table=Table(5, 0, 0, 5)))[3]
    assert " 1.00  " in row
    assert "1.00 (0.72 to 1.00)" in row  # the agreement's


def test_a_judge_that_always_says_yes_has_a_kappa_without_an_interval() -> None:
    row = lines(replace(ONE, table=Table(7, 3, 0, 0)))[3]
    cells = [each.strip() for each in row.split("  ") if each.strip()]
    assert cells[3:5] == ["0.70 (0.40 to 0.89)", "0.00"]


def test_what_was_left_out_is_counted() -> None:
    found = lines(replace(ONE, disputed=2, missing=1, stale=3, changed=("model", "prompt")))
    assert found[4:] == [
        "tone.calm, acceptance: left out of 106 labelled trials: 2 disputed, 1 missing, 3 stale "
        "(model, prompt changed)"
    ]


def test_a_corrected_pass_rate_and_why_there_is_none() -> None:
    found = lines(
        ONE,
        tone_calm=Corrected(0.5, 0.571, 0.4, 0.75),
        tone_kind=Corrected(0.5, None, None, None, "no label says met"),
        tone_dry=Corrected(None, None, None, None, "no trial was measured"),
    )
    assert found[4:] == [
        "tone.calm: the judge's pass rate is 0.500; corrected for its errors 0.571, "
        "95 % from 0.400 to 0.750",
        "tone.kind: the judge's pass rate is 0.500; not corrected: no label says met",
        "tone.dry: the judge's pass rate is unknown; not corrected: no trial was measured",
    ]


def test_a_suites_name_steers_no_terminal() -> None:
    evil = SuiteCalibration("a\x1b[31mb", (ONE,), {})
    assert "\x1b" not in "\n".join(calibration_lines(evil))
