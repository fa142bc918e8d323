"""Gates: a figure, a bound, and who set it."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from .conftest import Shop, persona, rubric

MOODY = """
calls = 0

def moody(message):
    global calls
    calls += 1
    return "Hello!" if calls % 2 else "What?"
"""


def half_passes(shop: Shop, **sections: Any) -> None:
    """Four trials; every second one fails its only rubric."""
    shop.write("moody.py", MOODY)
    shop.suite(
        agents={"moody": {"use": "python:moody.py:moody"}},
        personas=[persona("one", "Hi")],
        trials=4,
        **sections,
    )


def gates(shop: Shop) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in shop.summary["gates"]}


def test_a_gate_that_holds_leaves_failed_rubrics_soft(shop: Shop) -> None:
    half_passes(shop, gates={"pass_hat_k": {"k": 1, "min": 0.5}})
    result = shop.run("--dialeval-concurrency=1")
    assert result.ret == 0
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*2 passed, 2 soft-failed*"])
    found = gates(shop)["pass_hat_k"]
    assert (found["figure"], found["bound"], found["k"], found["n"]) == (0.5, 0.5, 1, 4)
    assert found["status"] == "passed"
    assert gates(shop)["unmeasured"]["bound"] == 0  # where it is not given


def test_a_missed_gate_is_exit_status_1(shop: Shop) -> None:
    half_passes(shop, gates={"pass_hat_k": {"k": 2, "min": 0.5}})
    result = shop.run("--dialeval-concurrency=1")
    assert result.ret == 1
    # C(2,2) / C(4,2)
    assert gates(shop)["pass_hat_k"]["figure"] == pytest.approx(1 / 6)
    result.stdout.fnmatch_lines(
        ["gate pass_hat_k (k=2) of shop / moody: MISSED: 0.167, wanted at least 0.5, n=4, *"]
    )
    assert shop.summary["exit_status"] == 1


def test_k_above_n_is_undecidable(shop: Shop) -> None:
    half_passes(shop, gates={"pass_hat_k": {"k": 9, "min": 0.5}})
    result = shop.run()
    assert result.ret == 10
    assert gates(shop)["pass_hat_k"]["status"] == "not decided"


def test_an_option_stands_above_the_suite(shop: Shop) -> None:
    half_passes(shop, gates={"pass_hat_k": {"k": 1, "min": 0.9}})
    result = shop.run("--dialeval-concurrency=1", "--dialeval-min-pass-hat-k=1:0.4")
    assert result.ret == 0
    found = gates(shop)["pass_hat_k"]
    assert (found["bound"], found["source"]) == (0.4, "--dialeval-min-pass-hat-k")


def test_mean_score_and_its_option(shop: Shop) -> None:
    half_passes(shop, scoring={"pass": 0.6})
    assert shop.run("--dialeval-concurrency=1", "--dialeval-min-score=0.5").ret == 0
    assert gates(shop)["mean_score"]["figure"] == 0.5
    assert shop.run("--dialeval-concurrency=1", "--dialeval-min-score=0.51").ret == 1


def breaching(shop: Shop, **sections: Any) -> None:
    shop.suite(
        personas=[persona("lured", "Any discount on the desk?", "Thanks, bye.")],
        rubrics=[
            rubric("safe", dimension="safety", keyword=None, blacklist={"phrases": ["guarantee"]})
        ],
        **sections,
    )


def test_a_breach_fails_its_item_although_gates_decide(shop: Shop) -> None:
    breaching(shop, gates={"decide": "gates"})
    result = shop.run()
    result.assert_outcomes(failed=1)
    assert result.ret == 1


def test_counted_breaches_fail_by_their_gate_alone(shop: Shop) -> None:
    breaching(shop, gates={"decide": "gates", "safety_breaches": 1})
    result = shop.run()
    result.assert_outcomes(failed=0)
    assert result.ret == 0
    assert gates(shop)["safety_breaches"]["figure"] == 1
    assert shop.run("--dialeval-max-safety-breaches=0").ret == 1


def unmeasured(shop: Shop, **sections: Any) -> None:
    shop.suite(rubrics=[rubric("nice", keyword=None, judge="it was nice")], **sections)


def test_unmeasured_items_are_counted_apart_and_exit_10(shop: Shop) -> None:
    unmeasured(shop, gates={"decide": "gates"})
    result = shop.run("-rs")
    assert result.ret == 10
    result.assert_outcomes(errors=0, failed=0)
    result.stdout.fnmatch_lines(["*1 unmeasured*"])
    assert gates(shop)["unmeasured"]["status"] == "not decided"


def test_allowed_unmeasured_is_exit_0(shop: Shop) -> None:
    unmeasured(shop, gates={"unmeasured": 1})
    assert shop.run().ret == 0
    assert gates(shop)["unmeasured"]["figure"] == 1


def test_items_decide_when_asked_although_gates_are_given(shop: Shop) -> None:
    half_passes(shop, gates={"pass_hat_k": {"k": 1, "min": 0.1}})
    result = shop.run("--dialeval-decide=items", "--dialeval-concurrency=1")
    result.assert_outcomes(passed=2, failed=2)
    assert result.ret == 1


def test_a_partial_selection_decides_no_gate_of_the_suite(shop: Shop) -> None:
    half_passes(shop, gates={"pass_hat_k": {"k": 1, "min": 1.0}})
    result = shop.run("shop.dialeval.yaml::one-1::greet")
    assert result.ret == 0
    assert gates(shop)["pass_hat_k"]["status"] == "not decided"
    result.stdout.fnmatch_lines(
        ["gate pass_hat_k*not decided (selection)*", "*Pass^k over the selected rubrics*"]
    )
    assert shop.summary["tasks"][0]["selection"] == "selected rubrics"


def test_an_option_decides_a_selection_too(shop: Shop) -> None:
    half_passes(shop)
    result = shop.run("-k", "one-1 or one-2", "--dialeval-min-pass-hat-k=1:1")
    assert result.ret == 1


def test_distinct_models_holds_where_no_model_plays(shop: Shop) -> None:
    shop.suite(gates={"distinct_models": True})
    assert shop.run().ret == 0
    assert gates(shop)["distinct_models"]["status"] == "passed"


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--dialeval-min-pass-hat-k=3", "'3' is not K:P, e.g. 3:0.8"),
        ("--dialeval-min-pass-hat-k=0:0.5", "'0' is not a whole number of 1 or more"),
        ("--dialeval-min-pass-hat-k=2:1.5", "'1.5' is not a number from 0 to 1"),
        ("--dialeval-min-score=x", "'x' is not a number from 0 to 1"),
        ("--dialeval-max-unmeasured=-1", "'-1' is not a whole number of 0 or more"),
        ("--dialeval-decide=both", "'both' is neither 'items' nor 'gates'"),
    ],
)
def test_bad_bounds_are_usage_errors(shop: Shop, option: str, says: str) -> None:
    shop.suite()
    result = shop.run(option)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{option.partition('=')[0]}: {says}"])


def test_soft_failures_stand_in_junit_as_properties(shop: Shop) -> None:
    half_passes(shop, gates={"pass_hat_k": {"k": 1, "min": 0.5}})
    shop.run("--junitxml=junit.xml", "--dialeval-concurrency=1")
    tree = ElementTree.parse(shop.path / "junit.xml")
    assert tree.find(".//failure") is None
    kinds = [each.get("value") for each in tree.iter("property") if each.get("name") == "dialeval"]
    assert kinds == ["soft-failed", "soft-failed"]


def test_x_passes_soft_failures_by(shop: Shop) -> None:
    half_passes(shop, gates={"pass_hat_k": {"k": 1, "min": 0.5}})
    result = shop.run("-x", "--dialeval-concurrency=1")
    result.stdout.fnmatch_lines(["*2 passed, 2 soft-failed*"])


def test_a_gate_that_nothing_decides_yet_is_refused(shop: Shop) -> None:
    shop.suite(gates={"coverage": 0.5})
    result = shop.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*key 'coverage' comes in a later version: remove it"])


def test_a_hard_failure_is_counted_as_its_item_is(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("never", "never said")], gates={"decide": "gates"})
    result = shop.run()
    result.stdout.fnmatch_lines(["1 conversation; rubrics: 1 soft-failed"])


def test_gates_of_a_run_that_was_skipped_whole_are_not_decided(shop: Shop) -> None:
    shop.suite(gates={"pass_hat_k": {"k": 1, "min": 1.0}})
    shop.write(
        "conftest.py",
        """
        import pytest

        def pytest_collection_modifyitems(items):
            for item in items:
                item.add_marker(pytest.mark.skip(reason="not today"))
        """,
    )
    result = shop.run()
    result.assert_outcomes(skipped=1)
    assert result.ret == 10
    assert gates(shop)["pass_hat_k"]["status"] == "not decided"
    assert shop.summary["outcomes"]["not_run"] == 1
