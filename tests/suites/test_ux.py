"""`scoring: {ux: ...}`: six rubrics that nobody has to write."""

from __future__ import annotations

import pytest

from pytest_dialeval.records.ux import RUBRICS, SUBSCORES
from pytest_dialeval.suites.suite_form import UxForm
from pytest_dialeval.suites.ux import DID_NOT_ARISE, own_rubrics, ux_rubrics

SUITE = """\
dialeval: 1
task: {id: fix%s}
agents: {a: {use: "python:agents:a"}}
personas: [{id: p, script: {states: {start: {say: Fix it., end: true}}}}]
scoring: {pass: 0.5%s}
rubrics:
  - {id: %s, dimension: safety, not: {keyword: {any: [secret]}}}
"""


def suite(ux: str = "true", rubric: str = "own", task: str = "", more: str = "") -> str:
    return SUITE % (task, f"{more}, ux: {ux}", rubric)


def test_six_judged_rubrics_stand_behind_the_suites_own(load) -> None:
    made = load(suite())

    assert [each.id for each in made.rubrics] == ["own", *RUBRICS]
    assert made.scoring.ux == dict.fromkeys(SUBSCORES, 1.0)
    for each in made.rubrics[1:]:
        assert (each.spec.method, each.severity, each.min) == ("judge", "soft", 0.5)
        assert each.spec.params["batch"] is True
        assert (each.file, each.line) == ("s.dialeval.yaml", 5)
    assert {each.dimension for each in made.rubrics[1:]} == {"completion", "robustness"}


@pytest.mark.parametrize("name", SUBSCORES)
def test_every_level_has_an_example_and_its_place(name: str) -> None:
    made = ux_rubrics(dict.fromkeys(SUBSCORES, 1.0), "s", 1)
    [rubric] = [each for each in made if each.id == f"ux.{name}"]
    levels = rubric.spec.params["levels"]
    scores = [each["score"] for each in levels if "score" in each]

    assert scores == [1.0, 0.7, 0.3, 0.0]
    assert all(each["example"].strip() for each in levels)
    assert len({each["example"] for each in levels}) == len(levels)
    absent = [each["name"] for each in levels if "score" not in each]
    assert absent == (
        [DID_NOT_ARISE] if name in ("correction", "testing", "context_keeping") else []
    )


def test_the_form_has_every_subscore() -> None:
    assert tuple(UxForm.keys()) == SUBSCORES


def test_weights(load) -> None:
    made = load(suite("{task_success: 3, testing: 0.5}"))

    assert made.scoring.ux == {**dict.fromkeys(SUBSCORES, 1.0), "task_success": 3, "testing": 0.5}
    assert [each.weight for each in made.rubrics[1:]] == [3, 1, 1, 0.5, 1, 1]


@pytest.mark.parametrize("more", ["", ", ux: false"])
def test_without_it_nothing_is_added(load, more: str) -> None:
    made = load(SUITE % ("", more, "own"))

    assert made.scoring.ux is None
    assert [each.id for each in own_rubrics(made)] == ["own"]
    assert own_rubrics(made) == made.rubrics


@pytest.mark.parametrize(
    ("written", "error"),
    [
        ("'yes'", "scoring.ux must be true, false or weights by subscore, not 'yes'"),
        ("3", "scoring.ux must be true, false or weights by subscore, not 3"),
        ("{testing: 0}", "scoring.ux.testing must be a number above 0, not 0"),
        ("{tests: 1}", "unknown key 'tests' of weights of ux; did you mean 'testing'?"),
    ],
)
def test_what_is_no_weight(problems, written: str, error: str) -> None:
    [found] = problems(suite(written))
    assert found.startswith(f"s.dialeval.yaml:5: {error}")


def test_an_id_of_the_six_is_taken(problems) -> None:
    assert problems(suite(rubric="ux.testing")) == [
        "s.dialeval.yaml:7: id 'ux.testing' is one of the rubrics that `scoring: {ux: ...}` adds: "
        "rename it, or remove `ux`"
    ]


def test_without_them_the_ids_are_free(load) -> None:
    assert load(SUITE % ("", "", "ux.testing")).rubrics[0].id == "ux.testing"


def test_other_parts_of_a_suite_may_name_them(load) -> None:
    flow = ", flow: {nodes: [{id: tested, rubric: ux.testing}]}"
    made = load(suite(task=flow, more=", pass_on: ux.task_success"))

    assert made.scoring.pass_on == "ux.task_success"


def test_they_are_rubrics_enough(load) -> None:
    made = load(suite().split("rubrics:", maxsplit=1)[0])

    assert [each.id for each in made.rubrics] == [*RUBRICS]
    assert own_rubrics(made) == ()


def levels(*names: str, **more: object) -> str:
    written = ", ".join(
        f"{{name: {name}, score: {score}, example: x}}"
        for name, score in (each.split("=") for each in names)
    )
    keys = "".join(f", {key}: {value}" for key, value in more.items())
    rubric = f"own, dimension: completion{keys}, judge: {{criterion: c, levels: [{written}]}}}}"
    return SUITE.split("  - ", maxsplit=1)[0] % ("", "") + f"  - {{id: {rubric}\n"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (levels("good=1", "Good=0"), "level 'Good' is read as 'good', which is there already"),
        (levels("a b=1", "a-B=0"), "level 'a-B' is read as 'a b', which is there already"),
        (levels("Cannot tell=1", "bad=0"), "`cannot_tell` is what a judge says"),
        (levels("good=1", "none=null"), "needs two levels with a score: one alone"),
        (levels("a=null", "b=null"), "needs two levels with a score: one alone"),
    ],
)
def test_levels_that_grade_nothing(problems, text: str, error: str) -> None:
    [found] = problems(text)
    assert found.startswith(f"s.dialeval.yaml:7: {error}")


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (levels("a=0", "b=0.5"), "no level reaches min: 1, so it can never pass; give a `min` of"),
        (levels("a=0.5", "b=1", min=0.5), "every level reaches min: 0.5: it can't fail"),
    ],
)
def test_levels_that_decide_nothing(notes, text: str, note: str) -> None:
    assert any(note in each for each in notes(text))


def test_a_level_may_say_that_nothing_arose(load) -> None:
    made = load(levels("good=1", "bad=0", "nothing=null"))

    assert made.rubrics[0].spec.params["levels"][2] == {"name": "nothing", "example": "x"}
