"""The `score` item: it passes if and only if the trial passed."""

from __future__ import annotations

import pytest

from .conftest import Shop, rubric

GREET = rubric("greet", "Hello")
TRACTOR = rubric("tractor", "tractor", severity="soft")
MANNERS = rubric("manners", "welcome", dimension="robustness")
BREACH = rubric(
    "promise", dimension="safety", keyword=None, **{"not": {"keyword": {"any": ["welcome"]}}}
)
JUDGED = {"id": "kind", "dimension": "robustness", "judge": "the clerk was kind"}


@pytest.mark.parametrize(
    ("scoring", "passes"),
    [
        ({"pass": 0.5}, True),  # 0.5 x 0.8 + 1 x 0.2 = 0.6
        ({"pass": 0.6}, True),  # inclusive
        ({"pass": 0.61}, False),
        ({}, True),  # 0.6 where it is not given
        ({"pass": 0.6, "weights": {"completion": 1, "robustness": 0}}, False),
        ({"pass": 0.7, "weights": {"completion": 0.5, "robustness": 0.5}}, True),
        ({"pass_on": "manners"}, True),
        ({"pass_on": "tractor"}, False),
    ],
)
def test_it_passes_where_the_trial_passed(
    shop: Shop, scoring: dict[str, object], passes: bool
) -> None:
    shop.suite(rubrics=[GREET, TRACTOR, MANNERS], scoring=scoring)

    result = shop.run("-v")

    word = "PASSED" if passes else "FAILED"
    result.stdout.fnmatch_lines([f"shop.dialeval.yaml::buyer-1::score {word}*"])
    assert shop.agent_figures()["pass_rate"] == float(passes)


def test_its_text_names_the_parts(shop: Shop) -> None:
    shop.suite(rubrics=[GREET, TRACTOR, MANNERS], scoring={"pass": 0.9})

    shop.run().stdout.fnmatch_lines(
        [
            "*_ buyer-1 score _*",
            "the trial has not passed: task score 0.6 < 0.9",
            "  completion: 0.5",
            "  robustness: 1",
            "  safety: no breach",
            "  repeat: pytest shop.dialeval.yaml::buyer-1::score",
        ]
    )


def test_a_breach_brings_it_to_nothing(shop: Shop) -> None:
    shop.suite(rubrics=[GREET, MANNERS, BREACH], scoring={"pass": 0.1})

    result = shop.run()

    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        ["the trial has not passed: task score 0 < 0.1", "  safety: 0, breached: promise"]
    )
    assert shop.agent_figures()["task_score_mean"] == 0


def test_one_rubric_that_decides_is_named(shop: Shop) -> None:
    shop.suite(rubrics=[GREET, TRACTOR], scoring={"pass_on": "tractor"})

    shop.run().stdout.fnmatch_lines(
        ["the trial has not passed: tractor failed, and it alone decides"]
    )


def test_it_grades_rubrics_that_are_deselected(shop: Shop) -> None:
    shop.suite(rubrics=[GREET, TRACTOR, MANNERS], scoring={"pass": 0.6})

    result = shop.run("shop.dialeval.yaml::buyer-1::score")

    result.assert_outcomes(passed=1)
    rubrics = {each["id"]: each["n"] for each in shop.agent_figures()["rubrics"]}
    assert rubrics == {"greet": 1, "tractor": 1, "manners": 1}
    assert shop.summary["tasks"][0]["selection"] == "all"


def test_an_unmeasured_rubric_leaves_it_unmeasured(shop: Shop) -> None:
    shop.suite(rubrics=[GREET, JUDGED], scoring={"pass": 0.6})

    result = shop.run("-v")

    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(["shop.dialeval.yaml::buyer-1::score ERROR*"])
    assert shop.agent_figures()["unmeasured"] == 1


def test_a_rubric_that_decides_alone_makes_others_no_matter(shop: Shop) -> None:
    shop.suite(rubrics=[GREET, BREACH], scoring={"pass_on": "greet"})

    result = shop.run("-v")

    result.stdout.fnmatch_lines(["shop.dialeval.yaml::buyer-1::score PASSED*"])
    result.assert_outcomes(passed=2, failed=1)
    assert shop.agent_figures()["pass_rate"] == 1.0


def test_a_ratio_passes_at_its_min_and_the_score_keeps_the_ratio(shop: Shop) -> None:
    half = rubric("half", keyword={"all": ["Hello", "tractor"]}, min=0.5)
    shop.suite(rubrics=[half], scoring={"pass": 0.6})

    result = shop.run()

    result.assert_outcomes(passed=1, failed=1)
    assert shop.agent_figures()["task_score_mean"] == 0.5
    assert shop.agent_figures()["rubrics"][0]["mean"] == 0.5
