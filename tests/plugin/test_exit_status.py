"""The exit status: first match wins (design section 3)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Shop, rubric

Run = Callable[..., pytest.RunResult]

JUDGED = rubric("nice", keyword=None, judge="it was nice")
FAILING = rubric("never", "never said")


@pytest.fixture(params=["alone", "-n 2"])
def run(request: pytest.FixtureRequest, shop: Shop) -> Run:
    """Run in this process, or with two workers of xdist."""

    def distributed(*arguments: str) -> pytest.RunResult:
        options = ("-p", "xdist", "-n", "2", "-p", "dialeval")
        return shop.pytester.runpytest_subprocess(*options, *arguments)

    return shop.run if request.param == "alone" else distributed


def test_0_where_all_passed(shop: Shop, run: Run) -> None:
    shop.suite()
    assert run().ret == 0
    assert shop.summary["exit_status"] == 0


def test_1_where_a_rubric_failed(shop: Shop, run: Run) -> None:
    shop.suite(rubrics=[FAILING, JUDGED])
    assert run().ret == 1
    assert shop.summary["exit_status"] == 1


def test_10_where_nothing_failed_but_something_is_unmeasured(shop: Shop, run: Run) -> None:
    shop.suite(rubrics=[rubric("greet"), JUDGED])
    assert run().ret == 10
    assert shop.summary["exit_status"] == 10


def test_10_under_x(shop: Shop, run: Run) -> None:
    shop.suite(rubrics=[JUDGED])
    assert run("-x").ret in (10, 2)  # xdist turns a stop into an interruption


def test_1_under_x(shop: Shop) -> None:
    shop.suite(rubrics=[FAILING, JUDGED])
    assert shop.run("-x").ret == 1


def test_1_where_another_test_failed(shop: Shop, run: Run) -> None:
    shop.suite(rubrics=[rubric("greet"), JUDGED])
    shop.write("test_other.py", "def test_other():\n    assert False\n")
    assert run().ret == 1


def test_1_where_only_gates_are_missed(shop: Shop, run: Run) -> None:
    shop.suite(rubrics=[FAILING], gates={"pass_hat_k": {"k": 1, "min": 0.5}})
    assert run().ret == 1


def test_0_for_soft_failures(shop: Shop, run: Run) -> None:
    shop.suite(rubrics=[rubric("greet"), {**FAILING, "severity": "soft"}])
    assert run().ret == 0


def test_2_stays_for_a_broken_suite(shop: Shop) -> None:
    shop.write("bad.dialeval.yaml", "dialeval: 1\n")
    shop.suite()
    assert shop.run().ret == 2


def test_1_for_a_broken_suite_that_is_passed_by(shop: Shop) -> None:
    shop.write("bad.dialeval.yaml", "dialeval: 1\n")
    shop.suite()
    assert shop.run("--continue-on-collection-errors").ret == 1


def test_5_stays_where_nothing_is_selected(shop: Shop) -> None:
    shop.suite()
    assert shop.run("-k", "nothing_at_all").ret == 5


def test_4_for_an_unknown_agent(shop: Shop, run: Run) -> None:
    shop.suite()
    result = run("--dialeval-agent=clark")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*no suite declares 'clark' (declared: clerk); did you mean 'clerk'?"]
    )
