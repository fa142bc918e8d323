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
    shop.suite(rubrics=[JUDGED, rubric("greet")], trials=4)
    assert run("-x").ret == 10  # to xdist alone a stop after failures is an interruption: 2
    assert shop.summary["exit_status"] == 10


def test_1_under_x(shop: Shop, run: Run) -> None:
    shop.suite(rubrics=[FAILING, rubric("greet")], trials=4)
    result = run("-x")
    assert result.ret == 1
    assert shop.summary["exit_status"] == 1
    result.stdout.fnmatch_lines(["*!!! stopping after * failures !!!*"])


def test_1_under_maxfail_where_another_test_failed(shop: Shop, run: Run) -> None:
    shop.suite(rubrics=[JUDGED])
    shop.write("test_other.py", "def test_other():\n    assert False\n")
    assert run("--maxfail=2").ret == 1


def test_x_of_xdist_stays_its_own_where_no_dialogue_ran(shop: Shop) -> None:
    shop.write("test_other.py", "def test_other():\n    assert False\n")
    options = ("-p", "xdist", "-n", "2", "-p", "dialeval", "-x")
    assert shop.pytester.runpytest_subprocess(*options).ret == 2


def test_2_stays_where_a_hook_stops_the_session(shop: Shop, run: Run) -> None:
    shop.suite(rubrics=[FAILING, rubric("greet")])
    shop.write(
        "conftest.py",
        """
        def pytest_runtest_setup(item):
            item.session.shouldstop = "enough for today"
        """,
    )
    assert run().ret == 2
    assert shop.summary["exit_status"] == 2


def test_3_stays_for_an_internal_error(shop: Shop, run: Run) -> None:
    shop.suite(rubrics=[FAILING, JUDGED])
    shop.write(
        "conftest.py",
        """
        import pytest

        class Broken:
            def pytest_runtest_logreport(self, report):
                raise RuntimeError("a plugin's own fault")

        def pytest_configure(config):
            if not hasattr(config, "workerinput"):
                config.pluginmanager.register(Broken())
        """,
    )
    result = run()
    assert result.ret == 3
    assert "a plugin's own fault" in result.stdout.str() + result.stderr.str()
    if (shop.last_run / "summary.json").exists():  # xdist ends its workers before it is told
        assert shop.summary["exit_status"] == 3


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


WARNING = """
import warnings

def test_warns():
    warnings.warn("old")
"""


@pytest.fixture
def tolerant(shop: Shop, request: pytest.FixtureRequest) -> Run:
    """Run without -W error, alone or with two workers; skips where pytest counts no warnings."""
    if not hasattr(pytest.ExitCode, "MAX_WARNINGS_ERROR"):
        pytest.skip("this pytest has no --max-warnings")
    shop.write("test_warns.py", WARNING)
    workers = ("-p", "xdist", "-n", "2") if request.param == "-n 2" else ()
    return lambda *each: shop.pytester.runpytest_subprocess(*workers, "-p", "dialeval", *each)


both = pytest.mark.parametrize("tolerant", ["alone", "-n 2"], indirect=True)


@both
def test_6_stays_for_too_many_warnings(shop: Shop, tolerant: Run) -> None:
    shop.suite()
    assert tolerant("--max-warnings=0").ret == 6
    assert shop.summary["exit_status"] == 6  # pytest decides that when we have written it


@both
def test_10_stands_before_too_many_warnings(shop: Shop, tolerant: Run) -> None:
    shop.suite(rubrics=[JUDGED])
    assert tolerant("--max-warnings=0").ret == 10  # as its own 1 does
    assert shop.summary["exit_status"] == 10


def test_4_for_an_unknown_agent(shop: Shop, run: Run) -> None:
    shop.suite()
    result = run("--dialeval-agent=clark")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*no suite declares 'clark' (declared: clerk); did you mean 'clerk'?"]
    )


BROKEN = """
import pytest

@pytest.fixture(autouse=True)
def broken(request):
    {body}
"""


def test_10_where_a_fixture_keeps_every_item_from_its_verdict(shop: Shop, run: Run) -> None:
    shop.suite(gates={"pass_hat_k": {"k": 1, "min": 0.5}})
    shop.write("conftest.py", BROKEN.format(body="raise OSError('no database')"))
    result = run()
    assert result.ret == 10
    result.assert_outcomes(errors=1)
    assert shop.summary["gates"][0]["status"] == "not decided"


def test_10_where_a_fixture_keeps_a_body_from_its_conversation(shop: Shop) -> None:
    shop.suite()
    shop.write("conftest.py", BROKEN.format(body="raise OSError('no database')"))
    shop.write(
        "test_it.py",
        """
        from pytest_dialeval import dialogue_case

        @dialogue_case("shop.dialeval.yaml")
        def test_it(dialogue):
            pass
        """,
    )
    assert shop.run("test_it.py").ret == 10


def test_1_where_a_fixture_fails_another_test(shop: Shop, run: Run) -> None:
    shop.suite(rubrics=[JUDGED])
    shop.write("conftest.py", BROKEN.format(body="assert 'ot' not in request.node.name"))
    shop.write("test_other.py", "def test_other():\n    pass\n")
    result = run()
    result.assert_outcomes(errors=2)
    assert result.ret == 1


def test_1_where_a_fixtures_teardown_raises(shop: Shop) -> None:
    shop.suite()
    shop.write("conftest.py", BROKEN.format(body="yield\n    raise OSError('no database')"))
    result = shop.run()
    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == 1
