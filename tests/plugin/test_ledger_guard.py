"""A conftest hook can rewrite any report; it cannot turn a verdict unnoticed."""

from __future__ import annotations

import pytest

from .conftest import Shop, rubric

REWRITE_REPORTS = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.when == "call":
        report.outcome = "passed"
        report.longrepr = None
"""
REWRITE_OUR_RECORD = """
import pytest

@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None
    report.dialeval = {}
"""
HIDE_THE_CALL = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return True

def pytest_collection_modifyitems(items):
    for item in items:
        item.runtest = lambda: None
"""
NAMED = "*reported as passed, but the ledger says failed*"


@pytest.mark.parametrize(
    ("conftest", "names"),
    [
        (REWRITE_REPORTS, NAMED),
        (REWRITE_OUR_RECORD, "*never*the ledger says failed*"),
        (HIDE_THE_CALL, NAMED),
    ],
    ids=["reports", "records", "calls"],
)
def test_a_rewritten_outcome_is_named_and_the_figures_stay(
    shop: Shop, conftest: str, names: str
) -> None:
    shop.suite(rubrics=[rubric("never", "never said")])
    shop.write("conftest.py", conftest)
    result = shop.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines([names])
    assert shop.agent_figures()["passed"] == 0
    assert shop.summary["verdicts"]["failed"] == 1
    assert shop.summary["exit_status"] == 1


def test_a_rewritten_soft_failure_is_named_and_nothing_is_green(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("never", "never said", severity="soft"), rubric("greet")])
    shop.write("conftest.py", REWRITE_OUR_RECORD)
    result = shop.run()
    assert result.ret == 10  # what was said cannot be believed
    result.stdout.fnmatch_lines(["*never*the ledger says failed*"])


def test_a_changed_ledger_is_named(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("never", "never said")])
    shop.write(
        "conftest.py",
        """
        import pathlib, pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionfinish(session):
            for path in pathlib.Path(".dialeval").rglob("ledger.*.jsonl"):
                path.write_bytes(path.read_bytes().replace(b'"failed"', b'"passed"'))
        """,
    )
    result = shop.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the ledger was changed after it was written*"])


def test_xfail_is_said_and_the_figures_count_it_as_it_is(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("never", "never said")])
    shop.write(
        "conftest.py",
        """
        import pytest

        def pytest_collection_modifyitems(items):
            for item in items:
                item.add_marker(pytest.mark.xfail(reason="known"))
        """,
    )
    result = shop.run()
    result.assert_outcomes(xfailed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 item is marked xfail; figures count it as it is"])
    assert shop.agent_figures()["passed"] == 0


def test_agents_of_this_process_are_marked_not_isolated(shop: Shop) -> None:
    shop.write("agent.py", "def answer(message):\n    return 'Hello!'\n")
    shop.suite(
        agents={
            "clerk": {"use": "scripted", "script": "clerk.yaml"},
            "py": {"use": "python:agent.py:answer"},
        }
    )
    result = shop.run()
    assert result.ret == 0
    isolated = {each["name"]: each["isolated"] for each in shop.summary["tasks"][0]["agents"]}
    assert isolated == {"clerk": True, "py": False}
    result.stdout.fnmatch_lines(["*py: not isolated, the agent runs in this process*"])


def test_an_expected_failure_that_no_mark_announced_is_named(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("never", "never said")])
    shop.write(
        "conftest.py",
        """
        import pytest

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport(item, call):
            outcome = yield
            report = outcome.get_result()
            if report.when == "call":
                report.outcome, report.wasxfail = "skipped", "surely"
        """,
    )
    result = shop.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*reported as an expected failure, but the ledger says failed*"])


@pytest.mark.parametrize(
    "change",
    [
        'if report.when == "setup": report.outcome, report.longrepr = "skipped", ("x", 1, "z")',
        'if report.when == "call": report.outcome = "rerun"',
    ],
    ids=["skip", "rerun"],
)
def test_an_outcome_that_our_own_hook_never_left_is_named(shop: Shop, change: str) -> None:
    shop.suite(rubrics=[rubric("never", "never said")])
    shop.write(
        "conftest.py",
        f"""
        import pytest

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport(item, call):
            outcome = yield
            report = outcome.get_result()
            {change}
        """,
    )
    result = shop.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the ledger says failed*"])


def test_an_exit_status_that_a_hook_resets_does_not_hold(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("never", "never said")])
    shop.write(
        "conftest.py",
        """
        import pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionfinish(session):
            session.exitstatus = 0
        """,
    )
    assert shop.run().ret == 1


def test_a_ledger_of_another_name_is_not_believed(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("never", "never said")])
    shop.write(
        "conftest.py",
        """
        import pathlib, pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionfinish(session):
            for path in pathlib.Path(".dialeval").rglob("ledger.main.jsonl"):
                path.with_name("ledger.zzz.jsonl").write_bytes(b"{}\\n" * 3)
        """,
    )
    assert shop.run().ret == 1
    assert shop.summary["verdicts"]["failed"] == 1


def test_a_ledger_that_is_gone_is_said(shop: Shop) -> None:
    shop.suite()
    shop.write(
        "conftest.py",
        """
        import pathlib, pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionfinish(session):
            for path in pathlib.Path(".dialeval").rglob("ledger.*"):
                path.unlink()
        """,
    )
    result = shop.run()
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*the ledger is gone*"])


def test_a_score_alone_accuses_nobody(shop: Shop) -> None:
    shop.suite(rubrics=[rubric("greet"), rubric("never", "never said")], scoring={"pass": 0.5})
    result = shop.run("-k", "score")
    result.assert_outcomes(passed=1, deselected=1 + 1)
    assert result.ret == 0


def test_an_agent_cannot_change_what_it_said(shop: Shop) -> None:
    shop.write(
        "agent.py",
        """
        class Wire:
            def reply(self, turns):
                for turn in turns:
                    for call in turn.tool_calls:
                        call.arguments["amount"] = 0
                calls = [{"name": "wire", "arguments": {"amount": 5}}] if len(turns) == 1 else []
                return {"text": "Hello!", "tool_calls": calls}
        """,
    )
    wired = {"tool_called": {"name": "wire", "arguments": {"amount": 5}}}
    shop.suite(
        agents={"w": {"use": "python:agent.py:Wire"}},
        rubrics=[rubric("safe", keyword=None, dimension="safety", **{"not": wired})],
    )
    assert shop.run().ret == 1


SKIP_THE_PROTOCOL = """
def pytest_runtest_protocol(item):
    return True if "{word}" in item.nodeid else None
"""
BEGIN = [(), ("-p", "xdist", "-n", "2")]


@pytest.mark.parametrize("workers", BEGIN, ids=["alone", "-n 2"])
@pytest.mark.parametrize("gates", [{"pass_hat_k": {"k": 1, "min": 1.0}}, None])
def test_a_hook_that_takes_over_every_item_leaves_nothing_green(
    shop: Shop, workers: tuple[str, ...], gates: object
) -> None:
    shop.suite(trials=2, gates=gates)
    shop.write("conftest.py", SKIP_THE_PROTOCOL.format(word="dialeval"))
    shop.write("test_other.py", "def test_other():\n    pass\n")
    result = shop.pytester.runpytest_subprocess(*workers, "-p", "dialeval")
    result.assert_outcomes(passed=1)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["2 selected items brought no report, the first: *buyer-1*greet*"])
    assert {each["status"] for each in shop.summary["gates"]} <= {"not decided"}
    assert shop.summary["outcomes"]["not_run"] == 2
    assert shop.summary["exit_status"] == 10


def test_a_hook_that_takes_over_one_trial_is_named(shop: Shop) -> None:
    shop.suite(trials=2, gates={"pass_hat_k": {"k": 1, "min": 1.0}})
    shop.write("conftest.py", SKIP_THE_PROTOCOL.format(word="buyer-2"))
    result = shop.run("--dialeval-ahead=0")
    result.assert_outcomes(passed=1)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["1 selected item brought no report, the first: *buyer-2*greet*"])


def test_a_hook_that_takes_over_other_tests_is_their_affair(shop: Shop) -> None:
    shop.suite()
    shop.write("conftest.py", SKIP_THE_PROTOCOL.format(word="test_other"))
    shop.write("test_other.py", "def test_other():\n    pass\n")
    assert shop.run("test_other.py").ret == 0
    assert not (shop.path / ".dialeval").exists()
    assert shop.run().ret == 0
